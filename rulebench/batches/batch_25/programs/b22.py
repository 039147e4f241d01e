"""
Q: Mixed precision CNN, any tips to make this faster?

Minimal reproducible script (runs on CPU as well, device is picked automatically).
"""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

device = "cuda" if torch.cuda.is_available() else "cpu"
amp_dtype = torch.float16 if device == "cuda" else torch.bfloat16
torch.manual_seed(0)

digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
y = torch.tensor(digits.target)
perm = torch.randperm(len(x))
x, y = x[perm], y[perm]
xtr, ytr, xte, yte = x[:1400], y[:1400], x[1400:].to(device), y[1400:].to(device)

net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
    nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.ReLU(),
    nn.Flatten(),
    nn.Linear(32 * 16, 64), nn.ReLU(),
    nn.Linear(64, 10),
).to(device)

optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=15 * 44)
criterion = nn.CrossEntropyLoss()
scaler = torch.amp.GradScaler(device)

for epoch in range(15):
    net.train()
    order = torch.randperm(len(xtr))
    running = 0.0
    for i in range(44):
        idx = order[i * 32:(i + 1) * 32]
        xb, yb = xtr[idx].to(device), ytr[idx].to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=amp_dtype):
            loss = criterion(net(xb), yb)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        running += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {epoch + 1}: loss {running / 44:.4f} test acc {acc:.4f}")
