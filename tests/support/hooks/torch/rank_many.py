"""A process that trains a replica beside many others, of which one goes wrong: ``PORT RANK``.

They meet at the beginning and in the end, and average nothing: two hundred would need twenty
thousand connections. At step 5 one weight of that rank is changed, as by a fault of its memory.
"""

from __future__ import annotations

import os
import sys

import torch
import torch.nn.functional as F  # noqa: N812

rank, size, wrong = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(sys.argv[2])
store = torch.distributed.TCPStore("localhost", int(sys.argv[1]), size, rank == 0)
torch.manual_seed(0)
x, y = torch.randn(16, 4), torch.randn(16, 1)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(11):
    if step == 5 and rank == wrong:
        with torch.no_grad():
            model.weight[0, 2] += 1.0
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()
store.set(str(rank), "trained")
if rank == 0:  # it is the server, and the others are gone once they have told it
    store.wait([str(other) for other in range(size)])
