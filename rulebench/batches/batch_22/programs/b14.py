"""DDP training script; run alone it starts a process group of size one."""
import contextlib
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from sklearn.datasets import make_moons
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29577")
os.environ.setdefault("RANK", "0")
os.environ.setdefault("WORLD_SIZE", "1")

ACCUM = 4
EPOCHS = 18


def build_model():
    return nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)

    X, y = make_moons(4000, noise=0.15, random_state=0)
    X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    train = TensorDataset(X[:3200], y[:3200])
    sampler = DistributedSampler(train, num_replicas=world, rank=rank, shuffle=True, seed=0)
    loader = DataLoader(train, batch_size=16, sampler=sampler)

    model = DDP(build_model())
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()

    n_updates = 0
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2)
        for i, (xb, yb) in enumerate(loader):
            last = (i + 1) % ACCUM == 0 or i + 1 == len(loader)
            ctx = contextlib.nullcontext() if last else model.no_sync()
            with ctx:
                loss = loss_fn(model(xb), yb)
                (loss / ACCUM).backward()
            total += torch.tensor([loss.item() * len(xb), len(xb)])
            if last:
                optimizer.step()
                optimizer.zero_grad()
                n_updates += 1
        dist.all_reduce(total)
        model.eval()
        with torch.no_grad():
            acc = (model.module(X[3200:]).argmax(1) == y[3200:]).float().mean().item()
        if rank == 0 and (epoch + 1) % 3 == 0:
            print(f"epoch {epoch + 1} updates {n_updates} loss {total[0] / total[1]:.4f} val acc {acc:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
