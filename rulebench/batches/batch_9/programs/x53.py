import torch
from torch import nn

torch.manual_seed(204)
text = ("the cat sat on the mat and the dog sat on the log while the bird sang to the cat and the dog . " * 60)
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
B, T = 8, 25
n = len(ids) // B
stream = ids[:n * B].view(B, n)

class CharRNN(nn.Module):
    def __init__(self, v, h=48):
        super().__init__()
        self.emb = nn.Embedding(v, 16)
        self.rnn = nn.GRU(16, h, batch_first=True)
        self.out = nn.Linear(h, v)

    def forward(self, x, state=None):
        o, state = self.rnn(self.emb(x), state)
        return self.out(o), state

net = CharRNN(len(chars))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(8):
    state, tot, k = None, 0, 0
    for s in range(0, n - T - 1, T):
        x, y = stream[:, s:s + T], stream[:, s + 1:s + T + 1]
        logits, state = net(x, state)
        state = state.detach()
        loss = nn.functional.cross_entropy(logits.reshape(-1, len(chars)), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        tot += loss.item()
        k += 1
    print(f"epoch {epoch} perplexity {torch.tensor(tot / k).exp():.3f}")
with torch.no_grad():
    c, st, out = ids[:1][None], None, ""
    for _ in range(60):
        lg, st = net(c, st)
        c = lg[:, -1].argmax(-1, keepdim=True)
        out += chars[c.item()]
print(out)
