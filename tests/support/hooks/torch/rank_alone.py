"""A training of which no process waits for another; each of them runs this file as a program.

``python rank_alone.py RUN END``: the first process trains to its end, says so, and waits for a
line. The others train half as long, and then end as END says: ``exit`` or ``raise``.
"""

from __future__ import annotations

import os
import sys

import torch

from stepwatch import TorchHook
from tests.support.hooks.torch.rank_trainings import batch, loss_of, net

STEPS = 10


def main(run, end):
    rank = int(os.environ["RANK"])
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with TorchHook(run=run, hold=False, say=lambda _: None, strict=True):
        for step in range(STEPS if rank == 0 else STEPS // 2):
            optimizer.zero_grad()
            loss_of(model, batch(step, rank)).backward()
            optimizer.step()
        if rank and end == "exit":
            os._exit(3)
        if rank:
            raise RuntimeError("no luck")
        print("trained", flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
