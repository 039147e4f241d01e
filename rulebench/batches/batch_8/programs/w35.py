import torch
import torch.nn as nn
import torch.nn.functional as F

# character model, truncated back-propagation with carried state
torch.manual_seed(206)
text = ("she sells sea shells by the sea shore. the shells she sells are surely sea shells. "
        "so if she sells shells on the sea shore, i am sure she sells sea shore shells. ") * 40
chars = sorted(set(text))
ix = torch.tensor([chars.index(c) for c in text])
B, T = 8, 32
n = len(ix) // B
stream = ix[:n * B].view(B, n)


class CharRNN(nn.Module):
    def __init__(self, v, h=96):
        super().__init__()
        self.e = nn.Embedding(v, 24)
        self.r = nn.GRU(24, h, batch_first=True)
        self.o = nn.Linear(h, v)

    def forward(self, x, s):
        y, s = self.r(self.e(x), s)
        return self.o(y), s


m = CharRNN(len(chars))
opt = torch.optim.Adam(m.parameters(), lr=4e-3)
for epoch in range(8):
    state, tot, k = None, 0.0, 0
    for i in range(0, n - T - 1, T):
        logits, state = m(stream[:, i:i + T], state)
        state = state.detach()
        loss = F.cross_entropy(logits.transpose(1, 2), stream[:, i + 1:i + T + 1])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        tot, k = tot + loss.item(), k + 1
    print(f"epoch {epoch} nats per char {tot / k:.4f}")
m.eval()
with torch.no_grad():
    c, s, out = ix[:1].view(1, 1), None, ""
    for _ in range(80):
        l, s = m(c, s)
        c = torch.multinomial(F.softmax(l[:, -1] / 0.5, -1), 1)
        out += chars[c.item()]
print(out)
