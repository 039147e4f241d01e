import torch
import torch.nn as nn
import torch.nn.functional as F

text = ("the quick brown fox jumps over the lazy dog. pack my box with five dozen liquor jugs. "
        "how vexingly quick daft zebras jump. sphinx of black quartz judge my vow. ") * 12
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
V, T = len(chars), 32
torch.manual_seed(1)


def get_batch(bs=32):
    ix = torch.randint(0, len(data) - T - 1, (bs,))
    x = torch.stack([data[i:i + T] for i in ix])
    y = torch.stack([data[i:i + T] for i in ix])
    return x, y


class CharRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, 32)
        self.rnn = nn.GRU(32, 96, batch_first=True)
        self.out = nn.Linear(96, V)

    def forward(self, x, h=None):
        o, h = self.rnn(self.emb(x), h)
        return self.out(o), h


model = CharRNN()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(500):
    x, y = get_batch()
    logits, _ = model(x)
    loss = F.cross_entropy(logits.reshape(-1, V), y.reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))

model.eval()
with torch.no_grad():
    cur, h, s = torch.tensor([[stoi["t"]]]), None, "t"
    for _ in range(60):
        lg, h = model(cur, h)
        cur = lg[:, -1:].argmax(-1)
        s += chars[cur.item()]
print("sample:", s)
