"""Sentiment toy: GRU over word ids."""
import random
import torch
import torch.nn as nn

random.seed(3)
torch.manual_seed(3)
POS = ["good", "great", "lovely", "fun", "brilliant"]
NEG = ["bad", "awful", "boring", "poor", "dull"]
FILL = ["the", "movie", "was", "and", "plot", "actor", "scene", "i", "think", "it", "a", "very", "really"]
vocab = {w: i + 1 for i, w in enumerate(POS + NEG + FILL + ["not"])}


def sample():
    label = random.randint(0, 1)
    words = [random.choice(FILL) for _ in range(random.randint(5, 12))]
    flip = random.random() < 0.4
    src = POS if (label == 1) != flip else NEG
    w = [random.choice(src)]
    if flip:
        w = ["not"] + w
    at = random.randint(0, len(words))
    return words[:at] + w + words[at:], label


def encode(batch):
    L = max(len(w) for w, _ in batch)
    ids = torch.zeros(len(batch), L, dtype=torch.long)
    for i, (w, _) in enumerate(batch):
        ids[i, L - len(w):] = torch.tensor([vocab[t] for t in w])
    return ids, torch.tensor([l for _, l in batch], dtype=torch.float32)


class Sent(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(vocab) + 1, 16, padding_idx=0)
        self.rnn = nn.GRU(16, 32, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, ids):
        _, h = self.rnn(self.emb(ids))
        return self.out(h[-1]).squeeze(1)


data = [sample() for _ in range(2500)]
train, val = data[:2000], data[2000:]
model = Sent()
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
crit = nn.BCEWithLogitsLoss()
opt.zero_grad()
for epoch in range(15):
    random.shuffle(train)
    model.train()
    tot = 0
    for i in range(0, len(train), 32):
        ids, y = encode(train[i:i + 32])
        loss = crit(model(ids), y)
        loss.backward()
        opt.step()
        tot += loss.item()
    model.eval()
    with torch.no_grad():
        ids, y = encode(val)
        acc = ((model(ids) > 0).float() == y).float().mean()
    print(epoch, round(tot / 63, 4), "val acc", round(acc.item(), 4))
