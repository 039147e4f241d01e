"""Whether a diffusion model is given the noise that it is to predict, as much as it should be.

What it is given at step ``t`` is ``sqrt(a[t]) * x0 + sqrt(1 - a[t]) * noise``. There ``a`` is the
cumulative product of what each step keeps; with that of one step there is hardly any noise at any
``t``, and a sampler begins with what the model has never seen; and where ``x0`` and ``noise`` have
changed places, there is most of it at the first steps. All of it are variables of the script, so
that an equation holds for some of them, to the last digits. And noise that does not correlate with
what the model is given is not in it: it was drawn apart. What is added as noise, and is drawn
evenly from 0 to 1, has a mean of 1/2, which no sampler begins with.

A sampler that takes off as much noise as it should gives the model at step ``t`` what it was given
there in training. So both are of the same size, whatever the schedule and what is predicted.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import torch

from ....capture.open_step import OpenStep
from ....model.steps import Mode
from ...script import script_variables
from ..events import LossCall
from ..internals import call_keywords, isolated_compute
from ..observe import Observer
from ..tensors import readable, tensors_in

_COLLECTION, _SAMPLED = "setup", "evaluations"
#: So many calls of models and losses are looked at, and the equation must hold at so many.
_MOST_CALLS, _MOST_LOOKS, _LEAST_HELD = 64, 16, 3
#: Of a batch so many samples are looked at, if they are not larger; a schedule has so many steps.
_MOST_SAMPLES, _MOST_ELEMENTS, _LEAST_STEPS, _MOST_STEPS = 32, 1 << 20, 20, 10_000
#: Numbers are equal within this part of their size.
_EQUAL = 1e-4
#: Of so many numbers mean and standard deviation tell noise; those of other noise do not correlate
#: by more than so many standard errors.
_LEAST_NUMBERS, _AS_NORMAL, _BY_CHANCE = 64, 0.2, 3.0
#: Numbers that are drawn evenly have such a mean and variance within so many standard errors.
_AS_UNIFORM = 4.0
#: The size of so many samples of a batch, and of so many in all, is known by their steps; that of
#: so many of the nearest steps is compared with what is sampled.
_MOST_SIZES, _ALL_SIZES, _NEAREST = 256, 4096, 64
#: These are no further away than this part of all steps.
_NEAR = 0.1
#: A model has learnt what it predicts where it is left with less than this of its mean square.
_LEARNT = 0.7
_REGRESSIONS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


class NoiseLevels:
    """Observes it in the collection ``setup``, of models that train; on the host only."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._num_calls = self._num_looks = 0
        # What a model was given in this step, with the numbers that may be steps of a schedule.
        self._given: tuple[torch.Tensor, torch.Tensor] | None = None
        self._is_listening = False
        # How often an equation held that should not, by what was wrong and the names of schedules.
        self._held: dict[str, int] = {}
        # At how many looks the target of each loss was noise, and how often the model had it.
        self._drawn: dict[str, tuple[int, int]] = {}
        # Of samples that a model was given in training, all of one shape, step and mean square.
        self._sizes: deque[tuple[float, float]] = deque(maxlen=_ALL_SIZES)
        self._shape: torch.Size | None = None
        # What is left of the mean square of what was to be predicted last.
        self._left = math.inf

    def begin(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:  # noqa: ARG002
        """A model begins to run."""
        self._given, self._is_listening = None, False
        if (
            step.mode is Mode.EVAL
            and self._left < _LEARNT
            and self._look((inputs, call_keywords()))
        ):
            self._sampled(step)
        is_over = self._num_calls >= _MOST_CALLS or self._num_looks >= _MOST_LOOKS
        if step.mode is not Mode.TRAIN or is_over:
            return
        self._num_calls += 1
        self._is_listening = not self._look((inputs, call_keywords()))

    def listens(self, step: OpenStep) -> bool:
        """Return whether the part of a model is looked for that is given noise and its step."""
        return step.mode is Mode.TRAIN and self._is_listening

    def returned(
        self,
        step: OpenStep,  # noqa: ARG002
        module: torch.nn.Module,  # noqa: ARG002
        name: str,  # noqa: ARG002
        given: object,
        output: object,  # noqa: ARG002
    ) -> None:
        """A part of a model returned."""
        if self._is_listening:
            self._is_listening = not self._look(given)

    def _look(self, inputs: object) -> bool:
        """Remember samples and as many steps, if these are what something is given."""
        given = [readable(one) for _, one in tensors_in(inputs)]
        known = [one for one in given if one is not None and one.is_cpu]
        noisy = [one for one in known if one.dim() > 1 and one.is_floating_point()]
        if len(noisy) > 1:  # steps may be a column
            noisy = [one for one in noisy if one.numel() > len(one)]
        if len(noisy) == 1 and noisy[0][:_MOST_SAMPLES].numel() <= _MOST_ELEMENTS:
            sizes = (len(noisy[0]),) if torch.is_grad_enabled() else (len(noisy[0]), 1)
            steps = [one for one in known if one is not noisy[0]]
            if len(steps) == 1 and steps[0].numel() in sizes:
                self._given = noisy[0].detach(), steps[0].detach().reshape(-1)
        return self._given is not None

    def _sampled(self, step: OpenStep) -> None:
        """Observe how large is what a sampler gives a model, relative to training at that step."""
        given, self._given = self._given, None
        if given is None or given[0].shape[1:] != self._shape or not step.wants(_SAMPLED):
            return
        noisy, steps = given
        at = float(steps[0])
        if len(self._sizes) < _NEAREST or not bool((steps == at).all()):
            return
        nearest = sorted(self._sizes, key=lambda one: abs(one[0] - at))[:_NEAREST]
        if abs(nearest[-1][0] - at) > _NEAR * _width(self._sizes):
            return
        expected = sum(size for _, size in nearest) / len(nearest)
        with isolated_compute("cpu"):
            found = float(noisy.double().square().mean())
        if math.isfinite(found) and expected > 0:
            sizes = {"evaluation/sampled_size": math.sqrt(found / expected)}
            self._observer.numbers(step, sizes, _SAMPLED)

    def observe(self, step: OpenStep, loss: str, value: torch.Tensor, call: LossCall) -> None:
        """A loss of this name was computed."""
        given, self._given = self._given, None
        self._is_listening = False
        noise = readable(call.target)
        if noise is None or call.function not in _REGRESSIONS or not noise.is_cpu:
            return
        if given is None:
            if step.mode is Mode.TRAIN and noise.shape[1:] == self._shape:
                self._note_left(value, noise)
            return
        noisy, steps = given
        if noise.shape != noisy.shape or noise.requires_grad:
            return
        self._note_sizes(noisy, steps)
        self._note_left(value, noise)
        if steps.is_floating_point():
            return
        steps = steps.long()
        self._num_looks += 1
        # Variables may be of anybody's class.
        with isolated_compute("cpu"), suppress(Exception):
            for name in _wrong_equations(noisy, steps, noise, loss.removeprefix("loss/")):
                self._held[name] = self._held.get(name, 0) + 1
            if _is_noise(noise):
                looks, had = self._drawn.get(loss, (0, 0))
                self._drawn[loss] = looks + 1, had + _correlates(noise, noisy)

    def _note_sizes(self, noisy: torch.Tensor, steps: torch.Tensor) -> None:
        if noisy.shape[1:] != self._shape:
            self._sizes.clear()
            self._shape = noisy.shape[1:]
        some = slice(_MOST_SIZES)
        with isolated_compute("cpu"):
            sizes = noisy[some].double().square().flatten(1).mean(1)
            self._sizes.extend(zip(steps[some].tolist(), sizes.tolist(), strict=True))

    def _note_left(self, value: torch.Tensor, noise: torch.Tensor) -> None:
        """Note how much of what is predicted is left, after a squared or another loss."""
        with isolated_compute("cpu"):
            size = float(noise.double().square().mean())
            self._left = float(value.detach()) / size if value.numel() == 1 and size else math.inf

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends."""
        self._given = None
        held = [name for name, times in self._held.items() if times >= _LEAST_HELD]
        found = {f"setup/{name}": 1.0 for name in held}
        for loss, (looks, had) in self._drawn.items():
            if looks >= _LEAST_HELD and not had and not held:
                found[f"setup/other_noise/{loss.removeprefix('loss/')}"] = 1.0
        if found and step.wants(_COLLECTION):
            self._observer.numbers(step, found, _COLLECTION)


def _width(sizes: deque[tuple[float, float]]) -> float:
    steps = [step for step, _ in sizes]
    return max(steps) - min(steps)


def _is_noise(target: torch.Tensor) -> bool:
    """Return whether a target may be drawn from a standard normal distribution."""
    deviation, mean = torch.std_mean(target.double())
    is_normal = abs(float(mean)) < _AS_NORMAL and abs(float(deviation) - 1) < _AS_NORMAL
    return target.numel() >= _LEAST_NUMBERS and is_normal


def _is_uniform(target: torch.Tensor) -> bool:
    """Return whether a target may be drawn evenly from 0 to 1, as by ``torch.rand``."""
    values = target.double().flatten()
    if len(values) < _LEAST_NUMBERS or not bool(((values >= 0) & (values < 1)).all()):
        return False
    squares = (values - 0.5).square()  # of mean 1/12 and variance 1/80 - 1/144
    errors = 12 * abs(float(values.mean()) - 0.5) ** 2, 180 * (float(squares.mean()) - 1 / 12) ** 2
    return math.sqrt(max(errors) * len(values)) < _AS_UNIFORM


def _correlates(noise: torch.Tensor, noisy: torch.Tensor) -> bool:
    """Return whether noise is part of what a model is given, by more than chance."""
    both = torch.stack([noise.double().flatten(), noisy.double().flatten()])
    correlation = abs(float(torch.corrcoef(both)[0, 1]))
    return correlation > _BY_CHANCE / math.sqrt(noise.numel())


def _wrong_equations(
    noisy: torch.Tensor, steps: torch.Tensor, noise: torch.Tensor, loss: str
) -> Iterator[str]:
    """Yield how noise was added, where it should be by a cumulative product that is known.

    By the schedule of one step, and the names of both; or in place of the samples.

    Args:
        noisy: What a model was given, shape ``[samples, ...]``, of which the first are looked at.
        steps: Of each sample, shape ``[samples]``.
        noise: Of the shape of ``noisy``.
        loss: Of which it is the target.
    """
    if int(steps.min()) < 0:
        return
    schedules: dict[str, torch.Tensor] = {}
    samples: list[torch.Tensor] = []
    for name, value in _numbers_of_script():
        is_schedule = value.dim() == 1 and _LEAST_STEPS <= len(value) <= _MOST_STEPS
        if (
            is_schedule
            and int(steps.max()) < len(value)
            and bool(((value > 0) & (value < 1)).all())
        ):
            schedules.setdefault(name, value.double())
        elif value.shape == noisy.shape:
            samples.append(value)
    products = {
        name: other
        for name, one in schedules.items()
        for other, product in schedules.items()
        if other != name and len(one) == len(product) and _are_equal(one.cumprod(0), product)
    }
    first = slice(_MOST_SAMPLES)
    noisy, noise = noisy[first].double(), noise[first].double()

    def sample_in(kept: torch.Tensor) -> torch.Tensor | None:
        """Return the sample of which there is such a share, by its square, and noise else."""
        kept = kept[steps[first]].reshape(-1, *(1,) * (noisy.dim() - 1))
        rest = noisy - (1 - kept).sqrt() * noise
        are_equal = (one for one in samples if _are_equal(kept.sqrt() * one[first].double(), rest))
        return next(are_equal, None)

    for name, other in products.items() if samples else ():
        if name not in products.values() and sample_in(schedules[name]) is not None:
            yield f"not_cumulative/{name}>{other}"
        # Where samples are predicted, it is they that are compared, and noise is what is left.
        known = sample_in(1 - schedules[other]) if other not in products else None
        if known is not None and _is_noise(noise) and not _is_noise(known):
            yield f"swapped_noise/{loss}"
    if samples and _is_uniform(noise):
        # Of what falls from step to step samples have a share, by the square, and noise the rest.
        falling = (one for one in schedules.values() if bool((one.diff() < 0).all()))
        if any(sample_in(kept) is not None for one in falling for kept in (one, one.square())):
            yield f"uniform_noise/{loss}"


def _are_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    size = float(other.abs().max())
    return bool(((one - other).abs() <= _EQUAL * size).all())


def _numbers_of_script() -> Iterator[tuple[str, torch.Tensor]]:
    """Yield what variables of the script hold, and the attributes of its objects."""
    for name, value in script_variables():
        parts: Mapping[Any, object] = {name: value}
        if not isinstance(value, torch.Tensor) and hasattr(value, "__dict__"):
            parts = {**vars(value), **(getattr(value, "_buffers", None) or {})}
        elif isinstance(value, dict):
            parts = value
        for part, one in parts.items():
            tensor = readable(one)
            if tensor is not None and tensor.is_cpu and tensor.is_floating_point():
                yield str(part), tensor.detach()
