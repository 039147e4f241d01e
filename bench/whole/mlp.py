"""Trains a 784-512-512-10 network on synthetic digits, as the PyTorch quickstart does."""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=500, help="optimizer steps")
args = parser.parse_args()

torch.manual_seed(1)
device = "cpu"
batch_size = 128

# ten blurred prototypes, 28 by 28, and noisy copies of them
prototypes = torch.rand(10, 1, 28, 28)
labels = torch.randint(0, 10, (6400,))
images = (prototypes[labels] + 0.8 * torch.randn(6400, 1, 28, 28)).clamp(0, 1)
train_dataloader = DataLoader(TensorDataset(images, labels), batch_size=batch_size, shuffle=True)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 10),
        )

    def forward(self, x):
        x = self.flatten(x)
        return self.linear_relu_stack(x)


model = NeuralNetwork().to(device)
print(model)

loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)

warmup = max(1, min(20, args.steps // 10))
log_every = max(1, args.steps // 10)
step = 0
start = time.perf_counter()
model.train()
while step < args.steps:
    for X, y in train_dataloader:
        if step == warmup:
            start = time.perf_counter()
        X, y = X.to(device), y.to(device)

        # Compute prediction error
        pred = model(X)
        loss = loss_fn(pred, y)

        # Backpropagation
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        step += 1
        if step % log_every == 0:
            print(f"loss: {loss.item():>7f}  [{step:>5d}/{args.steps:>5d}]")
        if step >= args.steps:
            break

last_loss = loss.item()
elapsed = time.perf_counter() - start
print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={last_loss!r}")
