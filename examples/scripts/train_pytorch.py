"""Trains a small convolutional network of PyTorch on drawn shapes; it knows of no debugger."""

import argparse

import torch
from shapes import draw
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv0 = nn.Conv2d(1, 6, 5)
        self.conv1 = nn.Conv2d(6, 16, 3)
        self.pool = nn.MaxPool2d(2)
        self.dense0 = nn.Linear(16 * 5 * 5, 64)
        self.dense1 = nn.Linear(64, 4)

    def forward(self, images):
        seen = self.pool(torch.relu(self.conv0(images)))
        seen = self.pool(torch.relu(self.conv1(seen)))
        return self.dense1(torch.relu(self.dense0(seen.flatten(1))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--learning_rate", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=10)
    told = parser.parse_args()
    torch.manual_seed(0)
    network = Network()
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(network.parameters(), lr=told.learning_rate)
    images, labels = map(torch.from_numpy, draw(50 * told.batch_size, seed=0))
    data = torch.utils.data.TensorDataset(images, labels.long())
    batches = torch.utils.data.DataLoader(data, batch_size=told.batch_size, shuffle=True)
    for epoch in range(told.epochs):
        for image, label in batches:
            optimizer.zero_grad()
            loss = loss_of(network(image), label)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
