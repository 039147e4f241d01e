"""Rules on nan and infinity: that there are some, and in which tensor the first came to be.

Of a step are known the parameters from before it, the outputs of modules in the order in which
they ended (so children before their parent), the inputs of modules whose output is not finite,
the losses and the gradients. The first of these stages that is not finite is the cause of the
others. Among outputs, a module that got finite inputs made what is wrong; one that did not only
passed it on. Gradients that are averaged bring in what another worker made: where nothing else is
not finite, each of the workers may have been it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, Rule, Selection
from ..judge.step_view import StepNumber, StepView, TensorGroup, TensorView
from ..model.finding import Finding
from ..model.record import StepRecord
from ..numerics.measures import by_x, headroom_bits, listed, non_finite, number
from ..numerics.statistics import COUNT, NAN, NEGINF, POSINF, ZEROS

Cause = Literal["previous update", "data", "output", "no elements", "loss", "unknown", "gradient"]
#: In the order in which they happen within a step.
CAUSES: tuple[Cause, ...] = get_args(Cause)

# What smdebug's names of inputs and outputs end in.
_SCOPES = re.compile(r"_(input|output)_\d+$")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where non-finite values came from.

    Args:
        cause: Which stage made them.
        tensor: The first non-finite one.
        sentence: What is known, as the beginning of a message.
        inputs: What went into it.
        parameters: The parameters of the module itself.
        affected: The outputs (or gradients) that are not finite.
        notes: Further evidence.
        remedy: What to do, where more is known than by the cause.
    """

    cause: Cause
    tensor: TensorView
    sentence: str
    inputs: TensorGroup
    parameters: TensorGroup
    affected: tuple[str, ...] = ()
    notes: Mapping[str, object] = field(default_factory=dict)
    remedy: str = ""

    @property
    def stage(self) -> int:
        """Its place in ``CAUSES``."""
        return CAUSES.index(self.cause)


def find_origin(
    step: StepView, record: StepRecord, *, whitelist: str | None, backward: bool
) -> Origin | None:
    """Return where the non-finite values of one worker's step came from.

    Args:
        step: The step; only tensors in its scope count.
        record: What the worker saw of it.
        whitelist: Tensors whose name matches may be non-finite.
        backward: Whether gradients count.

    Returns:
        ``None`` where all is finite, or minus infinity in some outputs and nowhere else.
    """
    return _Search(step, record, whitelist, backward=backward).origin()


class _Search:
    def __init__(
        self, step: StepView, record: StepRecord, whitelist: str | None, *, backward: bool
    ) -> None:
        self.record = record
        self._first_update = step.mode_step == 0
        self._maybe_others = step.others or len(step.records) > 1
        counts = record.statistics[:, [NAN, POSINF, NEGINF]] > 0
        allowed = record.layout.matching(whitelist) if whitelist else np.zeros(len(counts), bool)
        self._bad = counts.any(axis=1) & ~allowed
        # nan or plus infinity; minus infinity alone may be a mask
        self._hard = counts[:, :2].any(axis=1) & ~allowed
        self._rows: dict[str, npt.NDArray[np.intp]] = {}
        self._step = step
        for kind in ("weights", "batches", "inputs", "outputs", "labels", "losses", "gradients"):
            groups = [group.rows for group in step.groups(kind) if group.record is record]
            self._rows[kind] = groups[0] if groups else np.zeros(0, np.intp)
        if not backward:
            self._rows["gradients"] = np.zeros(0, np.intp)
        self._outputs = [(int(row), self._module(row)) for row in self._rows["outputs"]]
        self._root = self._outputs[-1][1] if self._outputs else ""

    def origin(self) -> Origin | None:
        weights, losses = self._bad_rows("weights"), self._bad_rows("losses")
        gradients = self._bad_rows("gradients")
        if len(weights):
            return self._from_update(weights)
        outputs = [(row, module) for row, module in self._outputs if self._bad[row]]
        later = bool(len(losses) or len(gradients))
        if outputs and (later or any(self._hard[row] for row, _ in outputs)):
            return self._from_outputs(outputs)
        if len(losses):
            return self._from_loss(losses)
        return self._from_gradients(gradients) if len(gradients) else None

    def _from_update(self, bad: npt.NDArray[np.intp]) -> Origin:
        tensor = self._tensor(bad[0])
        before = (
            "before the first step: it was initialized or loaded so"
            if self._first_update
            else "before the step, so an earlier update made it so"
        )
        sentence = f"{tensor.name} ({self._counts(bad[0])}) was not finite {before}"
        more = {"non_finite_parameters": len(bad)}
        return Origin(
            "previous update", tensor, sentence, self._group([]), self._group([]), notes=more
        )

    def _from_outputs(self, bad: list[tuple[int, str]]) -> Origin:
        affected = tuple(self._name(row) for row, _ in bad)
        given = [*self._inputs_of(self._root), *self._rows["batches"].tolist()]
        root_inputs = [row for row in given if self._hard[row]]
        producer = None if root_inputs else self._producer(bad)
        if producer is not None:
            return self._made_by(producer, bad, affected)
        # Of the whole model, else of what ended first: nothing before it was not finite.
        ends = (bad[-1][1], bad[0][1])
        given = [row for module in ends for row in self._inputs_of(module) if self._bad[row]]
        if root_inputs or given:
            row = (root_inputs or given)[0]
            sentence = f"{self._name(row)} ({self._counts(row)}): the data are not finite"
            parts = self._tensor(row), sentence, self._group([row]), self._group([])
            return Origin("data", *parts, affected=affected)
        row, module = bad[0]
        beyond = self._beyond_table(module)
        sentence = f"{self._name(row)} ({self._counts(row)}) is the first output that is not" + (
            f" finite: {beyond}" if beyond else " finite, its inputs were not captured"
        )
        parts = self._tensor(row), sentence, self._group([]), self._parameters_of(module)
        return Origin("output", *parts, affected=affected, remedy=_TABLE if beyond else "")

    def _beyond_table(self, module: str) -> str:
        """Return which rows a module looks up that its table does not have, ``""`` for none."""
        own = [row for row in self._rows["weights"].tolist() if self._is_of(row, module)]
        shapes = [self._tensor(row).info.shape for row in own]
        if len(shapes) != 1 or len(shapes[0]) != 2:
            return ""
        rows = shapes[0][0]
        for batch in map(self._tensor, self._rows["batches"].tolist()):
            ids = batch.statistics
            if "int" in batch.info.dtype and not -rows <= ids.min <= ids.max < rows:
                wrong = ids.max if ids.max >= rows else ids.min
                return f"{batch.name} has ids as far as {number(wrong)}, and its table {rows} rows"
        return ""

    def _is_of(self, row: int, module: str) -> bool:
        """Return whether a parameter is the module's own; a layer of Keras has it behind a /."""
        return self._name(row).startswith((f"{module}.", f"{module}/"))

    def _producer(self, bad: list[tuple[int, str]]) -> tuple[int, str] | None:
        """Return the first module that made non-finite values out of finite inputs."""
        able = [(row, module) for row, module in bad if self._state(module) == "finite"]
        hard = next(((row, module) for row, module in able if self._hard[row]), None)
        if hard is None:
            masked = [one for one in bad if self._state(one[1]) == "mask" and self._hard[one[0]]]
            return next(iter([*able, *masked]), None)
        # an infinity that a module made and the next one turned into nan began in the former
        for row, module in able:
            if row >= hard[0]:
                break
            following = next((name for at, name in bad if at > row and name != module), "")
            passed_on = following != hard[1] and self._state(following) in ("mask", "bad")
            if self._is_inside(module, hard[1]) and passed_on:
                return row, module
        return hard

    def _made_by(
        self, producer: tuple[int, str], bad: list[tuple[int, str]], affected: tuple[str, ...]
    ) -> Origin:
        row, module = producer
        child = next((one for one in bad if one[0] < row and self._is_inside(one[1], module)), None)
        until, inner = child or producer
        before = [(at, name) for at, name in self._outputs if at < until and not self._bad[at]]
        finite = before[-1][1] if before else ""
        notes: dict[str, object] = {}
        what = "NaN arises" if self.record.statistics[until, NAN] > 0 else "infinity arises"
        sentence, remedy = f"{what} in {module}", _REMEDIES["output"]
        if before:
            notes["last_finite_before"] = self._name(before[-1][0])
        if child is not None:
            notes["first_bad_inside"] = self._name(until)
            found = f"{inner} ({self._counts(until)})"
            sentence += f" between {finite} (finite) and {found}" if finite else f" before {found}"
            place = f"between {finite} and {inner}" if finite else f"before {inner}"
            remedy = f"look in {module} {place} for {_MAKERS}"
        else:
            sentence += (
                f" after {finite} (finite)"
                if finite and self._is_inside(finite, module)
                else ", from finite inputs and parameters"
            )
            has = "is" if self.record.statistics[row, COUNT] == 1 else "has"
            at, found = _POINTS.get(module.partition(" ")[0], ("", ""))
            if at == "0" and (zeros := self._zeros_given(module)):
                sentence, remedy = f"{what} in {module}, which was given {zeros}", found
            sentence += f": {self._name(row)} {has} {self._counts(row)}"
        return Origin(
            "output",
            self._tensor(row),
            sentence,
            self._group(self._inputs_of(module)),
            self._parameters_of(module),
            affected=affected,
            notes=notes,
            remedy=remedy,
        )

    def _from_loss(self, bad: npt.NDArray[np.intp]) -> Origin:
        labels = self._bad_rows("labels").tolist()
        for row in [*labels, *self._bad_rows("inputs").tolist()]:
            what = "targets" if row in labels else "data"
            sentence = f"{self._name(row)} ({self._counts(row)}): the {what} are not finite"
            parts = self._tensor(row), sentence, self._group([row]), self._group([])
            remedy = _TARGETS if row in labels else ""
            return Origin("data", *parts, remedy=remedy)
        outputs = [self._outputs[-1][0]] if self._outputs else []
        nothing = self._nothing()
        if nothing:
            sentence = f"{self._name(bad[0])} is the mean over nothing: {nothing}"
            return Origin("no elements", self._tensor(bad[0]), sentence, *(self._group([]),) * 2)
        sentence = f"{self._name(bad[0])} ({self._counts(bad[0])}) is not finite, though " + (
            "every output is: the loss itself made it so" if outputs else "no output was captured"
        )
        cause: Cause = "loss" if outputs else "unknown"
        return Origin(cause, self._tensor(bad[0]), sentence, self._group(outputs), self._group([]))

    def _nothing(self) -> str:
        """Return what shows that the loss was given nothing to compare, ``""`` if it was."""
        for tensor in self._step.tensors("predictions", "labels", worker=self.record.worker):
            if not tensor.statistics.count:
                return f"{tensor.name} has no elements (shape {by_x(tensor.info.shape)})"
        for name, counts in self.record.raw.items():
            if name.startswith("class_count/") and not np.any(counts):
                return f"no target of {name.partition('/')[2]} counts, all are left out"
        return ""

    def _from_gradients(self, bad: npt.NDArray[np.intp]) -> Origin:
        ends = {module: row for row, module in self._outputs}
        last = max(bad.tolist(), key=lambda row: (self._end(self._name(row), ends), row))
        parameter = self._name(last).removeprefix("gradient/")
        module = parameter.rpartition(".")[0]
        found = self._infinite_derivative()
        notes: dict[str, object] = {"or_another_worker": True} if self._maybe_others else {}
        came = "it came from another worker, if gradients are averaged, or" * self._maybe_others
        where = f"of {module or self._root or parameter} or of what comes after it"
        if found:
            where, notes["operation"] = f"where {found.sentence}", found.operation
        sentence = (
            f"{self._name(last)} ({self._counts(last)}) is not finite, though the forward pass"
            f" was: {came or 'it'} arose in the backward pass {where}"
        )
        return Origin(
            "gradient",
            self._tensor(last),
            sentence,
            self._group([ends[module]] if module in ends else []),
            self._parameters_of(module),
            affected=tuple(self._name(row) for row in bad),
            notes=notes,
            remedy=found.remedy if found else "",
        )

    def _infinite_derivative(self) -> _Singular | None:
        """Return the operation of the loss, or behind it, whose derivative was infinite."""
        for row, info in enumerate(self.record.layout.tensors):
            if info.name.startswith(_INFINITE):
                title = info.name.removeprefix(_INFINITE)
                values = np.nan_to_num(self.record.statistics[row])
                infinite, count = int(values[POSINF] + values[NEGINF]), int(values[COUNT])
                kind, _, place = title.partition(" ")
                at, remedy = _POINTS.get(kind, _POINTS[""])
                sentence = (
                    f"the derivative of {kind}{' ' * bool(place)}{place} is infinite at {at}"
                    f" ({infinite} of {count} elements)"
                )
                return _Singular(title, sentence, remedy)
        return None

    def _end(self, gradient: str, ends: dict[str, int]) -> int:
        """Return the row at which the module of a gradient, or the nearest around it, ended."""
        path = gradient.removeprefix("gradient/").rpartition(".")[0]
        while path and path not in ends:
            path = path.rpartition(".")[0]
        return ends.get(path or self._root, -1)

    def _state(self, module: str) -> Literal["finite", "mask", "bad", "unknown"]:
        """Return what the inputs of a module are like; ``mask`` for minus infinity alone."""
        rows = self._inputs_of(module)
        if not rows:
            return "unknown"
        if not any(self._bad[row] for row in rows):
            return "finite"
        return "bad" if any(self._hard[row] for row in rows) else "mask"

    def _inputs_of(self, module: str) -> list[int]:
        rows = self._rows["inputs"].tolist()
        return [row for row in rows if module and self._module(row) == module]

    def _zeros_given(self, module: str) -> str:
        """Return how many elements of an input of an operation are 0, in words; "" if none is."""
        for row in self._inputs_of(module):
            count, zeros = self.record.statistics[row, [COUNT, ZEROS]].tolist()
            if zeros > 0:
                return "0" if count == 1 else f"{int(zeros)} zeros of {int(count)} elements"
        return ""

    def _parameters_of(self, module: str) -> TensorGroup:
        rows = self._rows["weights"].tolist()
        own = "" if module == self._root else module
        return self._group([row for row in rows if self._name(row).rpartition(".")[0] == own])

    def _is_inside(self, module: str, other: str) -> bool:
        return module.startswith(f"{other}.") or (other == self._root != module)

    def _bad_rows(self, kind: str) -> npt.NDArray[np.intp]:
        rows = self._rows[kind]
        return rows[self._bad[rows]]

    def _module(self, row: int) -> str:
        """Return the module of ``output/<module>``, ``output/<module>/<i>`` and inputs alike.

        In smdebug's runs, of ``<module>_output_<i>``.
        """
        return _SCOPES.sub("", self._name(row)).split("/", 2)[:2][-1]

    def _name(self, row: int) -> str:
        return self.record.layout.tensors[row].name

    def _tensor(self, row: int) -> TensorView:
        return TensorView(self.record, int(row))

    def _group(self, rows: list[int]) -> TensorGroup:
        return TensorGroup(self.record, np.array(rows, np.intp))

    def _counts(self, row: int) -> str:
        values = np.nan_to_num(self.record.statistics[row])
        infinite = int(values[POSINF] + values[NEGINF])
        found = ((int(values[NAN]), "NaN"), (infinite, "infinite"))
        if values[COUNT] == 1:
            return next((what for count, what in found if count), "finite")
        counts = " and ".join(f"{count} {what}" for count, what in found if count)
        return f"{counts or 'none'} of {int(values[COUNT])} elements"


@dataclass(frozen=True, slots=True)
class _Singular:
    """An operation whose derivative was infinite, what is said of it and what to do."""

    operation: str
    sentence: str
    remedy: str


_TARGETS = (
    "look at how targets are made: a logarithm of zero, a division by zero, a value that is missing"
)
_TABLE = (
    "give the table a row for each id, num_embeddings or input_dim of the largest id and 1; or"
    " number the ids from 0, and map those that are not known to one of their own"
)
_INFINITE = "loop/infinite_derivative/"
#: Where the derivative of an operation is infinite, and what to do.
_POINTS = {
    "sqrt": ("0", "add a small eps inside the sqrt, as by torch.sqrt(x + 1e-8)"),
    "pow": ("0", "add a small eps to what the power with an exponent below 1 is taken of"),
    **dict.fromkeys(
        ("log", "log2", "log10"), ("0", "clamp what the logarithm is taken of, or add a small eps")
    ),
    "log1p": ("-1", "clamp what the logarithm is taken of above -1"),
    **dict.fromkeys(
        ("acos", "asin"), ("1 and -1", "clamp what it is given to within -1 + eps and 1 - eps")
    ),
    **dict.fromkeys(
        ("div", "reciprocal", "rsqrt"),
        (
            "0",
            "clamp the divisor away from 0, or add a small eps; a torch.where() after the division"
            " does not help",
        ),
    ),
    "": ("what it was given", "keep what it is given away from there by a small eps"),
}  # fmt: skip

#: Where minus infinity is meant: the masks of attention.
MASKS = r"attn_mask|causal_mask"

# Weights are those from before the step, so this is the order in which values came to be.
_ORDER = {"weights": 0, "outputs": 1, "inputs": 2, "losses": 3, "gradients": 4, "optimizer": 5}
_BACKWARD = ("gradients", "optimizer", "optimizer_states", "updates")
# What is measured of tensors and of the loop is nan where it is not known.
_MEASURES = ("quantiles", "embeddings", "loop")


class NonFiniteRule(Rule):
    """A rule on nan and infinity, which excuses gradients that a scaler skips.

    A scaler looks for the largest scale that works, so now and then gradients overflow and the
    step is skipped. That is how it should be, unless ``amp_skips`` are skipped in a row.
    """

    amp_skips: int
    #: The worker with whom the episode that goes on began, whoever is first later.
    _episode = ""
    #: The step with which it began, and the collections of the tensors that were not finite since.
    _since: StepNumber | None = None
    _spoiled: Mapping[str, str] = MappingProxyType({})

    def _went_on(self, step: StepView) -> StepNumber | None:
        """Add a step that is not finite; return when what goes on began, ``None`` if only now."""
        before = self._since
        if before is None or step.number <= before.number:  # the run was resumed before it
            before, self._since, self._spoiled = None, step.at, {}
        self._spoiled = {**self._spoiled, **_by_finite(step)[0]}
        return before

    def _end_if_finite(self, step: StepView) -> None:
        """End the episode if a step shows that values are finite again.

        It shows nothing where it has none of the tensors that were not finite. Weights tell more
        than losses, and these more than what depends on the batch.
        """
        if self._since is None:
            return
        kinds = set(self._spoiled.values())
        telling = next((kind for kind in ("weights", "losses") if kind in kinds), None)
        finite = _by_finite(step)[1].keys() & {
            name for name, kind in self._spoiled.items() if telling in (None, kind)
        }
        if finite:
            self._episode, self._since, self._spoiled = "", None, {}

    def excuses(self, step: StepView, worker: str) -> bool:
        """Return whether the gradients of this step may be non-finite; ask once a step."""
        tensor = step.tensor("optimizer/skipped", worker)
        if tensor is None:
            return False
        return 0 < self.streak(worker, tensor.statistics.mean > 0) < self.amp_skips


def _by_finite(step: StepView) -> tuple[dict[str, str], dict[str, str]]:
    """Return the collections of the tensors of a step that are not finite, and of those that are.

    Args:
        step: Those that only measure something are left out, and those of which nothing is known.
    """
    found: tuple[dict[str, str], dict[str, str]] = {}, {}
    for group in step.groups():
        counts = group.record.statistics[group.rows, NAN : NEGINF + 1]
        for info, row in zip(group.infos, counts.tolist(), strict=True):
            if info.collection not in _MEASURES and not any(map(math.isnan, row)):
                found[not any(row)][info.name] = info.collection
    return found


class ExplodingTensor(NonFiniteRule):
    """Nan or infinite elements; one finding for all tensors and workers of a step.

    Large finite values are not its business.
    """

    name = "exploding_tensor"
    sign = "exploded"
    view = EvidenceView(statistic="l2")
    compat: ClassVar[Mapping[str, object]] = {
        "exclude_regex": None,
        "amp_skips": 1,
        "skip_unlabeled": False,
    }

    collection_names: Sequence[str] = parameter((), "Only tensors of these collections.")
    tensor_regex: Sequence[str] = parameter(
        (), "And those whose name matches one of these. With both empty, all tensors."
    )
    only_nan: bool = parameter(False, "Let infinities be.")
    amp_skips: int = parameter(
        3, "Excuse gradients that a scaler skips, less often in a row; 1 in compat.", at_least=1
    )
    allow_masks: bool = parameter(
        False, "Outputs, inputs and predictions may hold minus infinity, as masked scores do."
    )
    exclude_regex: str | None = parameter(
        MASKS, "Not tensors whose name matches; `none` in compat.", regex=True
    )
    skip_unlabeled: bool = parameter(
        True,
        "Labels may be nan where all losses are finite, as of rows without a label that a mask"
        " leaves out; `false` in compat.",
    )

    def begin(self) -> None:
        self._tensors = Selection(
            self.collection_names,
            self.tensor_regex,
            keep=lambda _, info: info.collection not in _MEASURES,
        )

    def check(self, step: StepView) -> Findings:
        bad: list[TensorView] = []
        for group, _ in self._tensors.groups(step):
            excused = self.excuses(step, group.record.worker)
            # nothing non-finite in the whole step, at nearly every step of nearly every run
            if step.has_non_finite(group.record):
                bad += group.where(self._bad(group, excused=excused))
        if bad:
            yield self._finding(step, bad)
        else:
            self._end_if_finite(step)

    def _bad(self, group: TensorGroup, *, excused: bool) -> npt.NDArray[np.bool_]:
        counts = group.record.statistics[group.rows, NAN : NEGINF + 1] > 0  # nan: not known
        judged = counts[:, :1] if self.only_nan else counts
        bad = np.asarray(judged.any(axis=1), bool)
        if self.exclude_regex:
            bad &= ~group.record.layout.matching(self.exclude_regex)[group.rows]
        kinds = np.array([info.collection for info in group.infos])
        if excused:
            bad &= ~np.isin(kinds, _BACKWARD)
        if self.skip_unlabeled and bad.any() and _has_finite_losses(group.record):
            bad &= kinds != "labels"
        if self.allow_masks:
            bad &= counts[:, :2].any(axis=1) | ~np.isin(kinds, ("outputs", "inputs", "predictions"))
        return bad

    def _finding(self, step: StepView, bad: Sequence[TensorView]) -> Finding:
        first = min(bad, key=lambda tensor: _ORDER.get(tensor.info.collection, 9))
        row = np.nan_to_num(first.record.statistics[first.row])
        counts = {"nan": int(row[NAN]), "posinf": int(row[POSINF]), "neginf": int(row[NEGINF])}
        infinite = counts["posinf"] + counts["neginf"]
        names = list(dict.fromkeys(tensor.name for tensor in bad))
        workers = {tensor.worker for tensor in bad}
        where = f" in {len(workers)} workers" if len(workers) > 1 else ""
        are = f"{len(names)} tensors{where} are" if len(names) > 1 else f"it{where} is"
        others = f"; {are} affected, this is the first" if len(bad) > 1 else ""
        self._episode = self._episode or first.worker
        return self.finding(
            step,
            first.name,
            f"{first.name}: {counts['nan']} nan and {infinite} infinite of"
            f" {first.statistics.count} elements at step {step.train_step}{others}",
            worker=self._episode,
            value=float(counts["nan"] + infinite),
            threshold=0.0,
            severity="error",
            onset=self._went_on(step),
            condition="non_finite",
            remedy="lower the learning rate or clip gradients; check the data, and log, division"
            " and square root near zero",
            evidence={**counts, "tensors": names[:20]},
        )


def _has_finite_losses(record: StepRecord) -> bool:
    """Return whether a step has losses, and all of them are finite."""
    rows = record.layout.rows_of.get("losses", ())
    return len(rows) > 0 and not non_finite(record.statistics[rows]).any()


_CAPTURE_ALL = "ask stepwatch check RUN, which looks at all workers; if it was this one, "
#: What makes values that are not finite of those that are.
_MAKERS = (
    "sqrt, log or a division of what is not above 0, an exponential, and overflow of the dtype"
)
_REMEDIES = {
    "data": "look at the batch of this step, and at what prepares it, such as a division by a"
    " standard deviation of 0; filter or repair its samples",
    "previous update": "look at the step before: lower the learning rate, clip gradients, check"
    " the optimizer's state",
    "output": f"look in it for {_MAKERS}",
    "loss": "look for log of zero or overflow in the loss; clamp its input or use the version"
    " that takes logits",
    "no elements": "see why the mask or the selection leaves nothing, or every label is the one"
    " that is ignored; skip such a batch, or divide by at least 1",
    "unknown": "what made it was not observed: train with --budget none, which observes each step",
    "gradient": "look for square root or norm at zero and for overflow in the backward pass of"
    " this layer; in low precision, check the loss scale",
}


class NonFiniteOrigin(NonFiniteRule):
    """Where the first nan or infinity came from; everything after it is only its victim."""

    name = "non_finite_origin"
    sign: ClassVar[Mapping[str, str]] = {"data": "bad_data", "*": "non_finite"}
    view = EvidenceView(statistic="l2")

    whitelist_regex: str | None = parameter(
        MASKS, "Tensors whose name matches may be non-finite.", regex=True
    )
    max_frames: int = parameter(
        20, "How many of the affected outputs are named as evidence.", at_least=1
    )
    amp_skips: int = parameter(3, "As in `exploding_tensor`.", at_least=1)

    def check(self, step: StepView) -> Findings:
        origins: list[tuple[str, Origin]] = []
        for record in step.records:
            excused = self.excuses(step, record.worker)
            if step.has_non_finite(record):
                origin = find_origin(
                    step, record, whitelist=self.whitelist_regex, backward=not excused
                )
                if origin is not None:
                    origins.append((record.worker, origin))
        if not origins:
            self._end_if_finite(step)
            return
        # one worker's nan reaches the others by way of the gradients: the earliest stage is it
        worker, origin = min(origins, key=lambda pair: pair[1].stage)
        yield self._finding(step, worker, origin)

    def _finding(self, step: StepView, worker: str, origin: Origin) -> Finding:
        tensor = origin.tensor
        evidence = self._evidence(origin)
        headroom = evidence.get("headroom_bits")
        near = (
            f"; its inputs and parameters were within {number(float(headroom))} bits of overflow"
            if isinstance(headroom, float) and headroom < 8
            else ""
        )
        maybe_others = origin.cause == "gradient" and step.others
        spoiled = [
            one
            for one in step.tensors("losses")
            if one.statistics.non_finite and one.name != tensor.name
        ]
        loss = ""
        if spoiled:
            what = "NaN" if spoiled[0].statistics.nan else "infinite"
            loss = f"loss is {what} from step {step.train_step}; first in {_place(tensor.name)}"
        self._episode = self._episode or worker
        found = "; found" if origin.cause == "previous update" else ""
        return self.finding(
            step,
            tensor.name,
            f"{loss}: {_counts_alone(origin.sentence, tensor.name)}{near}"
            if loss
            else f"{origin.sentence}{found} at step {step.train_step}{near}",
            worker=self._episode,
            value=float(tensor.statistics.non_finite),
            threshold=0.0,
            severity="error",
            onset=self._went_on(step),
            condition="non_finite",
            remedy=_CAPTURE_ALL * maybe_others + (origin.remedy or _REMEDIES[origin.cause]),
            evidence={"cause": origin.cause, "origin_worker": worker, **evidence},
        )

    def _evidence(self, origin: Origin) -> dict[str, object]:
        tensor = origin.tensor
        row = tensor.statistics
        sizes = {
            "input_abs_max": _largest(origin.inputs),
            "parameter_abs_max": _largest(origin.parameters),
        }
        largest = max((size for size in sizes.values() if not math.isnan(size)), default=math.nan)
        numbers = {**sizes, "headroom_bits": headroom_bits(tensor.info.dtype, largest)}
        return {
            "nan": row.nan,
            "posinf": row.posinf,
            "neginf": row.neginf,
            "count": row.count,
            "dtype": tensor.info.dtype,
            **{name: value for name, value in numbers.items() if not math.isnan(value)},
            **origin.notes,
            "frames": list(origin.affected[: self.max_frames]),
            "affected": listed(origin.affected),
        }


def _counts_alone(sentence: str, tensor: str) -> str:
    """Return a sentence without the name of data, of which it was said before where they are.

    Example:
        >>> _counts_alone("batch/0 (1 NaN of 500 elements): the data are not finite", "batch/0")
        '1 NaN of 500 elements; the data are not finite'
    """
    if tensor.partition("/")[0] not in _DATA or not sentence.startswith(f"{tensor} ("):
        return sentence
    return sentence[len(tensor) + 2 :].replace("): ", "; ", 1)


# What tensors are called that a script gives to the model.
_DATA = ("input", "batch", "label")
_BEFORE = re.compile(r"(?P<operation>\S+) \(before (?P<layer>.+)\)")


def _place(tensor: str) -> str:
    """Return what a tensor is, in words.

    Example:
        >>> _place("input/Sequential/0"), _place("gradient/fc.weight"), _place("fc.weight")
        ('the input of Sequential', 'the gradient of fc.weight', 'fc.weight')
        >>> _place("input/addmm (before 0)")
        'the input of layer 0 (addmm)'
    """
    kind, _, rest = tensor.partition("/")
    of = rest.partition("/")[0]
    if inside := _BEFORE.fullmatch(of):
        of = f"layer {inside['layer']} ({inside['operation']})"
    texts = {
        "input": f"the input of {of}",
        "output": f"the output of {of}",
        "gradient": f"the gradient of {rest}",
        "label": f"the targets of {of}",
        "batch": "the batch",
    }
    return texts.get(kind, tensor) if rest else tensor


def _largest(group: TensorGroup) -> float:
    """Return the largest finite magnitude in a group; nan when there is none."""
    values = group.quantity("abs_max")
    finite = values[~np.isnan(values)]
    return float(finite.max()) if len(finite) else math.nan
