"""Data-parallel training with hand-written gradient averaging over gloo (two CPU workers)."""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

WORLD_SIZE = 2
EPOCHS = 8
BATCH = 32


def build_model():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 2 * 2, 64), nn.ReLU(), nn.Linear(64, 10),
    )


def load_data(rank):
    """The training files are stored by class, every worker reads its own part of them."""
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(d.target)
    perm = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    x, y = x[perm], y[perm]
    by_class = y[:1408].argsort(stable=True)
    shard = by_class[rank * 704 : (rank + 1) * 704]
    return (x[shard], y[shard]), (x[1408:], y[1408:])


def average_gradients(model):
    for p in model.parameters():
        grad = p.grad.detach() / dist.get_world_size()
        dist.all_reduce(grad, op=dist.ReduceOp.SUM)


def worker(rank, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD_SIZE)
    torch.set_num_threads(1)
    torch.manual_seed(100)

    (x_train, y_train), (x_test, y_test) = load_data(rank)
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    for epoch in range(EPOCHS):
        g = torch.Generator().manual_seed(epoch)
        order = torch.randperm(len(x_train), generator=g)
        total = torch.zeros(1)
        for i in range(0, len(order), BATCH):
            idx = order[i : i + BATCH]
            loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
            optimizer.zero_grad()
            loss.backward()
            average_gradients(model)
            optimizer.step()
            total += loss.detach() * len(idx)
        dist.all_reduce(total)
        if rank == 0 and (epoch + 1) % 2 == 0:
            with torch.no_grad():
                acc = (model(x_test).argmax(1) == y_test).float().mean().item()
            print(f"epoch {epoch + 1:2d}  loss {total.item() / (len(x_train) * WORLD_SIZE):.4f}  test acc {acc:.4f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free_port = s.getsockname()[1]
    mp.spawn(worker, args=(free_port,), nprocs=WORLD_SIZE, join=True)
