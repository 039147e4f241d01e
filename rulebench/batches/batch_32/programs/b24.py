# GCN (Kipf & Welling) for node classification, full batch, on a stochastic block model
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 0
torch.manual_seed(SEED)
torch.set_num_threads(1)
N, C, FEAT = 600, 4, 24

labels = torch.randint(0, C, (N,))
same = labels[:, None] == labels[None, :]
prob = torch.where(same, 0.03, 0.005)
A = torch.triu((torch.rand(N, N) < prob).float(), 1)
A = A + A.T
centers = torch.randn(C, FEAT) * 0.35
X = centers[labels] + torch.randn(N, FEAT)

# D^-1/2 (A + I) D^-1/2
A_hat = A + torch.eye(N)
d = A_hat.sum(1).pow(-0.5)
A_hat = d[:, None] * A_hat * d[None, :]

perm = torch.randperm(N)
train, val, test = perm[:100], perm[100:250], perm[250:]


class GCN(nn.Module):
    def __init__(self, hidden=32, p=0.5):
        super().__init__()
        self.w1 = nn.Linear(FEAT, hidden)
        self.w2 = nn.Linear(hidden, C)
        self.p = p

    def forward(self, x, a):
        h = F.relu(a @ self.w1(F.dropout(x, self.p, self.training)))
        return a @ self.w2(F.dropout(h, self.p, self.training))


model = GCN()
opt = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
best_val, best_state = 0.0, None
for epoch in range(400):
    model.train()
    out = model(X, A_hat)
    loss = F.cross_entropy(out[train], labels[train])
    opt.zero_grad()
    loss.backward()
    opt.step()

    model.eval()
    with torch.no_grad():
        pred = model(X, A_hat).argmax(1)
    val_acc = (pred[val] == labels[val]).float().mean().item()
    if val_acc > best_val:
        best_val = val_acc
        best_state = {k: v.clone() for k, v in model.state_dict().items()}
    if epoch % 50 == 0:
        print(f"epoch {epoch:3d} loss {loss.item():.4f} val {val_acc:.4f}")

model.load_state_dict(best_state)
model.eval()
with torch.no_grad():
    pred = model(X, A_hat).argmax(1)
print(f"best val {best_val:.4f}  test {(pred[test] == labels[test]).float().mean().item():.4f}")
