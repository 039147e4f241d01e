"""Two processes train one model: each on its share of the data, with averaged gradients."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from .digits import Digits


class Replicas(Digits):
    """Digits, by two processes that hold the same weights at every step."""

    workers = 2
    steps = 200
    eval_every = 100

    @property
    def rank(self) -> int:
        """Which of the processes this is."""
        return dist.get_rank()

    def build_model(self) -> nn.Module:
        return DistributedDataParallel(super().build_model())

    def build_loader(self) -> DataLoader[Any]:
        self.sampler = DistributedSampler(self.train_data, shuffle=True, seed=self.seed)
        return DataLoader(self.train_data, self.batch_size, sampler=self.sampler, drop_last=True)


class AveragingReplicas(Replicas):
    """The same, with gradients that the script averages itself."""

    def build_model(self) -> nn.Module:
        model = Digits.build_model(self)
        for parameter in model.parameters():
            dist.broadcast(parameter.data, src=0)
        return model

    def clip_gradients(self) -> None:
        self.average_gradients()
        super().clip_gradients()

    def average_gradients(self) -> None:
        """Make the gradients of all processes their mean."""
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()


class LocalSteps(AveragingReplicas):
    """Each process trains by itself, and every so many steps the parameters are averaged."""

    period: int = 8

    def average_gradients(self) -> None:
        """Leave the gradients as they are."""

    def after_update(self) -> None:
        super().after_update()
        if self.step % self.period == self.period - 1:
            for parameter in self.model.parameters():
                dist.all_reduce(parameter.data)
                parameter.data /= dist.get_world_size()


def join(rank: int, workers: int, meeting_file: str) -> None:
    """Join the other processes of a training."""
    dist.init_process_group(
        "gloo", init_method=f"file://{meeting_file}", rank=rank, world_size=workers
    )
    torch.set_num_threads(1)


def leave() -> None:
    """Part from the other processes."""
    dist.destroy_process_group()
