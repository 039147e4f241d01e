import argparse, logging
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("topic")

ap = argparse.ArgumentParser()
ap.add_argument("--micro-batch", type=int, default=8)
ap.add_argument("--accum", type=int, default=16)
ap.add_argument("--lr", type=float, default=2.0)
ap.add_argument("--epochs", type=int, default=12)
ap.add_argument("--seed", type=int, default=1)
args = ap.parse_args()

torch.manual_seed(args.seed)
rng = np.random.default_rng(21)

# documents: mixtures of a topic's words and of common words
V, T, L, N = 2000, 12, 40, 6000
topic_words = rng.dirichlet(np.full(V, 0.05), size=T)
common = rng.dirichlet(np.full(V, 1.0))
labels = rng.integers(0, T, N)
docs = np.stack([rng.choice(V, L, p=0.25 * topic_words[k] + 0.75 * common) for k in labels])
docs, labels = torch.from_numpy(docs), torch.from_numpy(labels)
train = TensorDataset(docs[:5000], labels[:5000])
valid = TensorDataset(docs[5000:], labels[5000:])


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(V, 64, mode="mean")
        self.out = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, T))

    def forward(self, x):
        return self.out(self.emb(x))


model = Classifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
loader = DataLoader(train, batch_size=args.micro_batch, shuffle=True)

# effective batch = micro_batch * accum, as in the paper
for epoch in range(args.epochs):
    model.train()
    running = 0.0
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y) / args.accum
        loss.backward()
        running += loss.item() * args.accum
        if (i + 1) % args.accum == 0:
            optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(docs[5000:])
        acc = (out.argmax(1) == labels[5000:]).float().mean().item()
    log.info("epoch %d train_loss %.4f valid_acc %.4f", epoch, running / len(loader), acc)
print("valid accuracy %.4f" % acc)
