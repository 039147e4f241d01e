"""Ways that train in turns, step by step, in one process."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from models import num_compiled
from ways import Plain, Written


@dataclass
class Timed:
    """What was measured of one way.

    Args:
        seconds: Of each timed step.
        recompiled: How often the compiler ran while steps were timed; that must be never.
        written: What it left behind.
    """

    seconds: list[float] = field(default_factory=list)
    recompiled: int = 0
    written: Written = field(default_factory=Written)

    @property
    def median(self) -> float:
        """Seconds of the median step."""
        return statistics.median(self.seconds)

    def of_rounds(self, plain: Timed) -> float:
        """Return the median of the ratios, each of a step to the plain one of its round.

        A slow moment of the machine hits both. What is done on one step in ten does not show.
        """
        pairs = zip(self.seconds, plain.seconds, strict=False)  # one may be a step ahead
        return statistics.median(mine / theirs for mine, theirs in pairs)

    def of_totals(self, plain: Timed) -> float:
        """Return the ratio of the totals, in which every step counts."""
        num_steps = min(len(self.seconds), len(plain.seconds))
        return sum(self.seconds[:num_steps]) / sum(plain.seconds[:num_steps])


def take_turns(
    trainings: Mapping[str, Plain],
    found: Mapping[str, Timed],
    *,
    warm_up: int,
    steps: int,
    turn: int,
    say: Callable[[str], None],
) -> None:
    """Train all in turns and note the seconds of each step.

    Args:
        trainings: By name of the way.
        found: By the same names; filled while it goes on, so that it can be broken off.
        warm_up: Steps of each that are not timed; a compiler works in them.
        steps: Timed steps of each.
        turn: Steps in a row before it is the next one's turn.
        say: Told how far it is.
    """
    for number in range(warm_up):
        for name, training in trainings.items():
            say(f"warming up, step {number + 1} of {warm_up}: {name}")
            training.step()
    for training in trainings.values():
        training.settle()
    for number, name in order(list(trainings), steps, turn):
        say(f"step {number + 1} of {steps}: {name}")
        before = num_compiled()
        found[name].seconds.append(trainings[name].step())
        found[name].recompiled += num_compiled() - before


def order(names: list[str], steps: int, turn: int) -> Iterator[tuple[int, str]]:
    """Yield number and way of each step; the order changes, so that none follows always the same.

    Example:
        >>> [name for _, name in order(["a", "b"], 2, 1)]
        ['a', 'b', 'b', 'a']
    """
    for first in range(0, steps, turn):
        shift = first // turn % len(names)
        for name in names[shift:] + names[:shift]:
            for number in range(first, min(first + turn, steps)):
                yield number, name
