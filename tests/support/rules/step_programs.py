"""Small trainings whose steps, weights or data go wrong, and the same that do not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.rules.scenarios import Scenario


def points(classes=4, samples=256, seed=0):
    """Return points around one center for each class, and their classes."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, classes, (samples,), generator=generator)
    centers = 2 * torch.randn(classes, 8, generator=generator)
    return centers[labels] + torch.randn(samples, 8, generator=generator), labels


def batches(x, y, steps, size=32, **_):
    """Yield one epoch after the other, in the order of the samples."""
    for step in range(steps):
        at = torch.arange(step * size, (step + 1) * size) % len(x)
        yield x[at], y[at]


def first_only(x, y, steps, **_):
    """Yield the first batch for ever."""
    for _step in range(steps):
        yield x[:32], y[:32]


def everything(x, y, steps, **_):
    """Yield all data at each step."""
    for _step in range(steps):
        yield x, y


def by_class(x, y, steps, **_):
    """Yield sorted data."""
    order = y.argsort()
    yield from batches(x[order], y[order], steps)


def drawn(x, y, steps, size=32, weights=(0.3, 0.7), **_):
    """Yield samples drawn by weights, of which there are fewer than samples."""
    generator = torch.Generator().manual_seed(0)
    for _step in range(steps):
        at = torch.multinomial(torch.as_tensor(weights), size, True, generator=generator)
        yield x[at], y[at]


def rare_class(x, y, steps, **_):
    """Yield as many samples of a class with few samples as of all others."""
    rare = (y == 0).nonzero().ravel()[:6]
    weights = torch.ones(len(y))
    weights[y == 0] = 0.0
    weights[rare] = len(y) / len(rare)
    yield from drawn(x, y, steps, weights=weights)


def by_heart(x, y, steps, **_):
    """Yield the same few samples, each once in a batch, in another order each time."""
    for _step in range(steps):
        at = torch.randperm(8)
        yield x[at], y[at]


def one_class(x, y, steps, **_):
    """Yield labels that are all zero."""
    yield from batches(x, y * 0, steps)


def without_last(x, y, steps, **_):
    """Yield all classes but the last, as of sorted data that was split in order."""
    yield from batches(x[y < 3], y[y < 3], steps)


def tasks(x, y, steps, **_):
    """Yield the first two classes, and then the other two, as where a model learns in tasks."""
    for of_task in (y < 2, y >= 2):
        yield from batches(x[of_task], y[of_task], steps // 2)


def curriculum(x, y, steps, **_):
    """Yield three classes, and all of them from the half on."""
    known = y < 3
    yield from batches(x[known], y[known], steps // 2)
    yield from batches(x, y, steps - steps // 2)


def in_place(x, y, steps, size=32, factor=0.3):
    """Yield batches that are made smaller in place whenever they come."""
    for step in range(steps):
        start = step * size % len(x)
        x[start : start + size] *= factor
        yield x[start : start + size], y[start : start + size]


def _network(normalized, activation):
    first = [nn.BatchNorm1d(8)] if normalized else []
    return nn.Sequential(*first, nn.Linear(8, 16), activation(), nn.Linear(16, 4))


_USUAL = partial(torch.optim.Adam, lr=1e-2)


def _plain(outputs, y):
    return F.cross_entropy(outputs, y)


def negative(outputs, y):
    """Return a loss with a minus too much."""
    return -F.cross_entropy(outputs, y)


def two_ways(outputs, y):
    """Return one loss less a part of another."""
    return F.cross_entropy(outputs, y) - 0.1 * F.mse_loss(outputs, torch.zeros_like(outputs))


def outweighed(outputs, y):
    """Return a loss from which a penalty is taken away that ought to be added."""
    return F.cross_entropy(outputs, y) - 5 * outputs.square().mean()


def policy_gradient(outputs, y):
    """Return a sum over an episode that begins far below 0, as where rewards are negative."""
    logp = outputs.log_softmax(-1)[torch.arange(len(y)), y]
    return (logp * (1 + outputs.detach().mean())).sum()


def with_entropy(outputs, y):
    """Return a loss that is lower where guesses are less certain."""
    entropy = -(outputs.softmax(-1) * outputs.log_softmax(-1)).sum(-1).mean()
    return F.cross_entropy(outputs, y) - 2 * entropy


def trains(
    steps: int = 45,
    data: Callable = batches,
    loss: Callable = _plain,
    optimizer: Callable = _USUAL,
    after: Callable = lambda model, step: None,
    every: int | None = 15,
    brightness: float = 1.0,
    evaluated: float = 1.0,
    normalized: bool = False,
    activation: Callable = nn.ReLU,
) -> None:
    """Train a classifier, and evaluate it on all data, so bright, after ``every`` steps."""
    torch.manual_seed(0)
    x, y = points()
    x = brightness * x
    model = _network(normalized, activation)
    tuned = optimizer(model.parameters())
    for step, (inputs, labels) in enumerate(data(x.clone(), y, steps)):
        tuned.zero_grad()
        loss(model(inputs), labels).backward()
        tuned.step()
        after(model, step)
        if every and step % every == every - 1:
            model.eval()
            with torch.no_grad():
                F.cross_entropy(model(evaluated * x), y)
            model.train()


def logic(steps=180):
    """Train on a table of four rows, drawn with replacement, and evaluate on the table."""
    torch.manual_seed(0)
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = x.sum(1).remainder(2).long()
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
    tuned = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        at = torch.randint(4, (32,))
        tuned.zero_grad()
        F.cross_entropy(model(x[at]), y[at]).backward()
        tuned.step()
        if step % 15 == 14:
            model.eval()
            with torch.no_grad():
                F.cross_entropy(model(x), y)
            model.train()


@torch.no_grad()
def _step_by_hand(model: nn.Module, rate: float) -> None:
    for parameter in model.parameters():
        parameter.add_(parameter.grad, alpha=-rate)
        parameter.grad = None


def clips_by_hand(steps: int = 15) -> None:
    """Train with clipping, and no optimizer: the script updates the parameters itself."""
    torch.manual_seed(0)
    x, y = points()
    model = _network(normalized=False, activation=nn.ReLU)
    for inputs, labels in batches(x, y, steps):
        F.cross_entropy(model(inputs), labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        _step_by_hand(model, 0.1)


def clips(late: bool = False, scaler: bool = False, unscales: bool = True, steps: int = 15) -> None:
    """Train with clipping, before the optimizer's step or after it, of gradients scaled or not."""
    torch.manual_seed(0)
    x, y = points()
    model = _network(normalized=False, activation=nn.ReLU)
    tuned = torch.optim.SGD(model.parameters(), lr=0.01)
    scaling = torch.amp.GradScaler("cpu", init_scale=64.0, enabled=scaler)
    for inputs, labels in batches(x, y, steps):
        tuned.zero_grad()
        scaling.scale(F.cross_entropy(model(inputs), labels)).backward()
        if unscales:
            scaling.unscale_(tuned)
        if late:
            scaling.step(tuned)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        if not late:
            scaling.step(tuned)
        scaling.update()


class Averaged:
    """Keeps a running average, and puts it into the model at step 40."""

    def __init__(self, taken_out: bool) -> None:
        self.taken_out = taken_out
        self.average: dict[str, torch.Tensor] = {}

    @torch.no_grad()
    def __call__(self, model: nn.Module, step: int) -> None:
        for name, value in model.state_dict().items():
            self.average.setdefault(name, value.clone()).lerp_(value, 0.03)
        if step == 40:
            weights = {name: value.clone() for name, value in model.state_dict().items()}
            model.load_state_dict(self.average)
            if self.taken_out:
                model.load_state_dict(weights)


def averaged(taken_out, steps=45):
    """Evaluate with averaged weights, and take them out again or not."""
    trains(steps, after=Averaged(taken_out))


class LookingAhead:
    """Goes back half of the way every few steps."""

    def __init__(self) -> None:
        self.slow: list[torch.Tensor] = []

    @torch.no_grad()
    def __call__(self, model: nn.Module, step: int) -> None:
        self.slow = self.slow or [parameter.clone() for parameter in model.parameters()]
        if step % 5 == 4:
            for slow, fast in zip(self.slow, model.parameters(), strict=True):
                fast.copy_(slow.lerp_(fast, 0.5))


def looking_ahead(steps=60):
    """Lookahead."""
    trains(steps, after=LookingAhead())


@torch.no_grad()
def flip(model, step):
    """Flip a bit of the exponent of one weight at step 40."""
    if step == 40:
        model[2].weight.view(torch.int32).view(-1)[3] ^= 1 << 30


def blocks(frozen=(), from_step=0, until=None, adapters=False, steps=30):
    """Train three blocks of which some are frozen, and a head; the optimizer holds everything."""
    torch.manual_seed(0)
    x, y = points()
    width = 8
    model = nn.ModuleDict(
        {
            "blocks": nn.ModuleList(
                nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(3)
            ),
            "head": nn.Linear(width, 4),
        }
    )
    stack = _Stack(model)
    optimizer = torch.optim.Adam(stack.parameters(), lr=1e-2)
    for step, (inputs, labels) in enumerate(batches(x, y, steps)):
        is_frozen = step >= from_step and (until is None or step < until)
        for index in frozen:
            model["blocks"][index].requires_grad_(not is_frozen)
        if adapters:
            for block in model["blocks"]:
                block[0].weight.requires_grad_(False)
        optimizer.zero_grad()
        F.cross_entropy(stack(inputs), labels).backward()
        optimizer.step()


class _Stack(nn.Module):
    def __init__(self, parts: nn.ModuleDict) -> None:
        super().__init__()
        self.blocks, self.head = parts["blocks"], parts["head"]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def _adam(**options):
    return partial(torch.optim.Adam, **options)


def _adamw(**options):
    return partial(torch.optim.AdamW, **options)


STEPS = [
    Scenario("weights_moved", partial(averaged, taken_out=False), True),
    Scenario("weights_moved", partial(averaged, taken_out=True), False),
    Scenario("weights_moved", partial(trains, after=flip), True),
    Scenario("weights_moved", looking_ahead, False),
    Scenario("weights_moved", partial(trains, 60, optimizer=partial(torch.optim.SGD, lr=0.1)),
             False),
    Scenario("step_size:num_steps=30", partial(trains, optimizer=_adam(lr=3.0)), True),
    Scenario("step_size:num_steps=30", trains, False),
    Scenario("step_size:num_steps=30", partial(trains, optimizer=_adam(lr=1e-8)), True),
    Scenario("step_size:num_steps=30", partial(trains, optimizer=_adamw(lr=1e-2, weight_decay=10)),
             True),
    Scenario("step_size:num_steps=30", partial(trains, optimizer=_adamw(lr=1e-2)), False),
    Scenario("step_size:num_steps=30", partial(trains, optimizer=_adam(lr=1e-4)), False),
    Scenario("loss_direction", partial(trains, loss=negative), True),
    Scenario("loss_direction", trains, False),
    Scenario("loss_direction", partial(trains, loss=outweighed), True),
    Scenario("loss_direction", partial(trains, loss=with_entropy), False),
    Scenario("loss_direction", partial(trains, 10, loss=policy_gradient), False),
    Scenario("loss_direction", partial(trains, loss=two_ways), False),
    Scenario("repeated_data", partial(trains, data=first_only), True),
    Scenario("repeated_data", partial(trains, data=everything), False),
    Scenario("repeated_data", partial(trains, 120, data=by_class, every=None), True),
    Scenario("repeated_data", partial(trains, 120, data=one_class, every=None), True),
    Scenario("repeated_data", partial(trains, 180, data=drawn), True),
    Scenario("repeated_data", partial(trains, 180, data=rare_class), False),
    Scenario("repeated_data", partial(trains, 180, data=by_heart), False),
    Scenario("repeated_data", partial(trains, 120, data=without_last), True),
    Scenario("repeated_data", partial(trains, 120, data=tasks), False),
    Scenario("repeated_data", logic, False),
    Scenario("repeated_data", partial(trains, 120), False),
    Scenario("repeated_data", partial(trains, 120, data=curriculum), False),
    Scenario("repeated_data", partial(trains, data=first_only, every=None), False),
    Scenario("input_drift:consecutive=5", partial(trains, data=in_place), True),
    Scenario("input_drift:consecutive=5", trains, False),
    Scenario("input_drift:consecutive=5", partial(trains, data=partial(in_place, factor=3.0)),
             True),
    Scenario("input_drift", partial(trains, every=5, evaluated=3.0), True),
    Scenario("input_drift", partial(trains, every=5, evaluated=1.5), False),
    Scenario("gradient_clipping", partial(clips, late=True), True),
    Scenario("gradient_clipping", clips, False),
    Scenario("gradient_clipping", partial(clips, scaler=True, unscales=False), True),
    Scenario("gradient_clipping", partial(clips, scaler=True), False),
    Scenario("input_scale", partial(trains, brightness=100.0, steps=5), True),
    Scenario("input_scale", partial(trains, brightness=100.0, normalized=True, steps=5), False),
    Scenario("input_scale", partial(trains, steps=5), False),
    Scenario("input_scale", partial(trains, brightness=100.0, activation=nn.Tanh, steps=5), True),
    Scenario("input_scale", partial(trains, activation=nn.Tanh, steps=5), False),
    Scenario("untrained_parameter", partial(blocks, frozen=(1,)), True),
    Scenario("untrained_parameter", partial(blocks, frozen=(0, 1)), False),
    Scenario("untrained_parameter", partial(blocks, frozen=(0, 1, 2), from_step=12), True),
    Scenario("untrained_parameter", partial(blocks, frozen=(0, 1, 2), from_step=12, until=18),
             False),
    Scenario("untrained_parameter", partial(blocks, adapters=True), False),
]  # fmt: skip
