import contextlib
import os
import tempfile
import torch
import torch.distributed as dist
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def setup():
    rank = int(os.environ.get("RANK", 0))
    world = int(os.environ.get("WORLD_SIZE", 1))
    if "MASTER_ADDR" in os.environ:
        dist.init_process_group("gloo")
    else:
        store = dist.FileStore(tempfile.mktemp(), world)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    return rank, world


def load(split_seed=0):
    d = load_breast_cancer()
    g = torch.Generator().manual_seed(split_seed)
    order = torch.randperm(len(d.target), generator=g)
    tr, te = order[:420].numpy(), order[420:].numpy()
    scaler = StandardScaler().fit(d.data[tr])
    to = lambda a: torch.tensor(a, dtype=torch.float32)
    return (TensorDataset(to(scaler.transform(d.data[tr])), to(d.target[tr])),
            TensorDataset(to(scaler.transform(d.data[te])), to(d.target[te])))


def main():
    rank, world = setup()
    torch.manual_seed(1000 + rank)
    train_set, test_set = load()
    sampler = DistributedSampler(train_set, num_replicas=world, rank=rank, shuffle=True, seed=0)
    loader = DataLoader(train_set, batch_size=7, sampler=sampler)

    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss()
    accumulate = 4

    for epoch in range(12):
        sampler.set_epoch(epoch)
        model.train()
        running = torch.zeros(2)
        for i, (x, y) in enumerate(loader):
            last = (i + 1) % accumulate == 0 or i + 1 == len(loader)
            with contextlib.nullcontext() if last else model.no_sync():
                loss = criterion(model(x).squeeze(1), y)
                (loss / accumulate).backward()
            if last:
                opt.step()
                opt.zero_grad()
            running += torch.tensor([loss.item(), 1.0])
        dist.all_reduce(running)
        if rank == 0:
            print(f"epoch {epoch + 1} train loss {running[0] / running[1]:.4f}")

    model.eval()
    x, y = test_set.tensors
    with torch.no_grad():
        acc = ((model.module(x).squeeze(1) > 0) == (y > 0.5)).float().mean().item()
    if rank == 0:
        print("test accuracy", round(acc, 4))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
