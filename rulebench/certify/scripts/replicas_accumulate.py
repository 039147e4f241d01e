"""Replicas that accumulate without averaging but at the last micro-batch of a step."""

import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def train():
    torch.manual_seed(1)
    x = torch.randn(512, 6)
    data = TensorDataset(x, x.prod(1, keepdim=True))
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=True))
    model = DDP(nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Linear(24, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        loader.sampler.set_epoch(epoch)
        for number, (inputs, targets) in enumerate(loader):
            is_last = number % 4 == 3
            with contextlib.nullcontext() if is_last else model.no_sync():
                loss = nn.functional.mse_loss(model(inputs), targets) / 4
                loss.backward()
            if is_last:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    for name, value in alone.items():
        os.environ.setdefault(name, value)
    dist.init_process_group("gloo")
    train()
    dist.destroy_process_group()
