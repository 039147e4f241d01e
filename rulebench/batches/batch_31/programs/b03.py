# Click-through prediction on a never-ending stream, one event at a time (progressive validation):
# every event is scored first and learned afterwards, nothing is stored or revisited.
import math, random
import numpy as np, torch

SEED = 3
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
torch.set_num_threads(1)
D = 2 ** 12
N = 14000


def stream(n):
    """the taste of the visitors changes twice a day"""
    tastes = np.random.randn(3, 40, 12) * 1.6
    for i in range(n):
        phase = min(2, i * 3 // n)
        user, ad, hour = np.random.randint(40), np.random.randint(12), np.random.randint(24)
        z = tastes[phase, user, ad] - 0.8 + 0.4 * math.sin(hour / 24 * 2 * math.pi)
        yield phase, [f"u{user}", f"a{ad}", f"h{hour}", f"u{user}xa{ad}"], float(np.random.rand() < 1 / (1 + math.exp(-z)))


def hashed(tokens):
    return torch.tensor([sum(ord(c) * 31 ** k for k, c in enumerate(t)) % D for t in tokens])


w = torch.nn.EmbeddingBag(D, 1, mode="sum", sparse=True)
torch.nn.init.zeros_(w.weight)
opt = torch.optim.SGD(w.parameters(), lr=0.25)     # constant: the stream never settles
lossf = torch.nn.BCEWithLogitsLoss()

base = 0.3
run, run_base, hist = [], [], []
for i, (phase, toks, label) in enumerate(stream(N)):
    z = w(hashed(toks)[None]).squeeze()
    loss = lossf(z, torch.tensor(label))
    run.append(loss.item())
    run_base.append(-(label * math.log(base) + (1 - label) * math.log(1 - base)))
    base = 0.999 * base + 0.001 * label
    base = min(max(base, 0.01), 0.99)
    hist.append((torch.sigmoid(z).item(), label))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if (i + 1) % 1000 == 0:
        print(f"{i+1:6d} phase {phase}  logloss(last 1000) {np.mean(run[-1000:]):.4f}   base rate only {np.mean(run_base[-1000:]):.4f}")

from sklearn.metrics import roc_auc_score
tail = hist[-2000:]
print("progressive AUC, last 2000 events: %.4f" % roc_auc_score([l for _, l in tail], [p for p, _ in tail]))
print("progressive logloss %.4f against %.4f" % (np.mean(run[-2000:]), np.mean(run_base[-2000:])))
