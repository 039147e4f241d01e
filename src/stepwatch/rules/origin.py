"""Finding the tensor in which the first nan or infinity of a step came to be.

Of a step are known the parameters from before it, the outputs of modules in the order in which
they ended (so children before their parent), the inputs of modules whose output is not finite,
the losses and the gradients. The first of these stages that is not finite is the cause of the
others. Among outputs, a module that got finite inputs made what is wrong; one that did not only
passed it on. Gradients that are averaged bring in what another worker made: where nothing else is
not finite, each of the workers may have been it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..record import StepRecord
from ..statistics import COUNT, NAN, NEGINF, POSINF
from .step_view import StepView, TensorGroup, TensorView

Cause = Literal["previous update", "data", "output", "loss", "gradient"]
#: In the order in which they happen within a step.
CAUSES: tuple[Cause, ...] = ("previous update", "data", "output", "loss", "gradient")

# What smdebug's names of inputs and outputs end in.
_PLACE = re.compile(r"_(input|output)_\d+$")


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
    """

    cause: Cause
    tensor: TensorView
    sentence: str
    inputs: TensorGroup
    parameters: TensorGroup
    affected: tuple[str, ...] = ()
    notes: Mapping[str, object] = field(default_factory=dict)

    @property
    def stage(self) -> int:
        """Its place in ``CAUSES``."""
        return CAUSES.index(self.cause)


def find_origin(
    step: StepView, record: StepRecord, *, whitelist: str | None, backward: bool
) -> Origin | None:
    """Return where the non-finite values of one worker's step came from.

    Args:
        step: The step; only tensors that it shows are looked at.
        record: What the worker saw of it.
        whitelist: Tensors in whose name this finds itself may be non-finite.
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
        for kind in ("weights", "inputs", "outputs", "losses", "gradients"):
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
        sentence = f"{tensor.name} ({self._counts(bad[0])}) was not finite {before}; found"
        more = {"non_finite_parameters": len(bad)}
        return Origin(
            "previous update", tensor, sentence, self._group([]), self._group([]), notes=more
        )

    def _from_outputs(self, bad: list[tuple[int, str]]) -> Origin:
        affected = tuple(self._name(row) for row, _ in bad)
        root_inputs = [row for row in self._inputs_of(self._root) if self._hard[row]]
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
        sentence = (
            f"{self._name(row)} ({self._counts(row)}) is the first output that is not finite,"
            " its inputs were not captured"
        )
        parts = self._tensor(row), sentence, self._group([]), self._parameters_of(module)
        return Origin("output", *parts, affected=affected)

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
        child = next((at for at, name in bad if at < row and self._is_inside(name, module)), None)
        until = row if child is None else child
        before = [at for at, _ in self._outputs if at < until and not self._bad[at]]
        sentence = (
            f"{self._name(row)} ({self._counts(row)}) is the first output that is not finite,"
            " made from finite inputs and parameters"
        )
        notes: dict[str, object] = {}
        if before:
            notes["last_finite_before"] = self._name(before[-1])
        if child is not None:
            notes["first_bad_inside"] = self._name(child)
            sentence += f", inside of it before {self._name(child)}" + (
                f" and after {self._name(before[-1])}" if before else ""
            )
        return Origin(
            "output",
            self._tensor(row),
            sentence,
            self._group(self._inputs_of(module)),
            self._parameters_of(module),
            affected=affected,
            notes=notes,
        )

    def _from_loss(self, bad: npt.NDArray[np.intp]) -> Origin:
        outputs = [self._outputs[-1][0]] if self._outputs else []
        sentence = f"{self._name(bad[0])} ({self._counts(bad[0])}) is not finite, though " + (
            "every output is: the loss itself made it so" if outputs else "no output was captured"
        )
        return Origin("loss", self._tensor(bad[0]), sentence, self._group(outputs), self._group([]))

    def _from_gradients(self, bad: npt.NDArray[np.intp]) -> Origin:
        ends = {module: row for row, module in self._outputs}
        last = max(bad.tolist(), key=lambda row: (self._end(self._name(row), ends), row))
        parameter = self._name(last).removeprefix("gradient/")
        module = parameter.rpartition(".")[0]
        came = "it came from another worker, if gradients are averaged, or" * self._maybe_others
        sentence = (
            f"{self._name(last)} ({self._counts(last)}) is not finite, though the forward pass"
            f" was: {came or 'it'} arose in the backward pass of"
            f" {module or self._root or parameter} or of what comes after it"
        )
        return Origin(
            "gradient",
            self._tensor(last),
            sentence,
            self._group([ends[module]] if module in ends else []),
            self._parameters_of(module),
            affected=tuple(self._name(row) for row in bad),
            notes={"or_another_worker": True} if self._maybe_others else {},
        )

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

        In smdebug's words, of ``<module>_output_<i>``.
        """
        return _PLACE.sub("", self._name(row)).split("/", 2)[:2][-1]

    def _name(self, row: int) -> str:
        return self.record.layout.tensors[row].name

    def _tensor(self, row: int) -> TensorView:
        return TensorView(self.record, int(row))

    def _group(self, rows: list[int]) -> TensorGroup:
        return TensorGroup(self.record, np.array(rows, np.intp))

    def _counts(self, row: int) -> str:
        values = np.nan_to_num(self.record.statistics[row])
        infinite = int(values[POSINF] + values[NEGINF])
        return f"{int(values[NAN])} nan, {infinite} infinite of {int(values[COUNT])}"
