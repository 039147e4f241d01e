"""A script that knows nothing of us and joins the others late: ``rank_script.py FOLDER``."""

from __future__ import annotations

import os
import sys

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


def main(folder):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    meeting = f"file://{folder}/meeting"
    torch.distributed.init_process_group("gloo", meeting, rank=rank, world_size=size)
    model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        x = torch.full((6, 4), float(step + rank))
        F.mse_loss(model(x), x[:, :2]).backward()
        optimizer.step()
    # In this order: torch may abort, or wait for ever, when a group goes before what works with it.
    del model, optimizer
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
