"""Training programs, good and bad, as a user would write them: no line about Stepwatch.

Each function is a whole program; ``scenarios`` says which rule must or must not speak up.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


def _normal(*shape: int) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(*shape)


def _stack(activation: Callable[[], nn.Module], layers: int) -> nn.Module:
    torch.manual_seed(0)
    hidden: list[nn.Module] = [nn.Linear(16, 32), activation()]
    for _ in range(layers - 1):
        hidden += [nn.Linear(32, 32), activation()]
    return nn.Sequential(*hidden, nn.Linear(32, 1))


def _fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    *,
    steps: int,
    loss: nn.Module | None = None,
    clip: float | None = None,
    batch: int | None = None,
    before_step: Callable[[int], None] = lambda step: None,
) -> None:
    loss = loss or nn.MSELoss()
    for step in range(steps):
        before_step(step)
        chosen = slice(None) if batch is None else torch.randint(len(inputs), (batch,))
        optimizer.zero_grad()
        loss(model(inputs[chosen]), targets[chosen]).backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()


def deep_sigmoid() -> None:
    """Twenty sigmoids in a row: hardly any gradient reaches the first layers."""
    model = _stack(nn.Sigmoid, 20)
    x = _normal(64, 16)
    _fit(model, torch.optim.SGD(model.parameters(), lr=0.01), x, x.mean(1, keepdim=True), steps=12)


def four_relus() -> None:
    model = _stack(nn.ReLU, 4)
    x = _normal(64, 16)
    _fit(model, torch.optim.SGD(model.parameters(), lr=0.01), x, x.mean(1, keepdim=True), steps=12)


def linear_regression(*, lr: float, steps: int = 60, noise: float = 0.0) -> None:
    """Eight features, plain gradient descent on all samples."""
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    y = x @ torch.randn(8, 1) + noise * torch.randn(64, 1)
    model = nn.Linear(8, 1)
    _fit(model, torch.optim.SGD(model.parameters(), lr=lr), x, y, steps=steps)


def zero_weight(*, zero: bool) -> None:
    """A hidden layer whose weights start at zero, or as usual."""
    model = _stack(nn.ReLU, 2)
    if zero:
        nn.init.zeros_(model[2].weight)
        nn.init.zeros_(model[2].bias)
    x = _normal(64, 16)
    _fit(model, torch.optim.SGD(model.parameters(), lr=0.0), x, x[:, :1], steps=25)


class _WithBias(nn.Linear):
    """A layer that also returns its bias of positions, as attention of T5 does; it has none."""

    def forward(self, given: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = super().forward(given)
        return found, torch.zeros(len(found), 1)


class _BetweenTuples(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(16, 32), nn.Linear(32, 1)
        self.attention = _WithBias(32, 32)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        found, bias = self.attention(self.first(given))
        return torch.as_tensor(self.last(found + bias))


def returns_a_tuple(*, zero: bool) -> None:
    """A layer that also returns zeros by design, and whose weights are zero or not."""
    model, rate = _BetweenTuples(), 0.0 if zero else 0.01
    if zero:
        nn.init.zeros_(model.attention.weight)
        nn.init.zeros_(model.attention.bias)
    x = _normal(64, 16)
    _fit(model, torch.optim.SGD(model.parameters(), lr=rate), x, x[:, :1], steps=25)


def random_labels() -> None:
    """A wide network learns by heart what cannot be learned."""
    torch.manual_seed(0)
    train, validation = torch.randn(32, 20), torch.randn(256, 20)
    model = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 1))
    labels = torch.randint(0, 2, (32, 1)).float(), torch.randint(0, 2, (256, 1)).float()
    _rounds(model, (train, labels[0]), (validation, labels[1]), rounds=12, lr=1e-2)


def true_labels() -> None:
    """A small network learns a linear function from many samples."""
    torch.manual_seed(0)
    x = torch.randn(5120, 20)
    y = ((x @ torch.randn(20, 1)) > 0).float()
    model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 1))
    _rounds(model, (x[:4096], y[:4096]), (x[4096:], y[4096:]), rounds=10, lr=1e-2)


def _rounds(
    model: nn.Module,
    train: tuple[torch.Tensor, torch.Tensor],
    validation: tuple[torch.Tensor, torch.Tensor],
    *,
    rounds: int,
    lr: float,
) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    loss = nn.BCEWithLogitsLoss()
    for _ in range(rounds):
        model.train()
        _fit(model, optimizer, *train, steps=5, loss=loss)
        model.eval()
        with torch.no_grad():
            loss(model(validation[0]), validation[1])


class LogBlock(nn.Module):
    """A linear layer between two logarithms, which a negative number does not survive."""

    def __init__(self, *, broken: bool) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.out = nn.Linear(8, 8)
        self.broken = broken

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.fc(x)
        hidden = torch.log(hidden) if self.broken else torch.tanh(hidden)
        return self.out(hidden)


class Blocks(nn.Module):
    """Six blocks, of which one may be broken."""

    def __init__(self, broken: int | None) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(LogBlock(broken=index == broken) for index in range(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def log_of_negative(*, broken: int | None) -> None:
    torch.manual_seed(0)
    model = Blocks(broken)
    x = _normal(16, 8)
    _fit(model, torch.optim.SGD(model.parameters(), lr=0.01), x, x, steps=4)


def nan_in_data() -> None:
    """One sample of the third batch is nan."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    x = _normal(16, 8)

    def spoil(step: int) -> None:
        if step == 2:
            x[3, 5] = torch.nan

    _fit(model, torch.optim.SGD(model.parameters(), lr=0.01), x, _normal(16, 1), steps=5,
         before_step=spoil)  # fmt: skip


class SquareRootNorm(nn.Module):
    """The length of a vector, whose derivative at zero is 0/0."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * x).sum(1, keepdim=True).sqrt()


def nan_in_backward() -> None:
    """The forward pass is finite; the derivative of a square root at zero is not."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4, bias=False),
                          SquareRootNorm(), nn.Linear(1, 1))  # fmt: skip
    with torch.no_grad():
        model[2].weight.zero_()
    x = _normal(16, 8)
    _fit(model, torch.optim.SGD(model.parameters(), lr=0.01), x, _normal(16, 1), steps=3)


class Scores(nn.Module):
    """Attention scores, minus infinity where the future is."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = x @ x.transpose(1, 2)
        future = torch.full(scores.shape[1:], -torch.inf).triu(1)
        return scores + future


class Attention(nn.Module):
    """One head of causal attention, its masked scores in a module of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(8, 8)
        self.scores = Scores()
        self.out = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.project(x)
        return self.out(self.scores(hidden).softmax(-1) @ hidden)


def masked_attention() -> None:
    torch.manual_seed(0)
    model = Attention()
    x = _normal(4, 6, 8)
    _fit(model, torch.optim.SGD(model.parameters(), lr=0.01), x, x, steps=5)


def noisy_regression(*, spoiled_at: int | None = None, by: float = 30.0, clip: float | None = None,
                     steps: int = 320, growing: bool = False) -> None:  # fmt: skip
    """Batches of a noisy linear problem; one batch may be scaled, or the loss may grow."""
    torch.manual_seed(0)
    weights = torch.randn(8, 1)
    x = torch.randn(4096, 8)
    y = x @ weights + torch.randn(4096, 1)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0 if growing else 0.01)
    loss = nn.MSELoss()
    for step in range(steps):
        chosen = torch.randint(len(x), (64,))
        targets = y[chosen]
        if step == spoiled_at:
            targets = targets * by
        scale = 1.02 ** max(0, step - steps * 3 // 4) if growing else 1.0
        optimizer.zero_grad()
        (scale * loss(model(x[chosen]), targets)).backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()


class Classifier(nn.Module):
    """A backbone, a head, and a layer that may be left out."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Linear(8, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.backbone(x)))


def replaced_head() -> None:
    """The head is replaced after the optimizer was created."""
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.head = nn.Linear(16, 1)
    x = _normal(32, 8)
    _fit(model, optimizer, x, x[:, :1], steps=15)


def frozen_backbone() -> None:
    torch.manual_seed(0)
    model = Classifier()
    model.backbone.requires_grad_(False)
    optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-3)
    x = _normal(32, 8)
    _fit(model, optimizer, x, x.mean(1, keepdim=True), steps=15)


def unused_layer() -> None:
    torch.manual_seed(0)
    model = Classifier()
    model.extra = nn.Linear(16, 16)
    x = _normal(32, 8)
    _fit(model, torch.optim.Adam(model.parameters(), lr=1e-3), x, x[:, :1], steps=15)


def two_optimizers() -> None:
    """The head is in both optimizers."""
    torch.manual_seed(0)
    model = Classifier()
    everything = torch.optim.SGD(model.parameters(), lr=1e-3)
    again = torch.optim.SGD(model.head.parameters(), lr=1e-3)
    loss, x = nn.MSELoss(), _normal(32, 8)
    for _ in range(15):
        everything.zero_grad()
        loss(model(x), x[:, :1]).backward()
        everything.step()
        again.step()


def zero_learning_rate_group() -> None:
    torch.manual_seed(0)
    model = Classifier()
    groups = [{"params": model.backbone.parameters(), "lr": 0.0},
              {"params": model.head.parameters()}]  # fmt: skip
    x = _normal(32, 8)
    _fit(model, torch.optim.SGD(groups, lr=1e-2), x, x[:, :1], steps=15)


def no_zero_grad() -> None:
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    loss, x = nn.MSELoss(), _normal(32, 8)
    for _ in range(15):
        loss(model(x), x[:, :1]).backward()
        optimizer.step()


def accumulated() -> None:
    """Four micro-batches for each optimizer step, which is no missing zero_grad."""
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    loss, x = nn.MSELoss(), _normal(32, 8)
    for _ in range(15):
        for part in x.split(8):
            (loss(model(part), part[:, :1]) / 4).backward()
        optimizer.step()
        optimizer.zero_grad()


def small_classifier() -> None:
    """What a healthy small script looks like: mini-batches, Adam, validation each epoch."""
    torch.manual_seed(0)
    centers = 2 * torch.randn(4, 16)
    labels = torch.randint(0, 4, (1200,))
    x = centers[labels] + torch.randn(1200, 16)
    model = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1),
                          nn.Linear(32, 4))  # fmt: skip
    optimizer, loss = torch.optim.Adam(model.parameters(), lr=3e-3), nn.CrossEntropyLoss()
    for _ in range(10):
        model.train()
        for batch in torch.randperm(1000).split(25):
            optimizer.zero_grad()
            loss(model(x[batch]), labels[batch]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            loss(model(x[1000:]), labels[1000:])
