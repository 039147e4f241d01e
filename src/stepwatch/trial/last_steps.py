"""The last steps of a training, as its black box kept them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..formats.blackbox import BEGIN_FRAME, Frame, step_records
from ..model.record import StepRecord
from ..model.steps import TRAINS, train_step
from ..numerics.digest import digest
from ..numerics.statistics import NAN, NEGINF, SUM_SQ, quantity

_OWN = ("loop", "optimizer")


@dataclass(slots=True)
class Moment:
    """One step as the black box knows it.

    Args:
        worker: The worker that took it.
        mode: Its mode.
        mode_step: The step within the mode.
        frames: What was kept of it, in order.
        record: What was observed, once it was over.
        after: Of a step that does not train, the TRAIN step before it; -1 where there was none.
    """

    worker: str
    mode: str
    mode_step: int
    frames: list[Frame] = field(default_factory=list)
    record: StepRecord | None = None
    after: int = -1

    @property
    def step(self) -> int:
        """The global step; announced where it was not over."""
        return int(self.frames[0].meta["step"])

    @property
    def batch(self) -> list[dict[str, object]]:
        """The tensors that the model was given: name, dtype, shape, and digest if it was kept."""
        found = []
        for frame in self.frames:
            for name, facts in frame.meta["batch"].items() if frame.kind == BEGIN_FRAME else ():
                array = frame.arrays.get(name)
                kept = {} if array is None else {"digest": f"{digest(array):016x}"}
                found.append({"name": name, **facts, **kept})
        return found

    def value(self, collection: str) -> float | None:
        """Return the mean of the first tensor of a collection; ``None`` if there is none."""
        rows = self._rows(collection)
        if self.record is None or rows is None:
            return None
        return float(quantity(self.record.statistics[rows[0]], "mean"))

    def gradient_norm(self) -> float | None:
        """Return the norm of all finite elements of all gradients; ``None`` if there are none."""
        rows = self._rows("gradients")
        if self.record is None or rows is None:
            return None
        return float(np.sqrt(self.record.statistics[rows, SUM_SQ].sum()))

    def bad(self) -> list[tuple[str, int]]:
        """Return the tensors that are not finite, in the order in which they were observed.

        What we note of the training loop ourselves is none of them: nan is not known there.
        """
        if self.record is None:
            return []
        counts = self.record.statistics[:, NAN : NEGINF + 1].sum(axis=1)
        tensors = self.record.layout.tensors
        found = [(tensors[row], int(counts[row])) for row in np.flatnonzero(counts)]
        return [(one.name, count) for one, count in found if one.collection not in _OWN]

    @property
    def train_step(self) -> int:
        """The TRAIN step that people count by; that which training had come to elsewhere."""
        return train_step(self.mode, self.step, self.mode_step)

    @property
    def place(self) -> str:
        """The step as people count: ``503``, or ``eval 104, after step 503``."""
        if self.mode in TRAINS:
            return str(self.mode_step)
        where = f"after step {self.after}" if self.after >= 0 else "before training"
        return f"{self.mode.lower()} {self.mode_step}, {where}"

    def facts(self, end_ns: int) -> dict[str, object]:
        """Return the numbers of the step by name.

        Args:
            end_ns: When the last frame was written.
        """
        return {
            "step": self.step,
            "mode": self.mode,
            "mode_step": self.mode_step,
            "train_step": self.train_step,
            "place": self.place,
            "worker": self.worker,
            "before_end_s": (end_ns - int(self.frames[-1].meta["time_ns"])) / 1e9,
            "recorded": self.record is not None,
            "loss": self.value("losses"),
            "learning_rate": self.value("learning_rates"),
            "gradient_norm": self.gradient_norm(),
            "non_finite": len(self.bad()),
        }

    def _rows(self, collection: str) -> npt.NDArray[np.intp] | None:
        return self.record.layout.rows_of.get(collection) if self.record else None


def moments_of(frames: Iterable[Frame]) -> list[Moment]:
    """Return the steps of which something was kept, in the order in which they began."""
    frames = list(frames)
    found: dict[tuple[str, str, int], Moment] = {}
    for frame in frames:
        mode, number = str(frame.meta.get("mode", "")), frame.mode_step
        if number >= 0:
            key = (frame.worker, mode, number)
            found.setdefault(key, Moment(*key)).frames.append(frame)
    for record in step_records(frames):
        found[record.worker, str(record.mode), record.mode_step].record = record
    trained: dict[str, int] = {}
    # Frames of several steps may be written at once, later than those of a step that came after.
    in_order = sorted(found.values(), key=lambda one: one.step)
    for one in in_order:
        if one.mode in TRAINS:
            trained[one.worker] = one.mode_step
        # Of what came before all TRAIN steps that are kept, their count tells.
        one.after = trained.get(one.worker, one.train_step - 1)
    return in_order


def end_ns_of(frames: Iterable[Frame]) -> int:
    """Return when the last frame was written, nanoseconds since the Unix epoch; 0 for none."""
    return max((int(frame.meta.get("time_ns", 0)) for frame in frames), default=0)
