import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(204)
lines = ["the cat sat on the mat", "a dog ran in the park", "birds fly over the lake", "we like to read old books"]
text = "\n".join(lines[i] for i in torch.randint(0, 4, (400,)).tolist())
itos = sorted(set(text))
stoi = {c: i for i, c in enumerate(itos)}
ids = torch.tensor([stoi[c] for c in text])
B, T = 16, 40
cols = len(ids) // B
stream = ids[:cols * B].view(B, cols)


class LM(nn.Module):
    def __init__(self, v):
        super().__init__()
        self.e = nn.Embedding(v, 24)
        self.r = nn.LSTM(24, 64, batch_first=True)
        self.o = nn.Linear(64, v)

    def forward(self, x, s=None):
        h, s = self.r(self.e(x), s)
        return self.o(h), s


lm = LM(len(itos))
opt = torch.optim.Adam(lm.parameters(), lr=5e-3)
for epoch in range(15):
    state, tot, n = None, 0.0, 0
    for t in range(0, cols - 1 - T, T):
        x, y = stream[:, t:t + T], stream[:, t + 1:t + T + 1]
        if state is not None:
            state = tuple(s.detach() for s in state)
        logits, state = lm(x, state)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(lm.parameters(), 1.0)
        opt.step()
        tot += loss.item()
        n += 1
    print(f"epoch {epoch} loss {tot / n:.4f} ppl {torch.tensor(tot / n).exp():.2f}")

x, s, out = torch.tensor([[stoi["\n"]]]), None, ""
with torch.no_grad():
    for _ in range(150):
        z, s = lm(x, s)
        x = torch.multinomial(F.softmax(z[:, -1] / 0.7, -1), 1)
        out += itos[x.item()]
print(out)
print("known lines:", sum(l in lines for l in out.split("\n")), "of", len(out.split("\n")))
