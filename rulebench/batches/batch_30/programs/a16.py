import torch
import torch.nn as nn
import random

seed = 42
random.seed(seed)
torch.manual_seed(seed)

# corpus: simple sums written out, "12+7=19;"
def make_text(n):
    out = []
    for _ in range(n):
        a, b = random.randint(0, 9), random.randint(0, 9)
        out.append(f"{a}+{b}={a + b};")
    return "".join(out)

text = make_text(6000)
test_text = make_text(300)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
V = len(chars)
print("characters:", "".join(chars), "| length", len(data))


class CharGRU(nn.Module):
    def __init__(self, vocab, emb=16, hid=96):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(emb, hid, batch_first=True)
        self.out = nn.Linear(hid, vocab)

    def forward(self, x, h=None):
        y, h = self.rnn(self.emb(x), h)
        return self.out(y), h


model = CharGRU(V)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
loss_fn = nn.CrossEntropyLoss()
SEQ, BATCH, STEPS = 40, 32, 1000

for step in range(1, STEPS + 1):
    starts = torch.randint(0, len(data) - SEQ - 1, (BATCH,))
    x = torch.stack([data[s:s + SEQ] for s in starts])
    y = torch.stack([data[s + 1:s + SEQ + 1] for s in starts])
    logits, _ = model(x)
    loss = loss_fn(logits.reshape(-1, V), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.4f}")

# how many sums does it finish correctly?
model.eval()
good = 0
problems = test_text.split(";")[:-1]
with torch.no_grad():
    for p in problems:
        q, ans = p.split("=")
        _, h = model(torch.tensor([[stoi[c] for c in ";" + q]]))
        c, got = "=", ""
        for _ in range(4):
            lg, h = model(torch.tensor([[stoi[c]]]), h)
            c = chars[lg[0, -1].argmax().item()]
            if c == ";":
                break
            got += c
        good += got == ans
print("sums finished correctly:", good / len(problems))
