"""PyTorch: evaluation mode stays on after the first validation.

Dropout and batch normalization then do in training what they do in evaluation. The loss falls all
the same, and the model generalizes worse than it could.

    stepwatch run examples/01_pytorch.py

Found: `training_mode`. Mended by a call of `model.train()` at the beginning of every epoch.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
centres = torch.randn(4, 16)
labels = torch.randint(0, 4, (1280,))
samples = TensorDataset(centres[labels] + torch.randn(1280, 16), labels)
training, validation = random_split(samples, [1024, 256])

model = nn.Sequential(
    nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 4)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for epoch in range(4):
    for x, y in DataLoader(training, batch_size=32, shuffle=True):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()  # the mistake: nothing turns it off again
    with torch.no_grad():
        hits = [model(x).argmax(1) == y for x, y in DataLoader(validation, batch_size=256)]
    print(f"epoch {epoch}: loss {loss:.3f}, accuracy {torch.cat(hits).float().mean():.3f}")
