"""A training that starts its processes by itself: ``python rank_spawned.py FOLDER SIZE``."""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from stepwatch import TorchHook
from tests.support.hooks.torch.rank_trainings import batch, loss_of, net


def train(rank, folder, size):
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=size)
    model = DistributedDataParallel(net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with TorchHook(run=f"{folder}/run", say=lambda _: None, strict=True):
        for step in range(3):
            optimizer.zero_grad()
            loss_of(model, batch(step, rank)).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (sys.argv[1], int(sys.argv[2])), nprocs=int(sys.argv[2]))
