"""Node classification with a two-layer GCN on a stochastic block model graph, mini-batches of labelled nodes."""
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 0
torch.manual_seed(SEED)
torch.set_num_threads(1)

n, k, d = 900, 6, 64
y = torch.arange(n) % k
P = torch.where(y[:, None] == y[None], 0.03, 0.005)
A = (torch.rand(n, n) < P).float().triu(1)
A = A + A.T + torch.eye(n)
dinv = A.sum(1).rsqrt()
A_hat = dinv[:, None] * A * dinv[None]
X = 0.35 * torch.randn(k, d)[y] + torch.randn(n, d)

perm = torch.randperm(n)
train_idx, val_idx, test_idx = perm[:360], perm[360:540], perm[540:]


class GCN(nn.Module):
    def __init__(self, d, h, k):
        super().__init__()
        self.w1 = nn.Linear(d, h)
        self.w2 = nn.Linear(h, k)

    def forward(self, A, X):
        h = F.dropout(F.relu(A @ self.w1(X)), 0.5, self.training)
        return A @ self.w2(h)


epochs, batch = 40, 30
model = GCN(d, 32, k)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
# divide the rate by ten at 50% and 75% of the run
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[epochs // 2, epochs * 3 // 4], gamma=0.1)


@torch.no_grad()
def acc(idx):
    model.eval()
    return (model(A_hat, X)[idx].argmax(1) == y[idx]).float().mean().item()


for epoch in range(epochs):
    model.train()
    order = train_idx[torch.randperm(len(train_idx))]
    tot = 0.0
    for b in order.split(batch):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(A_hat, X)[b], y[b])
        loss.backward()
        optimizer.step()
        scheduler.step()
        tot += loss.item() * len(b)
    if (epoch + 1) % 4 == 0:
        print(f"epoch {epoch+1:3d}  loss {tot/len(train_idx):.4f}  val acc {acc(val_idx):.3f}")
print(f"test acc {acc(test_idx):.4f}")
