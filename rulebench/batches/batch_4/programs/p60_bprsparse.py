# implicit feedback: matrix factorisation with BPR, sparse embedding gradients, SparseAdam for the tables
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 909
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
U, I, D = 1200, 500, 24

taste, style = rng.normal(size=(U, 6)), rng.normal(size=(I, 6))
popular = rng.normal(0, 1.0, I)
score = taste @ style.T * 1.2 + popular + rng.gumbel(size=(U, I))
ranked = np.argsort(-score, 1)[:, :30]
perm = rng.permuted(ranked, axis=1)
train_items, test_items = perm[:, :24], perm[:, 24:]
seen = np.zeros((U, I), bool)
np.put_along_axis(seen, train_items, True, 1)
pairs = torch.tensor(np.column_stack([np.repeat(np.arange(U), 24), train_items.reshape(-1)]))
seen_t, test_t = torch.tensor(seen), torch.tensor(test_items)


class BPR(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(U, D, sparse=True), nn.Embedding(I, D, sparse=True)
        self.bias = nn.Parameter(torch.zeros(I))
        nn.init.normal_(self.user.weight, std=0.05)
        nn.init.normal_(self.item.weight, std=0.05)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias[i]

    @torch.no_grad()
    def hit_rate(self, k=10):
        s = self.user.weight @ self.item.weight.T + self.bias
        top = s.masked_fill(seen_t, -1e9).topk(k).indices
        return (top[:, :, None] == test_t[:, None, :]).any(1).float().mean().item()


model = BPR()
tables = torch.optim.SparseAdam([model.user.weight, model.item.weight], lr=5e-3)
dense = torch.optim.SGD([model.bias], lr=1.0)
print("random recall@10 about", 10 / (I - 24))
for epoch in range(25):
    total = 0.0
    for b in torch.randperm(len(pairs)).split(1024):
        u, i = pairs[b, 0], pairs[b, 1]
        j = torch.randint(0, I, u.shape)
        clash = seen_t[u, j]
        while clash.any():                     # a negative must not be one of the user's own items
            j[clash] = torch.randint(0, I, (int(clash.sum()),))
            clash = seen_t[u, j]
        diff = model(u, i) - model(u, j)
        reg = 1e-2 * (model.user(u).pow(2).sum(-1) + model.item(i).pow(2).sum(-1) + model.item(j).pow(2).sum(-1)).mean()
        loss = -F.logsigmoid(diff).mean() + reg
        tables.zero_grad(); dense.zero_grad()
        loss.backward()
        tables.step(); dense.step()
        total += loss.item() * len(b)
    if epoch % 3 == 0:
        print(f"epoch {epoch} loss {total / len(pairs):.4f} recall@10 {model.hit_rate():.4f}")
