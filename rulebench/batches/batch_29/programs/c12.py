# mini char transformer: learns arithmetic progressions mod 16 (start, stride drawn at random)
import math, torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)
V, T, D = 16, 12, 48

def sample(n):
    a = torch.randint(0, V, (n, 1)); s = torch.randint(1, 6, (n, 1))
    return (a + s * torch.arange(T + 1)) % V

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv = nn.Linear(D, 3 * D); self.o = nn.Linear(D, D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
    def forward(self, x):
        B, L, _ = x.shape
        q, k, v = (t.view(B, L, 4, D // 4).transpose(1, 2) for t in self.qkv(self.ln1(x)).chunk(3, -1))
        att = q @ k.transpose(-1, -2) / math.sqrt(D // 4)
        mask = torch.tril(torch.ones(L, L)) == 0
        att.masked_fill(mask, float("-inf"))     # causal
        y = (att.softmax(-1) @ v).transpose(1, 2).reshape(B, L, D)
        x = x + self.o(y)
        return x + self.mlp(self.ln2(x))

class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, D), nn.Embedding(T, D)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(D, V)
    def forward(self, i):
        x = self.tok(i) + self.pos(torch.arange(i.shape[1]))
        for b in self.blocks: x = b(x)
        return self.head(x)

lm = LM()
opt = torch.optim.AdamW(lm.parameters(), lr=2e-3)
for it in range(900):
    s = sample(64)
    logits = lm(s[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, V), s[:, 1:].reshape(-1))
    opt.zero_grad(); loss.backward(); opt.step()
    if it % 100 == 0: print(f"iter {it} loss {loss.item():.4f}")

# continue from the first three symbols
lm.eval()
with torch.no_grad():
    s = sample(500)
    cur = s[:, :3]
    while cur.shape[1] < T:
        cur = torch.cat([cur, lm(cur)[:, -1].argmax(-1, keepdim=True)], 1)
print("generated symbols right: %.3f" % (cur[:, 3:] == s[:, 3:T]).float().mean())
