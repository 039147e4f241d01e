"""The three trainings whose cost is measured, and one step of each.

Imports torch and nothing of ours: the real smdebug's environment trains the same models.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  (what everybody calls it)
from torch import nn
from torch._dynamo import config, utils

sys.path.insert(0, str(Path(__file__).parents[1] / "demo"))
from char_gpt import CHARACTERS, GPT, load_text, sample_batch

Batch = tuple[torch.Tensor, torch.Tensor]
Loss = Callable[[Callable[..., Any], Batch], torch.Tensor]


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut, as in ResNet-18.

    Args:
        channels_in: Channels that come.
        channels: Channels that leave.
        stride: Of the first convolution, and of the shortcut.
    """

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU()
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels:
            convolution = nn.Conv2d(channels_in, channels, 1, stride, bias=False)
            self.shortcut = nn.Sequential(convolution, nn.BatchNorm2d(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        added: torch.Tensor = self.relu(self.bn2(self.conv2(y)) + self.shortcut(x))
        return added


class ResNet18(nn.Module):
    """ResNet-18 with the stem that is usual for 32x32 images: 3x3, stride 1, no pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU()
        widths = ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))
        self.layers = nn.Sequential(
            *(
                nn.Sequential(ResidualBlock(before, width, stride), ResidualBlock(width, width, 1))
                for before, width, stride in widths
            )
        )
        self.fc = nn.Linear(512, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits ``[batch, 10]`` of images ``[batch, 3, 32, 32]``."""
        x = self.layers(self.relu(self.bn1(self.conv1(x))))
        logits: torch.Tensor = self.fc(x.mean((2, 3)))
        return logits


class MLP(nn.Module):
    """Three linear layers over images of 28x28."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(28 * 28, 512)
        self.fc2 = nn.Linear(512, 512)
        self.fc3 = nn.Linear(512, 10)
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits ``[batch, 10]`` of images ``[batch, 1, 28, 28]``."""
        x = self.relu(self.fc1(x.flatten(1)))
        logits: torch.Tensor = self.fc3(self.relu(self.fc2(x)))
        return logits


def noise(shape: tuple[int, ...]) -> Iterator[Batch]:
    """Yield batches of noise with one of ten classes each; to time a step it need not learn."""
    generator = torch.Generator().manual_seed(1)
    while True:
        classes = torch.randint(10, shape[:1], generator=generator)
        yield torch.randn(shape, generator=generator), classes


def text() -> Iterator[Batch]:
    """Yield 8 stretches of 128 characters, and the same one character later."""
    generator = torch.Generator().manual_seed(1)
    tokens, _ = load_text()
    while True:
        yield sample_batch(tokens, 8, 128, generator)


def loss_of_classes(forward: Callable[..., Any], batch: Batch) -> torch.Tensor:
    return F.cross_entropy(forward(batch[0]), batch[1])


def loss_of_text(forward: Callable[..., Any], batch: Batch) -> torch.Tensor:
    loss: torch.Tensor = forward(*batch)[1]
    return loss


def adamw(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=3e-4)


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


@dataclass(frozen=True)
class Kind:
    """A training that can be made again and again.

    Args:
        title: What it is, in a few words.
        build: Makes the model.
        batches: Yields what it is trained on.
        loss: Runs it on a batch and returns the loss.
        optimizer: Makes what updates it.
        rush: How many of its steps take the time of one of the others; so many more are timed.
    """

    title: str
    build: Callable[[], nn.Module]
    batches: Callable[[], Iterator[Batch]]
    loss: Loss
    optimizer: Callable[[nn.Module], torch.optim.Optimizer]
    rush: int = 1


KINDS = {
    "mlp": Kind(
        "MLP 784-512-512-10, batch 128 of 28x28, AdamW",
        MLP,
        lambda: noise((128, 1, 28, 28)),
        loss_of_classes,
        adamw,
        rush=10,
    ),
    "resnet": Kind(
        "ResNet-18, batch 32 of 3x32x32, SGD with momentum",
        ResNet18,
        lambda: noise((32, 3, 32, 32)),
        loss_of_classes,
        sgd,
    ),
    "gpt": Kind(
        "GPT d=256, 6 layers, batch 8x128, AdamW",
        lambda: GPT(len(CHARACTERS), block=128, d_model=256, layers=6, heads=8),
        text,
        loss_of_text,
        adamw,
    ),
}


class Training:
    """A model of its own, always from the same seed, trained one step at a time.

    Args:
        kind: A key of ``KINDS``.
        compiled: Whether ``torch.compile`` stands before the model.
    """

    def __init__(self, kind: str, *, compiled: bool = False) -> None:
        torch.manual_seed(0)
        what = KINDS[kind]
        self.model = what.build()
        self.optimizer = what.optimizer(self.model)
        self._loss = what.loss
        self._batches = what.batches()
        self._forward: Callable[..., Any] = self.model
        if compiled:
            have_own_code(self.model)
            self._forward = torch.compile(self.model)

    def step(self) -> float:
        """Train one step and return how many seconds it took; to make the batch is not part."""
        batch = next(self._batches)
        begin = time.perf_counter()
        self.optimizer.zero_grad()
        self._loss(self._forward, batch).backward()
        self.optimizer.step()
        self.after_step()
        return time.perf_counter() - begin

    def after_step(self) -> None:
        """Do what the script itself does with a step; nothing here."""


def have_own_code(model: nn.Module) -> None:
    """Give a model a ``forward`` that shares no code object with others of its class.

    What the compiler made, and how often it did, is kept by code object: else a model that is
    watched would run what was compiled for one that is not.
    """
    kind = type(model)
    forward = kind.forward
    own = FunctionType(
        forward.__code__.replace(),
        forward.__globals__,
        forward.__name__,
        forward.__defaults__,
        forward.__closure__,
    )
    own.__kwdefaults__ = forward.__kwdefaults__
    model.__class__ = type(kind.__name__, (kind,), {"forward": own, "__module__": kind.__module__})


def num_compiled() -> int:
    """Return how many functions the compiler has taken on so far."""
    return int(utils.counters["frames"]["total"])


def let_all_compile() -> None:
    """Let each way compile a model of its own; the limit is meant for one model that changes."""
    config.recompile_limit = config.accumulated_recompile_limit = 1000
