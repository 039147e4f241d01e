"""Variational autoencoders whose code says nothing: the posterior of each sample is the prior."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ..judge.rule import Findings, Rule
from ..judge.step_view import StepNumber, StepView, TensorView
from ..model.finding import Finding
from ..model.steps import Mode
from ..numerics.measures import number
from ..numerics.statistics import COUNT, MAX, MIN, SUM, SUM_SQ

# What layers of means and of logarithms of variances are called.
_MEAN = re.compile(r"(?<![a-z])(mu|mean)s?(?![a-z])", re.IGNORECASE)
_SPREAD = re.compile(r"log_?(var|sigma|std)", re.IGNORECASE)
#: A posterior is the prior if root mean squares of both are below this, which is less than 0.0005
#: nats of a dimension, from this TRAIN step on, over so many steps, or at the end over fewer.
LEAST, FROM_STEP, STEPS_APART, LEAST_APART = 0.02, 100, 100, 40
_SAME = [COUNT, MIN, MAX, SUM, SUM_SQ]


class Posteriors:
    """Judges for a rule what layers of a variational autoencoder say of samples.

    Args:
        rule: The rule.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        # Since when a posterior is the prior, by the worker and the layer of its mean; and what it
        # was last, where that may be judged at the end.
        self._since: dict[tuple[str, str], StepNumber] = {}
        self._last: dict[tuple[str, str], tuple[StepNumber, tuple[TensorView, ...]]] = {}

    def check(self, step: StepView) -> Findings:
        """Judge a TRAIN step, of whatever detail."""
        for code in _codes(step) if step.train_step >= FROM_STEP else ():
            key = code[0].worker, code[0].name
            sizes = [one.statistics.rms for one in code]
            if not (max(sizes) <= LEAST and _learns_its_input(step, code[0].worker)):
                self._since.pop(key, None)
                continue
            since = self._since.setdefault(key, step.at)
            self._last[key] = step.at, code
            if step.train_step - since.train_step >= STEPS_APART:
                yield self._finding(since, step.at, code)

    def finish(self) -> Findings:
        """Judge a training that ends before so many steps are over, by two looks or more."""
        for key, since in self._since.items():
            at, code = self._last[key]
            if LEAST_APART <= at.train_step - since.train_step < STEPS_APART:
                yield self._finding(since, at, code)

    def _finding(self, since: StepNumber, now: StepNumber, code: tuple[TensorView, ...]) -> Finding:
        sizes = [one.statistics.rms for one in code]
        return self._rule.finding(
            now,
            code[0],
            f"the code says nothing of a sample: {' and '.join(_layer(one) for one in code)}"
            f" {'are' if len(code) > 1 else 'is'} {' and '.join(map(number, sizes))} in"
            " root mean square, so that a code that is drawn by"
            f" {'them' if len(code) > 1 else 'it'} is noise of mean 0 and deviation 1,"
            " and the decoder returns the same for each sample (posterior collapse), since"
            f" step {since.train_step} up to step {now.train_step}",
            condition="posterior",
            mode=Mode.TRAIN.value,
            onset=since,
            value=max(sizes),
            threshold=LEAST,
            worker=code[0].worker,
            remedy="sum the reconstruction over the elements of a sample, as the KL"
            " divergence is summed over the dimensions of the code, before the mean over"
            " samples; or weigh the KL divergence less, at first with 0",
        )


def _layer(tensor: TensorView) -> str:
    return tensor.name.removeprefix("output/")


def _codes(step: StepView) -> Iterator[tuple[TensorView, ...]]:
    """Yield what encodes the samples, in a model that is to return its input.

    The mean of a code and the logarithm of its variance, by their names or as the two narrowest
    layers of the model; or the narrowest layer, where one has both.
    """
    for worker in step.workers:
        outputs = [
            one for one in step.tensors("outputs", worker=worker) if len(one.info.shape) == 2
        ]
        named = [*_named(outputs)]
        yield from named
        # What returns several tensors is a module of layers.
        layers = [one for one in outputs if "/" not in _layer(one)]
        width = min((one.info.shape[1] for one in layers), default=0)
        narrow = [one for one in layers if one.info.shape[1] == width]
        if not named and 1 <= len(narrow) <= 2:
            yield tuple(narrow)


def _named(outputs: Sequence[TensorView]) -> Iterator[tuple[TensorView, ...]]:
    """Yield the means of a code, and the logarithms of its variances, of layers side by side."""
    paths = [(re.split(r"[./]", one.name), one) for one in outputs]
    spreads = [(path[:-1], one) for path, one in paths if _SPREAD.search(path[-1])]
    for path, mean in paths if spreads else ():
        if _MEAN.search(path[-1]) and not _SPREAD.search(path[-1]):
            for place, spread in spreads:
                if place == path[:-1] and spread.info.shape == mean.info.shape:
                    yield mean, spread
                    break


def _learns_its_input(step: StepView, worker: str) -> bool:
    """Return whether the targets of a loss are what the model is given, and no classes."""
    labels, batches = (
        [
            one.record.statistics[one.row, _SAME]
            for one in step.tensors(kind, worker=worker)
            if len(one.info.shape) > 1
        ]
        for kind in ("labels", "batches")
    )
    return any(np.allclose(one, other, rtol=1e-6) for one in labels for other in batches)
