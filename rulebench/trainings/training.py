"""The loop that everybody writes, cut at the points where things go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, Dataset

Batch = tuple[Tensor, Tensor]


class Training:
    """Trains a model for some steps, and evaluates it now and then.

    What differs from training to training is a class attribute, which an option of the same name
    overrides, or a method.

    Args:
        seed: Of everything random.
        options: Class attributes to be set otherwise.

    Raises:
        TypeError: An option that is no attribute.
    """

    #: How many processes train together.
    workers: ClassVar[int] = 1

    steps: int = 300
    batch_size: int = 32
    eval_every: int = 50
    lr: float = 1e-3
    optimizer_class: Callable[..., torch.optim.Optimizer] = torch.optim.Adam
    optimizer_options: Mapping[str, object] = {}
    #: Makes the scheduler of an optimizer; ``None`` for a learning rate that stays.
    schedule: Callable[[torch.optim.Optimizer], LRScheduler] | None = None
    #: The norm to which gradients are clipped; ``None`` for not at all.
    clip_norm: float | None = None
    shuffle: bool = True

    def __init__(self, seed: int = 0, **options: object) -> None:
        self.seed = seed
        for name, value in options.items():
            if not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} has no option {name!r}")
            setattr(self, name, value)
        self.step = 0

    def train(self) -> None:
        """Train from the first step to the last."""
        torch.manual_seed(self.seed)
        self.prepare()
        for step in range(self.steps):
            self.step = step
            self.train_step(*next(self.batches))
            if (self.step + 1) % self.eval_every == 0:
                self.evaluate()

    def prepare(self) -> None:
        """Make all that the loop needs."""
        self.train_data, self.val_data = self.load_data()
        self.batches = self.endless_batches()
        self.model = self.build_model()
        self.optimizer = self.build_optimizer()
        self.scheduler = self.build_scheduler()

    def load_data(self) -> tuple[Dataset[Any], Dataset[Any]]:
        """Return the data to train on and the data to evaluate on."""
        raise NotImplementedError

    def build_model(self) -> nn.Module:
        """Return the model, in training mode."""
        raise NotImplementedError

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of a batch."""
        raise NotImplementedError

    def build_optimizer(self) -> torch.optim.Optimizer:
        """Return the optimizer of the whole model."""
        return self.optimizer_class(self.model.parameters(), lr=self.lr, **self.optimizer_options)

    def build_scheduler(self) -> LRScheduler | None:
        """Return what sets the learning rate, if anything does."""
        return None if self.schedule is None else self.schedule(self.optimizer)

    def build_loader(self) -> DataLoader[Any]:
        """Return the loader of the training data."""
        return DataLoader(
            self.train_data, self.batch_size, shuffle=self.shuffle, drop_last=self.shuffle
        )

    def endless_batches(self) -> Iterator[Batch]:
        """Yield one epoch after the other."""
        loader = self.build_loader()
        while True:
            yield from loader

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        """Train on one batch."""
        self.optimizer.zero_grad()
        loss = self.loss(self.model(inputs), targets)
        loss.backward()
        self.clip_gradients()
        self.optimizer.step()
        self.after_update()

    def clip_gradients(self) -> None:
        """Bound the gradients before the optimizer uses them."""
        if self.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)

    def after_update(self) -> None:
        """Do what comes after the optimizer's step."""
        if self.scheduler is not None:
            self.scheduler.step()

    @torch.no_grad()
    def evaluate(self) -> float:
        """Return the mean loss on the validation data."""
        self.model.eval()
        losses = [
            self.loss(self.model(inputs), targets)
            for inputs, targets in DataLoader(self.val_data, 4 * self.batch_size)
        ]
        self.model.train()
        return float(torch.stack(losses).mean())
