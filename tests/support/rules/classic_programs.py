"""Training programs for the rules of SageMaker Debugger, as a user would write them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import nn


def _fit(
    model: nn.Module,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    *,
    lr: float,
    steps: int,
    loss: nn.Module,
) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model(inputs), targets).backward()
        optimizer.step()


def mlp(
    *, lr: float = 0.01, std: float | None = None, bias: float | None = None, steps: int = 12,
    frozen: bool = False, functional: bool = False,
) -> None:  # fmt: skip
    """One hidden layer of ReLUs on normal inputs, whose weights or biases start elsewhere."""
    torch.manual_seed(0)
    x = torch.randn(256, 16)
    model = FunctionalMLP() if functional else nn.Sequential(
        nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)
    )  # fmt: skip
    first = next(module for module in model.modules() if isinstance(module, nn.Linear))
    if std is not None:
        nn.init.normal_(first.weight, std=std)
    if bias is not None:
        nn.init.constant_(first.bias, bias)
    if frozen:
        first.requires_grad_(False)
    _fit(model, x, x[:, :1], lr=lr, steps=steps, loss=nn.MSELoss())


class FunctionalMLP(nn.Module):
    """The same, with the function instead of the module."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.out = nn.Linear(16, 64), nn.Linear(64, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(nn.functional.relu(self.hidden(x)))


def bounded(*, scale: float, activation: Callable[[], nn.Module] = nn.Tanh) -> None:
    """A hidden layer of tanh or sigmoid, on inputs of this size."""
    torch.manual_seed(0)
    x = torch.randn(256, 16)
    model = nn.Sequential(nn.Linear(16, 64), activation(), nn.Linear(64, 1))
    _fit(model, x * scale, x[:, :1], lr=0.01, steps=12, loss=nn.MSELoss())


def deep(init: str) -> None:
    """Six ReLU layers of 256 units, that learn to tell four classes."""
    torch.manual_seed(0)
    x = torch.randn(256, 32)
    labels = (x @ torch.randn(32, 4)).argmax(1)
    sizes = [32, *[256] * 6]
    layers = [part for pair in pairwise(sizes)
              for part in (nn.Linear(*pair), nn.ReLU())]  # fmt: skip
    model = nn.Sequential(*layers, nn.Linear(256, 4))
    for module in model:
        if isinstance(module, nn.Linear) and init != "default":
            nn.init.zeros_(module.bias)
            {
                "kaiming": nn.init.kaiming_normal_,
                "tiny": lambda weight: nn.init.normal_(weight, std=1e-3),
                "constant": lambda weight: nn.init.constant_(weight, 0.01),
            }[init](module.weight)
    _fit(model, x, labels, lr=0.1, steps=12, loss=nn.CrossEntropyLoss())


def classes(*, counts: tuple[int, ...], taken_for: dict[int, int] | None = None) -> None:
    """A model that knows all classes but those that it takes for others."""
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    model = nn.Linear(len(counts), len(counts), bias=False)
    answers = [(taken_for or {}).get(label, label) for label in range(len(counts))]
    with torch.no_grad():
        model.weight.copy_(10 * torch.eye(len(counts))[answers].T)
    x = torch.eye(len(counts))[labels]
    _fit(model, x, labels, lr=0.0, steps=12, loss=nn.CrossEntropyLoss())


def images(*, standardized: bool, scale: float = 1.0) -> None:
    """A convolution over 600 images of uniform noise."""
    torch.manual_seed(0)
    x = scale * torch.rand(600, 3, 8, 8)
    if standardized:
        x = (x - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), keepdim=True)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 2))
    _fit(model, x, torch.zeros(600, 2), lr=1e-4, steps=3, loss=nn.MSELoss())


def padded(*, share: float) -> None:
    """Sequences of which this share is padding."""
    torch.manual_seed(0)
    ids = torch.randint(1, 50, (32, 40))
    ids[:, : int(40 * share)] = 0
    model = nn.Sequential(nn.Embedding(50, 8), nn.Flatten(), nn.Linear(320, 2))
    _fit(model, ids, torch.zeros(32, 2), lr=1e-2, steps=3, loss=nn.MSELoss())


def seeded(seed: int) -> None:
    """A small network of which everything comes from one seed."""
    torch.manual_seed(seed)
    x = torch.randn(64, 16)
    model = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))
    _fit(model, x, x[:, :1], lr=0.01, steps=8, loss=nn.MSELoss())
