"""Data-parallel training across two hospitals' data, gloo backend on CPU."""
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

WORLD = 2
FEATS = 16
EPOCHS = 8


def site_data(site, n, seed):
    """Each site sees its own patient mix and scanner range."""
    g = torch.Generator().manual_seed(seed + 10 * site)
    w = torch.randn(FEATS, generator=torch.Generator().manual_seed(5))
    centre = torch.zeros(FEATS)
    centre[:4] = 2.5 if site == 0 else -2.5
    x = torch.randn(n, FEATS, generator=g) + centre
    score = (x - centre) @ w
    if site == 1:
        score = (x - centre) @ w.roll(5)
    y = (score > 0).float()
    return x, y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)

    def loss(self, x, y):
        return nn.functional.binary_cross_entropy_with_logits(self(x), y)


def evaluate(net, site):
    x, y = site_data(site, 1000, seed=777)
    with torch.no_grad():
        return ((net(x) > 0).float() == y).float().mean().item()


def worker(rank):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29561"
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.manual_seed(0)
    torch.set_num_threads(1)

    x, y = site_data(rank, 2048, seed=1)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = DDP(Net())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(EPOCHS):
        total = torch.zeros(1)
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = model.module.loss(xb, yb)
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(xb)
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch + 1:2d} mean loss {total.item() / (WORLD * 2048):.4f}", flush=True)

    if rank == 0:
        accs = [evaluate(model.module, s) for s in range(WORLD)]
        print("accuracy per site:", [round(a, 3) for a in accs])
        print(f"overall accuracy: {sum(accs) / len(accs):.3f}")
        torch.save(model.module.state_dict(), "/tmp/site_model.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(worker, nprocs=WORLD, start_method="fork")
