"""Variational autoencoders whose code says nothing: the posterior of each sample is the prior."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ..judge.rule import Findings, Rule
from ..judge.step_view import StepNumber, StepView, TensorView
from ..numerics.measures import number
from ..numerics.statistics import COUNT, MAX, MIN, SUM, SUM_SQ

# What layers of means and of logarithms of variances are called.
_MEAN = re.compile(r"(?<![a-z])(mu|mean)s?(?![a-z])", re.IGNORECASE)
_SPREAD = re.compile(r"log_?(var|sigma|std)", re.IGNORECASE)
#: A posterior is the prior if root mean squares of both are below this, which is less than 0.0005
#: nats of a dimension, from this TRAIN step on, over so many steps.
LEAST, FROM_STEP, STEPS_APART = 0.02, 100, 100
_SAME = [COUNT, MIN, MAX, SUM, SUM_SQ]


class Posteriors:
    """Judges for a rule what layers of a variational autoencoder say of samples.

    Args:
        rule: The rule.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        # Since when a posterior is the prior, by the worker and the layer of its mean.
        self._since: dict[tuple[str, str], StepNumber] = {}

    def check(self, step: StepView) -> Findings:
        """Judge a TRAIN step, of whatever detail."""
        for mean, spread in _posteriors(step) if step.train_step >= FROM_STEP else ():
            key = mean.worker, mean.name
            sizes = mean.statistics.rms, spread.statistics.rms
            if not (max(sizes) <= LEAST and _learns_its_input(step, mean.worker)):
                self._since.pop(key, None)
                continue
            since = self._since.setdefault(key, step.at)
            if step.train_step - since.train_step >= STEPS_APART:
                yield self._rule.finding(
                    step,
                    mean,
                    f"the code says nothing of a sample: {_layer(mean)} and {_layer(spread)} are"
                    f" {number(sizes[0])} and {number(sizes[1])} in root mean square, so that what"
                    " is drawn by them is noise of mean 0 and deviation 1, and the decoder returns"
                    " the same for each sample (posterior collapse), since step"
                    f" {since.train_step} up to step {step.train_step}",
                    condition="posterior",
                    onset=since,
                    value=max(sizes),
                    threshold=LEAST,
                    worker=mean.worker,
                    remedy="sum the reconstruction over the elements of a sample, as the KL"
                    " divergence is summed over the dimensions of the code, before the mean over"
                    " samples; or weigh the KL divergence less, at first with 0",
                )


def _layer(tensor: TensorView) -> str:
    return tensor.name.removeprefix("output/")


def _posteriors(step: StepView) -> Iterator[tuple[TensorView, TensorView]]:
    """Yield the means of a code, and the logarithms of its variances, of layers side by side."""
    outputs = [one for one in step.tensors("outputs") if len(one.info.shape) == 2]
    named = [(re.split(r"[./]", one.name), one) for one in outputs]
    spreads = [(path[:-1], one) for path, one in named if _SPREAD.search(path[-1])]
    for path, mean in named if spreads else ():
        if _MEAN.search(path[-1]) and not _SPREAD.search(path[-1]):
            for place, spread in spreads:
                alike = spread.info.shape == mean.info.shape and spread.worker == mean.worker
                if place == path[:-1] and alike:
                    yield mean, spread
                    break


def _learns_its_input(step: StepView, worker: str) -> bool:
    """Return whether the targets of a loss are what the model is given."""
    labels, batches = (
        [one.record.statistics[one.row, _SAME] for one in step.tensors(kind, worker=worker)]
        for kind in ("labels", "batches")
    )
    return any(np.allclose(one, other, rtol=1e-6) for one in labels for other in batches)
