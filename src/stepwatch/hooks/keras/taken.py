"""What is met while a step of a model runs, or while one is traced.

A step runs as Python each time, or once: it is traced, and what was traced runs from then on.
Either way the same is called of us: a layer returned, a loss was computed, an optimizer is given
gradients. What is met is noted here, and leaves the step as a further output of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..observed.met import Met


class Taken:
    """Gathers what is met in one step.

    Args:
        place_of: Returns something that is equal as long as values of here may leave the step from
            here: inside of a loop, or of what is differentiated, they may not.
    """

    def __init__(self, place_of: Callable[[], object]) -> None:
        self._place_of = place_of
        self._place = place_of()
        self.met: list[Met] = []
        #: What was met where it cannot leave from, and is not told.
        self.missed: set[str] = set()
        #: The optimizers that were given gradients.
        self.optimizers: list[object] = []

    def add(self, name: str, collection: str, value: Any) -> None:
        """Note a tensor; one that cannot leave the step is noted as missed."""
        if self._place_of() == self._place:
            self.met.append(Met(name, collection, value))
        else:
            self.missed.add(name)

    @contextmanager
    def within(self) -> Iterator[list[Met]]:
        """Enter what is differentiated; yield what is met inside, complete at the end.

        The values are of no use outside; whoever enters brings them out and adds them again.
        """
        outer, place = self.met, self._place
        self.met, self._place = [], self._place_of()
        try:
            yield self.met
        finally:
            self.met, self._place = outer, place
