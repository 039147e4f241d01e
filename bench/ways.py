"""The ways to train that are compared: without a tool, and with us."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from models import Training
from torch.utils.hooks import RemovableHandle

from stepwatch import Profiler, SavePolicy, Schedule
from stepwatch.hooks.torch import TorchHook
from stepwatch.model.collection import Policy

NONE = "none"  # what every other way is compared with
HAS_BLACK_BOX = "black_box_mb" in inspect.signature(TorchHook).parameters
BLACK_BOX_MB = 64
#: Each watched way numbers its hooks from one of these on.
HUNDREDS = count(1_000_000, 100)


@dataclass(frozen=True)
class Written:
    """What a way left behind.

    Args:
        size_bytes: Of all its files.
        dropped: Steps that it did not store; ``None`` where it does not say.
    """

    size_bytes: int = 0
    dropped: int | None = None


class Plain(Training):
    """No tool at all.

    Args:
        kind: A key of ``models.KINDS``.
        folder: Where to write; need not exist.
        compiled: Whether the model is compiled.
    """

    def __init__(self, kind: str, folder: Path, *, compiled: bool = False) -> None:
        super().__init__(kind, compiled=compiled)
        self.folder = folder

    def settle(self) -> None:
        """Wait for what was begun in the background."""

    def close(self) -> Written:
        """Write what is left and say what was written."""
        return Written(bytes_in(self.folder))


class Watched(Plain):
    """Watched by us; the hook is there only while this model trains.

    Args:
        kind: A key of ``models.KINDS``.
        folder: Where to write.
        compiled: Whether the model is compiled.
        policy: What to save.
        black_box_mb: Memory for the black box; 0 for none.
        profiled: Whether it is told where the time goes.
    """

    def __init__(
        self,
        kind: str,
        folder: Path,
        *,
        compiled: bool = False,
        policy: Policy = None,
        black_box_mb: int = 0,
        profiled: bool = False,
    ) -> None:
        super().__init__(kind, folder, compiled=compiled)
        self._first_number = next(HUNDREDS)
        more: dict[str, Any] = {"black_box_mb": black_box_mb} if HAS_BLACK_BOX else {}
        more |= {"listeners": [Profiler()]} if profiled else {}
        self.hook = TorchHook(
            self.model, run=folder, policy=policy, say=lambda _: None, strict=True, **more
        )
        self.hook.detach()

    def step(self) -> float:
        # Compiled code knows hooks by number; one that is there all the time has always the same.
        RemovableHandle.next_id, others = self._first_number, RemovableHandle.next_id
        self.hook.attach()
        RemovableHandle.next_id = others
        try:
            return super().step()
        finally:
            self.hook.detach()

    def settle(self) -> None:
        self.hook.recorder.flush()

    def close(self) -> Written:
        dropped = self.hook.close().dropped
        return Written(bytes_in(self.folder), dropped)


@dataclass(frozen=True)
class Way:
    """One way to train.

    Args:
        make: Makes the training; takes a kind, a folder and whether to compile.
        every: It does its work every so many steps, and those of a measurement should be a
            multiple of it.
        target: The ratio to no tool that is to be held.
        of_totals: Whether that is the ratio of totals; else it is the median over the rounds.
    """

    make: Callable[..., Plain]
    every: int = 1
    target: float | None = None
    of_totals: bool = False


def watched(policy: Policy, **options: Any) -> Callable[..., Plain]:
    """Return what makes a training that is watched with a policy."""

    def make(kind: str, folder: Path, *, compiled: bool = False) -> Plain:
        return Watched(kind, folder, compiled=compiled, policy=policy, **options)

    return make


RAW_10: Policy = ["weights:raw:every=10", "gradients:raw:every=10"]
OURS: dict[str, Way] = {
    NONE: Way(Plain),
    "none-again": Way(Plain),
    "statistics": Way(watched(None), target=1.03),
    "raw-10": Way(watched(RAW_10), 10, target=1.05, of_totals=True),
    "all-raw-50": Way(watched(SavePolicy(raw=Schedule(every=50))), 50),
}
if HAS_BLACK_BOX:
    nothing = SavePolicy(statistics=None)
    OURS["black-box"] = Way(watched(nothing, black_box_mb=BLACK_BOX_MB), target=1.01)
    OURS["profile"] = Way(watched(nothing, profiled=True), target=1.01)


def bytes_in(folder: Path) -> int:
    """Return the size of all files below a folder, which need not exist; in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
