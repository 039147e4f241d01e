import math
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

# mixed precision training of a small transformer encoder that must say which
# of the symbols occurs most often in a sequence
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
AMP_DTYPE = torch.float16 if DEVICE == "cuda" else torch.bfloat16
V, T, D = 6, 20, 32


def make(n, g):
    probs = torch.distributions.Dirichlet(torch.full((V,), 0.6)).sample((n,))
    x = torch.multinomial(probs, T, replacement=True, generator=g)
    counts = torch.nn.functional.one_hot(x, V).sum(1)
    return TensorDataset(x, counts.argmax(1))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(V, D)
        self.pos = nn.Parameter(torch.randn(1, T, D) * 0.02)
        layer = nn.TransformerEncoderLayer(D, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(D, V)

    def forward(self, x):
        return self.out(self.enc(self.tok(x) + self.pos).mean(1))


def main():
    torch.manual_seed(17)
    g = torch.Generator().manual_seed(17)
    train, valid = make(6000, g), make(1000, g)
    loader = DataLoader(train, batch_size=64, shuffle=True, generator=g)
    model = Encoder().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    epochs = 8
    total = epochs * len(loader)
    sched = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1.0, (s + 1) / 50) * 0.5 * (1 + math.cos(math.pi * s / total)))
    scaler = torch.amp.GradScaler(DEVICE)
    criterion = nn.CrossEntropyLoss()
    t0 = time.time()
    for epoch in range(epochs):
        running = 0.0
        for x, y in loader:
            x, y = x.to(DEVICE), y.to(DEVICE)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(DEVICE, dtype=AMP_DTYPE):
                loss = criterion(model(x).float(), y)
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            sched.step()
            running += loss.item()
        print(f"epoch {epoch} loss {running / len(loader):.4f} scale {scaler.get_scale():.0f} "
              f"lr {sched.get_last_lr()[0]:.4f} [{time.time() - t0:.1f}s]")
    model.eval()
    x, y = valid.tensors
    with torch.no_grad():
        acc = (model(x.to(DEVICE)).argmax(1).cpu() == y).float().mean().item()
    print(f"valid accuracy {acc:.4f}")


main()
