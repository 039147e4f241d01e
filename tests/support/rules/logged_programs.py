"""Trainings that log what they do, rightly and wrongly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR

Log = Callable[[str, float], object]
SIZE = 16


class Case(NamedTuple):
    """A program, what it is to be accused of, if anything, and how severely."""

    program: Callable[[Log], None]
    cause: str | None = None
    severity: str = "warning"


class Regression:
    """A small regression, with micro-batches and evaluations.

    Args:
        parts: Micro-batches a step; each loss is divided by their number.
        evaluate_every: Of so many steps.
        by_hand: The loss is written out, so all that is known of it is what ``backward`` is
            called on.
    """

    def __init__(self, *, parts: int = 1, evaluate_every: int = 20, by_hand: bool = False) -> None:
        torch.manual_seed(0)
        self.parts, self.evaluate_every, self.by_hand = parts, evaluate_every, by_hand
        self.model = nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02)

    def batch(self):
        x = torch.randn(SIZE, 4)
        return x, x.sum(1, keepdim=True) + 0.5 * torch.randn(SIZE, 1)

    def loss(self):
        x, y = self.batch()
        guess = self.model(x)
        return ((guess - y) ** 2).mean() if self.by_hand else F.mse_loss(guess, y)

    def backward(self):
        """Return the losses of all micro-batches."""
        self.optimizer.zero_grad()
        losses = []
        for _ in range(self.parts):
            loss = self.loss()
            (loss / self.parts).backward()
            losses.append(loss.item())
        return losses

    def evaluates(self, step):
        """Evaluate if it is time to; return whether it was."""
        if (step + 1) % self.evaluate_every:
            return False
        with torch.no_grad():
            self.loss()
        return True


def logs(log: Log, value, *, parts=1, steps=100, before=False, by_hand=False):
    """Log ``value(losses of the step)`` at each step.

    Args:
        before: Before the optimizer steps.
        by_hand: See ``Regression``.
    """
    training = Regression(parts=parts, by_hand=by_hand)
    for step in range(steps):
        losses = training.backward()
        if before:
            log("train/loss", value(losses))
        training.optimizer.step()
        if not before:
            log("train/loss", value(losses))
        training.evaluates(step)


def first(losses):
    return losses[0]


def last_divided(losses):
    return losses[-1] / len(losses)


def mean(losses):
    return sum(losses) / len(losses)


def times_batch(losses):
    return losses[-1] * SIZE


def half(losses):
    return losses[-1] / 2


def per_epoch(log: Log, *, divide_by, every=10, steps=100, parts=1, by_hand=False):
    """Log the sum of the losses of an epoch, divided by something; see ``Regression``."""
    training, total = Regression(parts=parts, by_hand=by_hand), 0.0
    for step in range(steps):
        total += sum(training.backward())
        training.optimizer.step()
        if (step + 1) % every == 0:
            log("loss/train", total / divide_by)
            total = 0.0
        training.evaluates(step)


def running(log: Log, *, reset=False, average=False, smooth=0.0, steps=100):
    """Log a sum of losses, an average of them, or one that is smoothed."""
    training, total, count, smoothed = Regression(), 0.0, 0, 0.0
    for step in range(steps):
        loss = training.backward()[0]
        training.optimizer.step()
        total, count = total + loss, count + 1
        smoothed = smooth * smoothed + (1 - smooth) * loss
        log("train_loss", smoothed if smooth else total / count if average else total)
        if training.evaluates(step) and reset:
            total, count = 0.0, 0


def rates(log: Log, *, what="used", steps=100):
    """Log the learning rate that is used, the one to come, or another."""
    training = Regression()
    other = torch.optim.SGD(training.model.parameters(), lr=0.02)
    scheduler = CosineAnnealingLR(other if what == "other" else training.optimizer, T_max=steps)
    for _ in range(steps):
        training.backward()
        if what == "used":
            log("train/lr", training.optimizer.param_groups[0]["lr"])
        training.optimizer.step()
        scheduler.step()
        if what in ("next", "other"):
            log("train/lr", scheduler.get_last_lr()[0])
        elif what == "first":
            log("train/lr", 0.02)


def norm_of(model):
    return nn.utils.get_total_norm([one.grad for one in model.parameters() if one.grad is not None])


def norms(log: Log, *, what="returned", limit=0.1, steps=60):
    """Log the norm that clipping returns, the one that it leaves, or that of no gradients."""
    training = Regression()
    for _ in range(steps):
        training.backward()
        returned = nn.utils.clip_grad_norm_(training.model.parameters(), limit)
        after = norm_of(training.model)
        training.optimizer.step()
        if what == "zeroed":
            training.optimizer.zero_grad(set_to_none=False)
            log("grad_norm", norm_of(training.model).item())
        else:
            log("grad_norm", (returned if what == "returned" else after).item())


def scaled(log: Log, *, unscale, steps=60):
    """Log the norm before or after a gradient scaler has unscaled it."""
    training, scaler = Regression(), torch.amp.GradScaler("cpu", init_scale=128.0)
    for _ in range(steps):
        training.optimizer.zero_grad()
        scaler.scale(training.loss()).backward()
        if unscale:
            scaler.unscale_(training.optimizer)
        log("grad_norm", norm_of(training.model).item())
        scaler.step(training.optimizer)
        scaler.update()


CASES = {
    "divided loss": Case(partial(logs, value=last_divided, parts=4), "divided"),
    "divided loss, logged before": Case(
        partial(logs, value=last_divided, parts=4, before=True), "divided"
    ),
    "summed losses": Case(partial(logs, value=sum, parts=4), "summed"),
    "summed losses of an epoch": Case(partial(per_epoch, divide_by=10, parts=4), "summed"),
    "loss times batch": Case(partial(logs, value=times_batch), "count"),
    "divided by the samples": Case(partial(per_epoch, divide_by=10 * SIZE), "count"),
    "running sum": Case(running, "running"),
    "constant rate": Case(partial(rates, what="first"), "constant"),
    "rate of another optimizer": Case(partial(rates, what="other"), "not_used"),
    "norm of nothing": Case(partial(norms, what="zeroed"), "zero"),
    "norm after clipping": Case(partial(norms, what="after"), "after_clipping", "info"),
    "norm before unscaling": Case(partial(scaled, unscale=False), "scaled"),
    # Right:
    "loss": Case(partial(logs, value=first)),
    "loss, logged before": Case(partial(logs, value=first, before=True)),
    "mean of micro-batches": Case(partial(logs, value=mean, parts=4)),
    "one of the micro-batches": Case(partial(logs, value=first, parts=4)),
    "one of the micro-batches, by hand": Case(partial(logs, value=first, parts=4, by_hand=True)),
    "mean of an epoch of micro-batches, by hand": Case(
        partial(per_epoch, divide_by=40, parts=4, by_hand=True)
    ),
    "half the loss": Case(partial(logs, value=half)),
    "mean of an epoch": Case(partial(per_epoch, divide_by=10)),
    "sum that is set back": Case(partial(running, reset=True)),
    "running average": Case(partial(running, average=True)),
    "smoothed loss": Case(partial(running, smooth=0.9)),
    "rate in use": Case(rates),
    "next rate": Case(partial(rates, what="next")),
    "norm that clipping returns": Case(norms),
    "norm after unscaling": Case(partial(scaled, unscale=True)),
}
