"""Two-process data-parallel training (gloo) of a digit classifier."""
import os
import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

WORLD = 2
EPOCHS = 12


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(32 * 16, 10)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))

    def loss(self, x, y):
        return F.cross_entropy(self(x), y)


def load_shards():
    """The files on disk are sorted by class; every worker reads its own half."""
    X, y = load_digits(return_X_y=True)
    X = (X / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    perm = np.random.default_rng(0).permutation(len(X))
    test, train = perm[:360], perm[360:]
    train = train[np.argsort(y[train], kind="stable")][:1436]
    half = len(train) // WORLD
    shards = [train[r * half:(r + 1) * half] for r in range(WORLD)]
    t = lambda i: (torch.tensor(X[i]), torch.tensor(y[i]))
    return [t(s) for s in shards], t(test)


def worker(rank):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29617"
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.manual_seed(100 + rank)
    shards, test = load_shards()
    loader = DataLoader(TensorDataset(*shards[rank]), batch_size=32, shuffle=True, drop_last=True)
    model = DDP(ConvNet())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = model.module.loss(x, y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        mean = torch.tensor(total / len(loader))
        dist.all_reduce(mean)
        if rank == 0:
            print(f"epoch {epoch + 1} train loss {mean.item() / WORLD:.4f}", flush=True)

    if rank == 0:
        model.eval()
        with torch.no_grad():
            pred = model.module(test[0]).argmax(1)
        print(f"test accuracy {(pred == test[1]).float().mean().item():.4f}")
        torch.save(model.module.state_dict(), "/tmp/b17_model.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, nprocs=WORLD)
