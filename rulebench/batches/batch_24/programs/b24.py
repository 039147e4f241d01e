"""Two-process data-parallel training (gloo) with hand-written gradient averaging."""
import os
import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

WORLD = 2
EPOCHS = 8


def make_data():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(60, 16)) * 1.1
    which = rng.integers(0, 60, 5000)
    x = centres[which] + rng.normal(size=(5000, 16)) * 0.8
    y = which % 6
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    return (x[:4000], y[:4000]), (x[4000:], y[4000:])


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(16, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 6),
        )

    def forward(self, x):
        return self.layers(x)


def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
        p.grad /= dist.get_world_size()


def worker(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ.setdefault("MASTER_PORT", "29641")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.set_num_threads(1)
    torch.manual_seed(1000 + rank)

    (xtr, ytr), (xte, yte) = make_data()
    train_set = TensorDataset(xtr, ytr)
    sampler = DistributedSampler(train_set, num_replicas=world, rank=rank, shuffle=True, seed=5)
    loader = DataLoader(train_set, batch_size=32, sampler=sampler)

    model = MLP()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(1)
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            average_gradients(model)
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            model.eval()
            with torch.no_grad():
                acc = (model(xte).argmax(1) == yte).float().mean().item()
            print(f"epoch {epoch} loss {total.item() / (world * len(loader)):.4f} test acc {acc:.4f}", flush=True)

    dist.barrier()
    if rank == 0:
        torch.save(model.state_dict(), "/tmp/ddp_by_hand_model.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, args=(WORLD,), nprocs=WORLD)
