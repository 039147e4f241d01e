"""Leaf shapes: classify closed outlines (radius as function of angle) into 5 species."""
import math
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 31
torch.manual_seed(SEED)
torch.set_num_threads(1)
SPECIES = ["oak", "maple", "birch", "willow", "lime"]
ang = torch.linspace(0, 2 * math.pi, 65)[:64]


def outline(k):
    phase, amp = torch.rand(1) * 2 * math.pi, 0.12 + 0.12 * torch.rand(1)
    lobes = [2, 3, 4, 5, 6][k]
    r = 1 + amp * torch.cos(lobes * ang + phase) + 0.1 * torch.cos(ang + torch.rand(1) * 6.28)
    return r * (0.7 + 0.6 * torch.rand(1)) + 0.08 * torch.randn(64)


lab = torch.randint(0, 5, (3000,))
x = torch.stack([outline(int(k)) for k in lab]).unsqueeze(1)
train_dl = DataLoader(TensorDataset(x[:2400], lab[:2400]), batch_size=48, shuffle=True)
x_test, y_test = x[2400:], lab[2400:]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv1d(i, o, 5, padding=2, padding_mode="circular"), nn.BatchNorm1d(o), nn.ReLU(),
                                 nn.AvgPool1d(2))
        self.features = nn.Sequential(block(1, 16), block(16, 32), block(32, 32))
        self.norm = nn.BatchNorm1d(32)
        self.fc = nn.Linear(32, 5)

    def forward(self, x):
        h = self.features(x).amax(-1)
        return self.fc(self.norm(h))


model = Net()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()


@torch.no_grad()
def per_class_accuracy():
    """accuracy for each species; one forward pass per species"""
    res = {}
    for k, name in enumerate(SPECIES):
        m = y_test == k
        res[name] = (model(x_test[m]).argmax(1) == k).float().mean().item()
    return res


model.train()
for epoch in range(12):
    tot = n = ok = 0
    for xb, yb in train_dl:
        out = model(xb)
        loss = loss_fn(out, yb)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        tot += loss.item() * len(xb); n += len(xb); ok += (out.argmax(1) == yb).sum().item()
    acc = per_class_accuracy()
    print(f"[{epoch:02d}] loss {tot / n:.4f} train acc {ok / n:.3f} | " +
          " ".join(f"{k} {v:.2f}" for k, v in acc.items()))

acc = per_class_accuracy()
print("mean per-class accuracy on the test leaves: %.4f" % (sum(acc.values()) / len(acc)))
