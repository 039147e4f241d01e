# BYOL-ish self-supervision on digits, then a linear probe
import copy, torch, torch.nn as nn, torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
seed = 2
torch.manual_seed(seed)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16, dtype=torch.float32).view(-1, 1, 8, 8)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=.3, random_state=seed, stratify=y)

def view(x):
    dx, dy = torch.randint(-1, 2, (2,)).tolist()
    x = torch.roll(x, (dx, dy), (2, 3))
    return (x + 0.15 * torch.randn_like(x)) * (torch.rand_like(x) > 0.15)

enc = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.Flatten(),
                    nn.Linear(512, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 64))
pred = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64))
target = copy.deepcopy(enc).requires_grad_(False)
opt = torch.optim.Adam([*enc.parameters(), *pred.parameters()], lr=1e-3)

for step in range(500):
    x = Xtr[torch.randint(0, len(Xtr), (128,))]
    a, b = view(x), view(x)
    with torch.no_grad():
        ta, tb = target(a), target(b)
    loss = 2 - F.cosine_similarity(pred(enc(a)), tb).mean() - F.cosine_similarity(pred(enc(b)), ta).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for p, q in zip(target.parameters(), enc.parameters()):
            p.lerp_(q, 0.02)
    if step % 50 == 0: print(step, round(loss.item(), 4))

enc.eval()
with torch.no_grad():
    Ztr, Zte = enc(Xtr).numpy(), enc(Xte).numpy()
print("embedding std per dimension:", Ztr.std(0).mean().round(3))
probe = LogisticRegression(max_iter=2000).fit(Ztr, ytr)
print("linear probe test accuracy %.4f" % probe.score(Zte, yte))
