import torch
import torch.nn.functional as F

# Two-layer GCN (Kipf & Welling) on a citation-like graph generated as stochastic block model
seed = 15
torch.manual_seed(seed)

n_class, per = 5, 160
n = n_class * per
labels = torch.arange(n_class).repeat_interleave(per)
same = labels[:, None] == labels[None, :]
prob = torch.where(same, torch.tensor(0.035), torch.tensor(0.004))
A = torch.triu((torch.rand(n, n) < prob).float(), 1)
A = A + A.t()
feat = (torch.rand(n, 120) < 0.05).float()
words = torch.randint(0, 120, (n_class, 15))
for i in range(n):
    w = words[labels[i]]
    feat[i, w[torch.rand(15) < 0.22]] = 1.0
feat = feat / feat.sum(1, keepdim=True).clamp(min=1)

A_hat = A + torch.eye(n)
dinv = A_hat.sum(1).pow(-0.5)
A_norm = (dinv[:, None] * A_hat * dinv[None, :]).to_sparse()

perm = torch.randperm(n)
train_mask = torch.zeros(n, dtype=torch.bool)
val_mask, test_mask = train_mask.clone(), train_mask.clone()
train_mask[perm[:100]] = True
val_mask[perm[100:300]] = True
test_mask[perm[300:]] = True


class GCN(torch.nn.Module):
    def __init__(self, nfeat, nhid, nclass):
        super().__init__()
        self.w1 = torch.nn.Linear(nfeat, nhid)
        self.w2 = torch.nn.Linear(nhid, nclass)

    def forward(self, x):
        x = F.dropout(x, 0.5, self.training)
        x = F.relu(torch.sparse.mm(A_norm, self.w1(x)))
        x = F.dropout(x, 0.5, self.training)
        return torch.sparse.mm(A_norm, self.w2(x))


model = GCN(feat.shape[1], 32, n_class)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
best_val, best_test = 0, 0
for epoch in range(1, 601):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(feat)[train_mask], labels[train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        model.eval()
        with torch.no_grad():
            pred = model(feat).argmax(1)
        acc = lambda m: (pred[m] == labels[m]).float().mean().item()
        if acc(val_mask) > best_val:
            best_val, best_test = acc(val_mask), acc(test_mask)
        if epoch % 100 == 0:
            print(f"Epoch {epoch:03d} loss {loss.item():.4f} train {acc(train_mask):.3f} val {acc(val_mask):.3f} test {acc(test_mask):.3f}")
print(f"test accuracy at best validation: {best_test:.4f}")
