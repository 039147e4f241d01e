"""The hook on boosted trees: each round is a TRAIN step, and an EVAL step of what is evaluated.

Where classes are predicted, their counts and confusions are observed as well.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...capture.budget import FULL_STEPS
from ...capture.guard import guarded
from ...capture.plan import RAW
from ...errors import TrainingStopped
from ...model.record import TensorInfo
from ...model.steps import Mode
from ..base import Hook
from ..patching import ListenerPatches
from ..script import script_variables
from ..shared_rows import shared_rows
from ..target_encoding import may_encode, rows_of_category
from .objectives import OF_LOGARITHMS, Objective, ObjectiveListener, likelier_as_exposures
from .rounds import (
    FIRST_ROWS,
    EvaluationSet,
    Metric,
    Round,
    TrainedModel,
    columns_beside,
    constrained_against,
    grouping,
    numbered,
    ordered_as,
    recoded,
    scattered,
)

_log = logging.getLogger("stepwatch")
Array = npt.NDArray[np.generic]
Counts = npt.NDArray[np.int64]

#: Of more classes nothing is counted; of more than the second only the labels are.
MOST_CLASSES, MOST_CONFUSED = 1000, 100


def predicted_classes(predictions: Array, num_classes: int) -> npt.NDArray[np.int64]:
    """Return the class that is predicted for each row, shape ``[rows]``.

    Args:
        predictions: The score of each class, shape ``[rows, classes]``; or, shape ``[rows]``, the
            probability of the second of two classes, or the class itself of more.
        num_classes: How many there are.
    """
    if predictions.ndim == 2:
        return np.asarray(predictions.argmax(axis=1), np.int64)
    if num_classes > 2:
        return np.asarray(predictions, np.int64)
    return np.asarray(predictions.astype(np.float64) > 0.5, np.int64)


def confusion(labels: Array, predictions: Array, num_classes: int) -> Counts | None:
    """Return how often each class was taken for which.

    Args:
        labels: Shape ``[rows]``, any dtype; what is no class is left out.
        predictions: As for ``predicted_classes``.
        num_classes: How many there are.

    Returns:
        Shape ``[classes, classes]``, a row for each true class; ``None`` of too many or too few
        classes, and of labels that are none.
    """
    if not 2 <= num_classes <= MOST_CONFUSED or labels.shape != predictions.shape[:1]:
        return None
    known, meant = _classes(labels, num_classes)
    cell = meant * num_classes + predicted_classes(predictions, num_classes)[known]
    return np.bincount(cell, minlength=num_classes**2).reshape(num_classes, num_classes)


def class_counts(labels: Array, num_classes: int) -> Counts | None:
    """Return how many rows each class has, shape ``[classes]``; ``None`` as ``confusion``."""
    if not 2 <= num_classes <= MOST_CLASSES or labels.ndim != 1 or not labels.size:
        return None
    return np.bincount(_classes(labels, num_classes)[1], minlength=num_classes)


def _classes(labels: Array, num_classes: int) -> tuple[npt.NDArray[np.bool_], Counts]:
    """Return which labels are classes, shape ``[rows]``, and these as whole numbers."""
    values = labels.astype(np.float64)
    known = (values == np.floor(values)) & (values >= 0) & (values < num_classes)
    return known, values[known].astype(np.int64)


# What is always observed of a training, in this order.
_NUMBERS = ("round", "rows", "columns")


class BoostingHook(Hook):
    """Captures a training in rounds; a hook for one framework of boosted trees inherits this.

    It hands each round that is over to ``observe_round``. If ``is_ended`` is true afterwards, it
    stops the training in the framework's own way.
    """

    #: What the framework raises where it cannot compute something of a model.
    refusal: ClassVar[type[Exception]]
    #: Those that listen to all trainings of this process.
    trainings: ClassVar[ListenerPatches[Any]]
    #: Those that listen to objectives of the script, where the framework has some to listen to.
    objectives: ClassVar[ListenerPatches[ObjectiveListener] | None] = None

    def __init__(self, run: Any, **options: Any) -> None:
        self._refused: set[str] = set()
        super().__init__(run, **options)
        # Trainings on several threads take turns: a round is observed as one.
        self._lock = threading.RLock()
        self._last: Round | None = None
        # Rounds of this training so far, while no tree of it has a split; ``None`` once one has.
        self._num_unsplit: int | None = None
        self._ending: BaseException | None = None
        # Of objectives that scripts bring along, by the model that is trained.
        self._objectives: weakref.WeakKeyDictionary[Any, Objective] = weakref.WeakKeyDictionary()
        self.attach()

    def attach(self) -> None:
        self.trainings.add(self)
        if self.objectives is not None:
            self.objectives.add(self)
        super().attach()

    def detach(self) -> None:
        super().detach()
        self.trainings.remove(self)
        if self.objectives is not None:
            self.objectives.remove(self)

    @guarded
    def observe_round(self, one: Round) -> None:
        """A round is over: observe it, and hand on its steps."""
        with self._lock:
            if self._last is not None and one.trained is not None and one.trained.begins:
                self.budget.observe_next_in_full("another model", FULL_STEPS)
            self._last = one
            modes = {Mode.TRAIN, *(_mode(metric.trains) for metric in one.metrics)}
            is_thin = all(map(self.recorder.thins_next, modes))
            self.recorder.open_step(Mode.TRAIN)  # a round is one, whatever is observed of it
            for metric in one.metrics:
                self._observe_metric(metric)
            if not is_thin:
                for name, value in zip(_NUMBERS, (one.number, *one.shape), strict=True):
                    self._observe_named("boosting", name, np.asarray(value, np.int64))
            if one.trained is not None:
                if not is_thin:
                    self._observe_trained(one.trained)
                self._observe_progress(one, one.trained)
            self.end_step(Mode.TRAIN)
            self.end_step(Mode.EVAL)

    @guarded
    def note_objective(self, booster: Any, margins: Any, found: Any) -> None:
        """An objective of the script returned gradients and hessians."""
        known = self._objectives.setdefault(booster, Objective())
        gradients, hessians = found
        are_arrays = all(type(one) is np.ndarray for one in (margins, gradients, hessians))
        if self.active and known.is_open and are_arrays:
            known.add(margins, gradients, hessians)

    def known_of_objective(self, booster: Any) -> dict[str, float]:
        """Return what is known of the objective of a model, while it is looked at."""
        known = self._objectives.get(booster)
        return known.known() if known is not None and known.is_open else {}

    def is_ended(self) -> bool:
        """Return whether the training is to stop after the round that was observed.

        Raises:
            Exception: What was requested to be raised into the training.
        """
        end, self._ending = self._ending, None
        if end is None:
            return False
        if not isinstance(end, TrainingStopped):
            raise end
        self._stopped = end
        return True

    def end_training(self, end: BaseException) -> None:
        """Note what ends the training; the framework learns it from ``is_ended``."""
        self._ending = end

    def describe_coverage(self) -> str:
        """Return how many metrics there are, and of how much data."""
        one = self._last
        if one is None:
            return ""
        rows, columns = one.shape
        names = " and ".join(dict.fromkeys(metric.data for metric in one.metrics)) or "no data"
        metrics = f"{len(one.metrics)} metric{'s' * (len(one.metrics) != 1)}"
        return f"capturing {metrics} of {names}; trained on {rows} rows with {columns} features"

    # Inside

    def _observe_metric(self, metric: Metric) -> None:
        mode = _mode(metric.trains)
        self.observe(metric.name, metric.collection, np.asarray(metric.value, np.float64), mode)
        if metric.spread is not None:
            spread = np.asarray(metric.spread, np.float64)
            self.observe(f"{metric.name}-std", "metrics", spread, mode)

    def _observe_trained(self, one: TrainedModel) -> None:
        model = one.model
        for data in one.data:
            self._observe_data(data, model.num_classes)
        if one.begins:
            texts = model.hyperparameters().items()
            self._observe_all("hyperparameters", {name: parsed(text) for name, text in texts})
            if one.censored is not None:
                self._observe_named("boosting", "censored", np.asarray(one.censored, np.float64))
            objective = str(dict(texts).get("objective", ""))
            for data in one.data:
                self._observe_groups(data)
                if data.trains and objective.endswith(OF_LOGARITHMS):
                    gain = likelier_as_exposures(data.offsets(), data.labels())
                    if gain:
                        self._observe_named("boosting", "exposures", np.asarray(gain))
            self._observe_columns(one.data, dict(texts).get("monotone_constraints", ""))
            self._observe_tables(one.data)
        if self.wants("feature_importance"):
            self._observe_all("feature_importance", self.computed("importances", model.importances))
        if self.wants("trees"):
            self._observe_all("trees", self.computed("trees", model.trees))
        if self.wants("average_shap") or self.wants("full_shap"):
            values = self.computed("SHAP values", model.shap)
            self._observe_all("full_shap", values)
            for name, value in values.items():
                exact = value.astype(np.float64)
                self._observe_named("average_shap", name, exact.mean(axis=0))
                size = np.abs(exact).mean(axis=0)
                self.observe(f"mean_abs_shap/{name}", "average_shap", size, Mode.TRAIN)

    def _observe_progress(self, one: Round, trained: TrainedModel) -> None:
        """Observe what tells whether anything is learnt: splits until there is one, and metrics.

        Of a model that is trained on, earlier rounds have splits.
        """
        if trained.begins:
            self._num_unsplit = 0 if one.number == 0 else None
        if self._num_unsplit is not None:
            found = self.computed("splits", lambda: {"": np.asarray(trained.model.has_split())})
            has_split = bool(found.get("", True))
            self._num_unsplit = None if has_split else self._num_unsplit + 1
            if self._num_unsplit is not None:
                count = np.asarray(self._num_unsplit, np.int64)
                self._observe_named("boosting", "unsplit_rounds", count)
        for name, value in trained.objective.items():
            self._observe_named("boosting", name, np.asarray(value))
        known = {each.name: each for each in one.metrics}
        trains = {each.metric: each.value for each in one.metrics if each.trains}
        held_out = {each.metric: each.value for each in reversed(one.metrics) if not each.trains}
        # Of several that end it the first to stand still does.
        stops_on_trained = all(known[name].trains for name in trained.stops_by if name in known)
        for name, sign in trained.stops_by.items():
            if (metric := known.get(name)) is None:
                continue
            values = {"stops_by": sign, "stops_at": metric.value}
            if stops_on_trained and metric.metric in held_out:
                values["held_out"] = held_out[metric.metric]
            if metric.metric in trains:
                values["trains_at"] = trains[metric.metric]
            for what, value in values.items():
                self._observe_named("boosting", f"{what}/{name}", np.asarray(value, np.float64))

    def computed(
        self, what: str, compute: Callable[[], Mapping[str, Array]]
    ) -> Mapping[str, Array]:
        """Return what the framework computes; nothing, with one warning, where it cannot."""
        if what in self._refused:
            return {}
        try:
            return compute()
        except self.refusal as error:
            self._refused.add(what)
            why = str(error).partition("\n")[0]
            _log.warning("no %s of this model are captured, it cannot tell them: %s", what, why)
            return {}

    def _observe_data(self, data: EvaluationSet, num_classes: int) -> None:
        """Observe labels and predictions where classes are counted, or where they are saved raw."""
        mode = _mode(data.trains)
        counts = self.wants("classes", mode)
        if not (counts or self._is_raw(data, mode)):
            return
        found = self.computed("predictions", lambda: {"": data.predictions()})
        labels, predictions = data.labels(), found.get("", np.empty(0))
        for name, values in (("label", labels), ("prediction", predictions)):
            if values.size:
                self.observe(f"{name}/{data.name}", f"{name}s", values, mode)
        if not counts:
            return
        matrix = confusion(labels, predictions, num_classes) if predictions.size else None
        if matrix is not None:
            self.observe(f"confusion/{data.name}", "classes", matrix, mode)
        count = class_counts(labels, num_classes)
        if count is not None:
            self.observe(f"class_count/{data.name}", "classes", count, mode)

    def _observe_groups(self, data: EvaluationSet) -> None:
        """Observe how labels differ between the groups of rows that are ranked."""
        sizes = data.groups()
        of = "groups" if data.trains else "evaluated_groups"
        for name, value in grouping(data.labels(), sizes).items() if len(sizes) else ():
            self._observe_named("boosting", f"{of}/{name}/{data.name}", np.asarray(value))
        table = self.computed("columns", data.whole) if len(sizes) else {}
        beside = columns_beside(table, (value for _, value in script_variables())) if table else {}
        for name in scattered({**beside, **table}, sizes):
            self._observe_named("boosting", f"scattered/{data.name}/{name}", np.asarray(1.0))

    def _observe_columns(self, data: Sequence[EvaluationSet], constraints: str) -> None:
        """Observe which columns give the label away, are constrained against it, or number their
        categories for each table.
        """
        others = [one for one in data if not one.trains]
        trained = next((one for one in data if one.trains), None)
        if trained is None:
            return
        table = self.computed("columns", trained.columns)
        for name in ordered_as(table, trained.labels()):
            self._observe_named("boosting", f"label_in/{name}", np.asarray(1.0))
        against = constrained_against(table, trained.labels(), constraints) if constraints else {}
        for name, rank in against.items():
            self._observe_named("boosting", f"constrained/{name}", np.asarray(rank))
        columns = numbered(table) if others else {}
        for one in others if columns else ():  # else they need not be read
            for name, count in recoded(columns, self.computed("columns", one.columns)).items():
                value = np.asarray(count, np.int64)
                self._observe_named("boosting", f"recoded/{one.name}/{name}", value)

    def _observe_tables(self, data: Sequence[EvaluationSet]) -> None:
        """Observe rows that are evaluated and trained on, and columns in which categories stand for
        the labels that are trained on.
        """
        sets = sorted(data, key=lambda one: not one.trains)
        if not sets or not sets[0].trains:
            return
        tables = [self.computed("columns", one.whole) for one in sets]
        labels = [one.labels() for one in sets]
        for one, table in zip(sets[1:], tables[1:], strict=True):
            if share := shared_rows(tables[0], table, labels[0]):
                self._observe_named("boosting", f"shared_rows/{one.name}", np.asarray(share))
        names = [
            name
            for name, column in tables[0].items()
            if labels[0].shape == column.shape
            and may_encode(column[:FIRST_ROWS], labels[0][:FIRST_ROWS])
        ]
        for name in names:
            parts = [
                (table[name], of)
                for table, of in zip(tables, labels, strict=True)
                if name in table and table[name].shape == of.shape
            ]
            # What is evaluated may have been a part of what was encoded, and split off later.
            unions = [parts[:1], parts, *([parts[0], other] for other in parts[1:])]
            for union in unions[: len(unions) if len(parts) > 1 else 1]:
                column, of = (np.concatenate(each) for each in zip(*union, strict=True))
                if rows := rows_of_category(column, of):
                    self._observe_named("boosting", f"encoded/{name}", np.asarray(rows))
                    break

    def _observe_all(self, collection: str, values: Mapping[str, Array]) -> None:
        for name, value in values.items():
            self._observe_named(collection, name, np.asarray(value))

    def _observe_named(self, collection: str, name: str, value: Array) -> None:
        self.observe(f"{collection}/{name}", collection, value, Mode.TRAIN)

    def _is_raw(self, data: EvaluationSet, mode: Mode) -> bool:
        """Return whether full labels or predictions are wanted at this step."""
        step = self.recorder.open_step(mode)
        return any(
            step.level(TensorInfo(f"{name}/{data.name}", f"{name}s", "float32", ())) & RAW
            for name in ("label", "prediction")
        )


def parsed(text: str) -> Array:
    """Return a finite number as float64, anything else as the text that it is; shape ``()``."""
    try:
        number = float(text)
    except ValueError:
        number = np.inf
    return np.asarray(number if np.isfinite(number) else text)


def _mode(trains: bool) -> Mode:
    return Mode.TRAIN if trains else Mode.EVAL
