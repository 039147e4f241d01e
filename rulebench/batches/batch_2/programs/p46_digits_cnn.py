# CNN on the 8x8 digits, "bag of tricks" version from the lab notebook
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)
d = load_digits()
xtr, xte, ytr, yte = train_test_split(d.images / 16.0, d.target, test_size=0.25, random_state=0, stratify=d.target)
to = lambda a: torch.tensor(a, dtype=torch.float32).unsqueeze(1)
train = DataLoader(TensorDataset(to(xtr), torch.tensor(ytr)), batch_size=32, shuffle=True, drop_last=True)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(64, 10),
)
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=6, gamma=0.5)   # halve every 6 epochs

EPOCHS = 24
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for xb, yb in train:
        opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
        sched.step()
        total += loss.item()
    if epoch % 4 == 0 or epoch == EPOCHS - 1:
        model.eval()
        with torch.no_grad():
            acc = (model(to(xte)).argmax(1) == torch.tensor(yte)).float().mean().item()
        print(f"[{epoch:02d}] loss={total / len(train):.4f} test_acc={acc:.3f}")
