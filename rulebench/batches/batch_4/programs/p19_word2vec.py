# word2vec (skip gram, negative sampling) with sparse embeddings
import random
from collections import Counter
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 10
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)

TOPICS = {
    "kitchen": "pan pot oven knife fork spoon plate soup salt pepper".split(),
    "sea": "boat wave fish sail harbour captain storm anchor beach tide".split(),
    "office": "desk meeting report email boss printer coffee project budget phone".split(),
    "garden": "flower tree rose soil seed shovel grass hedge bee rain".split(),
    "music": "guitar piano song drum singer concert melody violin choir band".split(),
}
STOP = "the a of and to in is was for with".split()
topic_of = {w: t for t, ws in TOPICS.items() for w in ws}


def sentence():
    ws = TOPICS[random.choice(list(TOPICS))]
    return [random.choice(STOP) if random.random() < 0.4 else random.choice(ws) for _ in range(12)]


corpus = [sentence() for _ in range(2500)]
counts = Counter(w for s in corpus for w in s)
vocab = [w for w, _ in counts.most_common()]
ix = {w: i for i, w in enumerate(vocab)}
freq = np.array([counts[w] for w in vocab], dtype=float)
freq /= freq.sum()
noise = torch.tensor(freq ** 0.75, dtype=torch.float)
keep = np.minimum(1.0, np.sqrt(0.01 / freq))        # subsampling of frequent words

pairs = []
for s in corpus:
    s = [ix[w] for w in s if random.random() < keep[ix[w]]]
    for i, c in enumerate(s):
        for j in range(max(0, i - 3), min(len(s), i + 4)):
            if j != i:
                pairs.append((c, s[j]))
pairs = torch.tensor(pairs)
print("vocabulary", len(vocab), "pairs", len(pairs))


class SkipGram(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.center = nn.Embedding(n, dim, sparse=True)
        self.context = nn.Embedding(n, dim, sparse=True)
        nn.init.uniform_(self.center.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.context.weight)

    def forward(self, c, o, neg):
        vc = self.center(c)
        pos = (vc * self.context(o)).sum(1)
        bad = torch.bmm(self.context(neg), vc.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(pos) + F.logsigmoid(-bad).sum(1)).mean()


model = SkipGram(len(vocab), 16)
optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)
for epoch in range(4):
    total = 0.0
    for batch in pairs[torch.randperm(len(pairs))].split(256):
        neg = torch.multinomial(noise, len(batch) * 5, replacement=True).view(-1, 5)
        optimizer.zero_grad()
        loss = model(batch[:, 0], batch[:, 1], neg)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    print("epoch", epoch, "loss %.4f" % (total / len(pairs)))

vec = F.normalize(model.center.weight.detach(), dim=1)
sim = vec @ vec.t()
good = n = 0
for w in topic_of:
    row = sim[ix[w]].clone()
    row[ix[w]] = -2
    near = [vocab[i] for i in row.topk(5).indices]
    good += sum(topic_of.get(v) == topic_of[w] for v in near)
    n += 5
    if w in ("soup", "wave", "boss"):
        print(w, "->", near)
print("neighbours of the same topic: %.3f (chance about %.2f)" % (good / n, 9 / 59))
