import random
import torch
import torch.nn as nn

# char LSTM with truncated backprop, the state is carried over the chunks
random.seed(0); torch.manual_seed(0)
words = ["the cat ", "sat on ", "a mat ", "and then ", "the dog ", "ran away ", "from home "]
text = "".join(random.choice(words) for _ in range(5000))
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
B, T = 16, 32
train, valid = ids[:int(0.9 * len(ids))], ids[int(0.9 * len(ids)):]

def lanes(a):
    n = (len(a) - 1) // B
    return a[:n * B].view(B, n), a[1:n * B + 1].view(B, n)

class CharLM(nn.Module):
    def __init__(self, v, h=64):
        super().__init__()
        self.emb = nn.Embedding(v, 24)
        self.lstm = nn.LSTM(24, h, batch_first=True)
        self.out = nn.Linear(h, v)
    def forward(self, x, state=None):
        o, state = self.lstm(self.emb(x), state)
        return self.out(o), state

net = CharLM(len(chars))
opt = torch.optim.RMSprop(net.parameters(), lr=2e-3)
ce = nn.CrossEntropyLoss()

def run(data, learn):
    x, y = lanes(data)
    state, tot, n = None, 0.0, 0
    for k in range(0, x.shape[1] - T, T):
        logits, state = net(x[:, k:k + T], state)
        loss = ce(logits.transpose(1, 2), y[:, k:k + T])
        if learn:
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        state = tuple(s.detach() for s in state)
        tot += loss.item(); n += 1
    return tot / n

for epoch in range(5):
    net.train()
    tr = run(train, True)
    net.eval()
    with torch.no_grad():
        va = run(valid, False)
    print(f"epoch {epoch} train nll {tr:.4f} valid nll {va:.4f}")

x, state, s = torch.tensor([[chars.index("t")]]), None, "t"
with torch.no_grad():
    for _ in range(60):
        lo, state = net(x, state)
        x = torch.multinomial(lo[:, -1].softmax(-1), 1)
        s += chars[x.item()]
print(s)
