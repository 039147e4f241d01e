"""Small trainings in several processes; each process of them runs this file as a program.

``python rank_trainings.py FOLDER NAME ...`` with RANK and WORLD_SIZE set, as launchers do. A run
is at ``FOLDER/NAME``. What it should hold is beside it in ``NAME.npz``, as
``<step>/<tensor>``: the whole tensors, which these trainings gather by themselves.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Partial
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

from stepwatch import TorchHook

STEPS = 3
# Of each process; one process alone has all of them.
BATCH = 6
MAX_NORM = 0.1
RAW = ["weights:raw", "gradients:raw"]


def net():
    """Return a model of which no dimension is divisible by 2 or 4, and one has one element."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 1))


def batch(step, rank):
    """Return the input of a process at a step."""
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(BATCH, 4, generator=generator)


def loss_of(model, x):
    return F.mse_loss(model(x), x.sum(dim=1, keepdim=True))


class Spare(nn.Module):
    """A model with a normalisation, and a layer that no forward uses."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.norm = nn.Linear(4, 5), nn.BatchNorm1d(5)
        self.head, self.unused = nn.Linear(5, 1), nn.Linear(3, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.norm(self.body(x))))


def _nothing():
    pass


class Training:
    """One training, in one process of several.

    Args:
        folder: Where the runs lie.
        name: Of this one.
    """

    def __init__(self, folder, name):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        #: Whose batches it trains on.
        self.sees = self.rank
        self._run = folder / name
        self._whole = {}

    def hook(self, **options):
        options = {"policy": RAW, "strict": True, "say": lambda _: None, **options}
        return TorchHook(run=self._run, **options)

    def keep(self, step, model):
        """Gather whole weights and gradients, as the optimizer is about to see them."""
        for path, parameter in model.named_parameters():
            for name, tensor in ((path, parameter), (f"gradient/{path}", parameter.grad)):
                if isinstance(tensor, DTensor):
                    tensor = tensor.full_tensor()
                if tensor is not None:
                    name = name.replace("module.", "")  # of DistributedDataParallel
                    self._whole[f"{step}/{name}"] = tensor.detach().float().numpy().copy()

    def fit(self, model, optimizer=None, *, clip=_nothing, before_step=_nothing):
        """Train as scripts do."""
        optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
        with self.hook():
            for step in range(STEPS):
                optimizer.zero_grad()
                loss_of(model, batch(step, self.sees)).backward()
                clip()
                self.keep(step, model)
                before_step()
                optimizer.step()
        self.save()

    def save(self):
        if self.rank == 0:
            np.savez(f"{self._run}.npz", **self._whole)


def ddp(training):
    """Gradients are averaged over the processes."""
    training.fit(DistributedDataParallel(net()))


def ddp_spare(training):
    """Buffers are broadcast, and a layer has no gradient."""
    training.fit(DistributedDataParallel(Spare(), find_unused_parameters=True))


def ddp_accumulated(training):
    """The first of two micro-batches is not averaged by itself."""
    model = DistributedDataParallel(net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with training.hook():
        for step in range(STEPS):
            optimizer.zero_grad()
            with model.no_sync():
                loss_of(model, batch(2 * step, training.rank)).backward()
            loss_of(model, batch(2 * step + 1, training.rank)).backward()
            optimizer.step()


def sharded(model, **options):
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, **options)
    return fully_shard(model, **options)


def fsdp(training):
    """Each process holds a part of every parameter; an optimizer with a state, and clipping."""
    model = sharded(net())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    training.fit(
        model, optimizer, clip=lambda: nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
    )


def fsdp_mixed(training):
    """Computing in bfloat16, with parameters that stay whole after forward, and evaluations."""
    precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = sharded(net(), mp_policy=precision, reshard_after_forward=False)

    def evaluate():
        with torch.no_grad():
            model(batch(0, 99))

    training.fit(model, before_step=evaluate)


def fsdp_accumulated(training):
    """Parameters stay whole from the first micro-batch to the second."""
    model = sharded(net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with training.hook():
        for step in range(STEPS):
            optimizer.zero_grad()
            for part in range(2):
                last = part == 1
                model.set_requires_gradient_sync(last)
                model.set_reshard_after_backward(last)
                loss_of(model, batch(2 * step + part, training.rank)).backward()
            training.keep(step, model)
            optimizer.step()
    training.save()


def fsdp_stale(training):
    """Nobody zeroes the gradients."""
    model = sharded(net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with training.hook():
        for step in range(STEPS):
            loss_of(model, batch(step, training.rank)).backward()
            optimizer.step()


def hsdp(training):
    """Sharded within groups, and replicated over them."""
    mesh = init_device_mesh("cpu", (2, training.size // 2), mesh_dim_names=("copies", "parts"))
    training.fit(sharded(net(), mesh=mesh))


def tensor_parallel(training):
    """Layers are cut along their columns and rows; all processes see one batch."""
    mesh = init_device_mesh("cpu", (training.size,))
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    torch.manual_seed(0)
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    model = parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    training.sees = 0
    training.fit(model)


def sharded_columns(training):
    """Cut along the columns, and each cut sharded again; for four processes."""
    mesh = init_device_mesh("cpu", (2, training.size // 2), mesh_dim_names=("data", "columns"))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    parallelize_module(model, mesh["columns"], plan)
    fully_shard(model, mesh=mesh["data"])
    training.sees = mesh["data"].get_local_rank()
    training.fit(model)


def partial(training):
    """A sum that no process knows."""
    mesh = init_device_mesh("cpu", (training.size,))
    with training.hook(policy="tensors:raw") as hook:
        hook.save_tensor("sum", DTensor.from_local(torch.ones(3), mesh, [Partial()]))
        hook.save_tensor("known", torch.ones(3))


def main():
    folder = Path(sys.argv[1])
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=size)
    for name in sys.argv[2:]:
        globals()[name](Training(folder, name))
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
