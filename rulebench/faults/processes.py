"""Faults that need two processes, which should agree."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from ..program import faulty
from ..trainings.digits import Digits
from ..trainings.replicas import AveragingReplicas, Replicas
from .flips import flip_exponent_bit


class NotWrapped(Replicas):
    """The model is not wrapped, so nothing is averaged."""

    def build_model(self) -> nn.Module:
        return Digits.build_model(self)


class WrappedButBypassed(Replicas):
    """The loop calls the module inside of the wrapper."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        wrapper, self.model = self.model, self.model.module
        super().train_step(inputs, targets)
        self.model = wrapper


class UnfrozenOnceWrapped(Replicas):
    """A layer is frozen while the model is wrapped, and trained all the same."""

    def build_model(self) -> nn.Module:
        model = Digits.build_model(self)
        model.head.requires_grad_(requires_grad=False)
        wrapper = DistributedDataParallel(model)
        model.head.requires_grad_(requires_grad=True)
        return wrapper


class LayerAfterWrapping(Replicas):
    """A layer is put into the model once that is wrapped."""

    def build_model(self) -> nn.Module:
        wrapper = super().build_model()
        torch.manual_seed(self.seed)
        wrapper.module.activation = nn.Sequential(nn.ReLU(), nn.LayerNorm(self.width))
        return wrapper


class NotBroadcast(AveragingReplicas):
    """Gradients are averaged, but the processes began with other weights."""

    def build_model(self) -> nn.Module:
        torch.manual_seed(self.seed + 100 * self.rank)
        return Digits.build_model(self)


class SameShuffle(Replicas):
    """Every process shuffles with the same seed and takes everything."""

    def build_loader(self) -> DataLoader[Any]:
        generator = torch.Generator().manual_seed(self.seed)
        return DataLoader(self.train_data, self.batch_size, shuffle=True, generator=generator)


class ClipOnOne(Replicas):
    """One process clips."""

    def clip_gradients(self) -> None:
        if self.rank == 1:
            nn.utils.clip_grad_norm_(self.model.parameters(), 0.05)


class RateOnOne(Replicas):
    """One process reads another learning rate from its configuration."""

    def build_optimizer(self) -> torch.optim.Optimizer:
        self.lr = 1.5 * self.lr if self.rank == 1 else self.lr
        return super().build_optimizer()


class SkipsOnOne(Replicas):
    """One process skips the update of one step."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        if self.rank == 1 and self.step == 80:
            self.loss(self.model(inputs), targets).backward()
            self.optimizer.zero_grad()
            return
        super().train_step(inputs, targets)


class FlipOnOne(Replicas):
    """A bit flips in one process."""

    what: str = "weight"
    bit: int = 2

    def clip_gradients(self) -> None:
        if self.rank == 1 and self.step == 100:
            parameter = list(self.model.parameters())[2]
            victims = {"weight": parameter, "gradient": parameter.grad}
            state = self.optimizer.state[parameter]
            flip_exponent_bit({**victims, **state}[self.what], 77, self.bit)


class NanOnOne(Replicas):
    """A nan in the data of one process reaches all by averaging."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        if self.rank == 1 and self.step == 60:
            inputs = inputs.clone()
            inputs[0, 0] = float("nan")
        super().train_step(inputs, targets)


class SlowOne(Replicas):
    """One process is slow, and all wait for it."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        if self.rank == 1:
            time.sleep(0.01)
        super().train_step(inputs, targets)


PROCESSES = (
    faulty("replicas_not_wrapped", "unsynced_replicas", NotWrapped),
    faulty("replicas_bypassed", "unsynced_replicas", WrappedButBypassed),
    faulty("replicas_unfrozen_once_wrapped", "unsynced_replicas", UnfrozenOnceWrapped),
    faulty("replicas_layer_after_wrapping", "unsynced_replicas", LayerAfterWrapping),
    faulty("replicas_not_broadcast", "unsynced_replicas", NotBroadcast),
    faulty("replicas_same_shuffle", "same_data", SameShuffle),
    faulty("replicas_clip_on_one", "unsynced_replicas", ClipOnOne),
    faulty("replicas_rate_on_one", "unsynced_replicas", RateOnOne),
    faulty("replicas_skip_on_one", "rank_corrupted", SkipsOnOne, begins=80),
    faulty("replicas_weight_flips", "rank_corrupted", FlipOnOne, begins=100),
    faulty("replicas_gradient_flips", "rank_corrupted", FlipOnOne, begins=100, what="gradient"),
    faulty("replicas_moment_flips", "rank_corrupted", FlipOnOne, begins=100, what="exp_avg_sq"),
    faulty("replicas_nan_on_one", "non_finite", NanOnOne, begins=60),
    faulty("replicas_slow_one", "straggler", SlowOne),
)
