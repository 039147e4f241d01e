"""Autocast, a scaler, accumulated micro-batches and clipping, with a rate of one cycle."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.randn(512, 12)
y = x @ torch.randn(12, 1) + 0.1 * torch.randn(512, 1)
loader = DataLoader(TensorDataset(x[:384], y[:384]), batch_size=8, shuffle=True, drop_last=True)
valid = DataLoader(TensorDataset(x[384:], y[384:]), batch_size=32)
model = nn.Sequential(nn.Linear(12, 64), nn.SiLU(), nn.LayerNorm(64), nn.Linear(64, 1)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
accumulation_steps, epochs = 4, 4
scaler = torch.amp.GradScaler(device, enabled=device == "cuda")
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=1e-2, total_steps=epochs * len(loader) // accumulation_steps
)
criterion = nn.MSELoss()
for epoch in range(epochs):
    model.train()
    for i, (inputs, targets) in enumerate(loader):
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = criterion(model(inputs.to(device)), targets.to(device)) / accumulation_steps
        scaler.scale(loss).backward()
        if (i + 1) % accumulation_steps == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            scheduler.step()
    model.eval()
    with torch.inference_mode():
        losses = [criterion(model(a.to(device)), b.to(device)).item() for a, b in valid]
    print(epoch, sum(losses) / len(losses))
