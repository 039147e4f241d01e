"""Pairs of samples that a loss of the script's own pulls together, by what it returns."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ...capture.open_step import OpenStep
from ...numerics.measures import Floats, scalar_value
from ..evidence import Evidence, Lookup
from ..pairs import MOST_LOOKS, MOST_PAIRS, SETTLED, ContrastiveLoss, Pairs, elements
from .backend import StepFacts
from .layers import ModelNames

_COLLECTION = "setup"


class _Model:
    """What is known of a model that predicts how far apart two samples are."""

    def __init__(self) -> None:
        self.loss = ContrastiveLoss()
        #: By the label of what may be pulled together.
        self.pairs = {0: Pairs(), 1: Pairs()}
        self.num_looks = 0


class PulledPairs:
    """Observes it in the collection ``setup``, of models that train."""

    def __init__(self) -> None:
        self._models: WeakKeyDictionary[Any, _Model] = WeakKeyDictionary()

    def observe(
        self,
        step: OpenStep,
        model: Any,
        names: ModelNames,
        facts: StepFacts,
        value_of: Lookup,
        evidence: Evidence,
    ) -> None:
        """Add what is known of a model that trains by the ``train_step`` of Keras."""
        call, row = facts.calls.get("loss"), step.rows.get("loss/loss")
        if len(facts.calls) != 1 or call is None or call.function or row is None:
            return
        known = self._models.setdefault(model, _Model())
        if len(facts.batches) == 2 and known.num_looks < MOST_LOOKS:
            _add(known, scalar_value(step.statistics_of(row)), facts, value_of)
        pulled, name = known.loss.pulled, names.of_layer(model)
        if pulled is None or step.mode_step < SETTLED or not step.wants(_COLLECTION):
            return
        if known.pairs[pulled].are_turned:
            evidence.numbers(step, _COLLECTION, {f"setup/turned/{name}": 1.0})


def _add(known: _Model, loss: float, facts: StepFacts, value_of: Lookup) -> None:
    """Add what a model was called with, what it predicted, and the labels."""
    first, second = (value_of(name) for name in facts.batches)
    prediction, label = value_of("prediction/loss"), value_of("label/loss")
    if first is None or second is None or prediction is None or label is None:
        return
    is_of_pairs = prediction.size == label.size == len(first) and first.shape == second.shape
    if not is_of_pairs or first.ndim < 2 or first.dtype.kind != "f":
        return
    distances: Floats = prediction.reshape(-1).astype(float)
    labels: Floats = label.reshape(-1).astype(float)
    if not ((labels == 0) | (labels == 1)).all():
        return
    known.num_looks += 1
    known.loss.add(distances, labels, loss)
    for pulled, pairs in known.pairs.items():
        some = slice(MOST_PAIRS)
        samples = elements(first[some]), elements(second[some])
        pairs.add(*samples, labels[some] == pulled, distances[some])
        pairs.step_ends()
