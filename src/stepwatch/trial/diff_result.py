"""What ``stepwatch diff`` found."""

from __future__ import annotations

from dataclasses import dataclass

from .bounds import Bound
from .differences import Cause, Difference, causes, differences
from .divergence import Parted, Search
from .two_runs import Pair, TwoRuns


@dataclass(slots=True)
class DiffResult:
    """Where two runs part, and where they are farther apart than may be.

    Args:
        search: What found it.
        parted: Where they part; ``None`` if they do not.
        bound: What was looked for beyond that: ``rounding``, ``tolerance`` or ``noise``.
        beyond: Where it is passed; ``None`` if it is not.
        noise_run: The run that is equal to the first but for noise; empty for none.
        noise_parted: Where these two part; ``None`` if they do not.
    """

    search: Search
    parted: Parted | None
    bound: str = ""
    beyond: Parted | None = None
    noise_run: str = ""
    noise_parted: Pair | None = None

    def judge(self, name: str, bound: Bound) -> None:
        """See where a bound is passed, if they part at all."""
        self.bound = name
        if self.parted:
            self.beyond = self.search.beyond(self.parted, bound)

    @property
    def runs(self) -> TwoRuns:
        """The two."""
        return self.search.runs

    @property
    def same(self) -> bool:
        """Whether they are the same, or near enough for the bound that was asked for."""
        return self.parted is None or (self.bound != "rounding" and self.beyond is None)

    @property
    def place(self) -> Parted | None:
        """Where it matters that they part: beyond the bound if one was asked for."""
        return self.parted if self.bound == "rounding" else self.beyond or self.parted

    @property
    def followed(self) -> str:
        """The tensor whose difference ``curve`` has; empty for none."""
        return self.parted.followed if self.parted else ""

    def causes(self) -> list[Cause]:
        """Return why they part where it matters; nothing if they do not."""
        return causes(self.search, self.place) if self.place else []

    def differences(self, *, most: int | None) -> list[Difference]:
        """Return the first tensors that differ where it matters; all of them for ``None``."""
        if self.place is None:
            return []
        most = len(self.place.rows) if most is None else most
        return differences(self.search, self.place, most=most)

    def curve(self) -> tuple[list[int], list[float]]:
        """Return steps of the first run and how far they are apart there, as a fraction."""
        if self.parted is None:
            return [], []
        places, relative = self.search.curve(self.parted)
        return [self.runs.pair(place).here for place in places], relative
