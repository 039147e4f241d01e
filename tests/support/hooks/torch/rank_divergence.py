"""A training of several processes of which the last changes its parameters: ``FOLDER WHAT``.

It trains until there is a file ``FOLDER/over``, and knows nothing of us. WHAT is ``healthy``;
``diverge``: from step 30 on the parameters of the last process are others; ``die``: it is killed
at step 30, and the others train on without averaging.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

#: The step at which it happens, and the most that are trained.
AT, MOST = 30, 200_000


def is_over(folder, step):
    """Return whether the training is to end; all processes agree."""
    over = torch.tensor(float((folder / "over").exists() or step >= MOST))
    torch.distributed.all_reduce(over, torch.distributed.ReduceOp.MAX)
    return bool(over)


def train(folder, what, rank, size):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    is_last = rank == size - 1
    step = 0
    while what == "die" or not is_over(folder, step):
        if step == AT and is_last and what == "diverge":
            with torch.no_grad():
                net[0].weight.add_(0.01)
        if step == AT and what == "die":
            torch.distributed.barrier()
            if is_last:
                (folder / "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            model = net
        if what == "die" and ((folder / "over").exists() or step >= MOST):
            break
        generator = torch.Generator().manual_seed(100 * step + rank)
        x = torch.randn(8, 8, generator=generator)
        optimizer.zero_grad()
        F.mse_loss(model(x), x.sum(dim=1, keepdim=True)).backward()
        optimizer.step()
        step += 1


def main(folder, what):
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    meeting = f"file://{folder}/meeting"
    torch.distributed.init_process_group("gloo", meeting, rank=rank, world_size=size)
    train(Path(folder), what, rank, size)
    if what != "die":
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
