# Fine-tuning a small CNN: pretrain on digits 0-5, then re-use it for digits 6-9 (few labels)
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(10)
torch.set_num_threads(1)
data = load_digits()
X = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
Y = torch.tensor(data.target)
src, dst = Y < 6, Y >= 6
Xs, Ys = X[src], Y[src]
Xt, Yt = X[dst], Y[dst] - 6
perm = torch.randperm(len(Xt))
Xtr, Ytr, Xva, Yva = Xt[perm[:120]], Yt[perm[:120]], Xt[perm[120:]], Yt[perm[120:]]


class Net(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(32 * 4, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


def run_epoch(model, opt, x, y, bs):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(bs):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    return total / len(x)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


net = Net(6)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for e in range(12):
    l = run_epoch(net, opt, Xs, Ys, 32)
print(f"[pretrain] loss {l:.4f} acc {evaluate(net, Xs, Ys):.4f}")

# --- transfer -----------------------------------------------------------------
# two groups: the convolutions move slowly, the classifier faster
opt = torch.optim.Adam([
    {"params": list(net.c1.parameters()) + list(net.c2.parameters()), "lr": 1e-4},
    {"params": net.fc.parameters(), "lr": 3e-3},
])
net.fc = nn.Linear(32 * 4, 4)

best = 0.0
for epoch in range(60):
    l = run_epoch(net, opt, Xtr, Ytr, 16)
    acc = evaluate(net, Xva, Yva)
    if acc > best:
        best, keep = acc, copy.deepcopy(net.state_dict())
    if epoch % 5 == 4:
        print(f"[finetune] epoch {epoch + 1} loss {l:.4f} val acc {acc:.4f} best {best:.4f}")
print(f"target-task accuracy: {evaluate(net, Xva, Yva):.4f}")
