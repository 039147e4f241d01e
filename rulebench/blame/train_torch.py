"""A plain loop over a ``DataLoader``."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from rulebench.blame.planted import BATCH, regression, seed

torch.manual_seed(seed())
data = TensorDataset(*map(torch.from_numpy, regression(seed())))
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), 0.01)
for inputs, targets in DataLoader(data, batch_size=BATCH):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs), targets).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
