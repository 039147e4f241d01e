"""Every optimizer that lives."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any
from weakref import WeakSet, ref

import torch


class Optimizers:
    """Every optimizer that lives: in the order in which they first stepped, then all others.

    Where a script steps several it is always in this order, so it is the same whenever the script
    is run. In which order they are met is up to the garbage collector.

    There is no hook for the making of an optimizer, so whoever steps for the first time makes
    us look at all objects once. What is found so may never step: it is left over, from an
    earlier cell of a notebook.

    Args:
        is_ours: Which optimizers count.
    """

    def __init__(self, is_ours: Callable[[torch.optim.Optimizer], bool] = lambda _: True) -> None:
        self._is_ours = is_ours
        self._known: list[ref[torch.optim.Optimizer]] = []
        self._stepped: WeakSet[torch.optim.Optimizer] = WeakSet()
        self._asked = self._looks = 0
        #: Grows whenever another one is met or steps for the first time.
        self.version = 0

    def __iter__(self) -> Iterator[torch.optim.Optimizer]:
        return (optimizer for known in self._known if (optimizer := known()) is not None)

    @property
    def stepped(self) -> list[torch.optim.Optimizer]:
        """Those that stepped or are about to, at least once."""
        return [optimizer for optimizer in self if optimizer in self._stepped]

    def steps(self, optimizer: torch.optim.Optimizer) -> None:
        """This one is about to step: know it from here on, and whatever others there are."""
        if optimizer not in self._stepped:
            self.look()
            others = [known for known in self if known is not optimizer]
            others.insert(len(self.stepped), optimizer)
            self._known = list(map(ref, others))
            self._stepped.add(optimizer)
            self.version += 1

    def look(self) -> None:
        """Find optimizers that were made since; ever more rarely, it costs 100 ms."""
        self._looks += 1
        if self._looks > 16 and self._looks & (self._looks - 1):
            return
        self._known = [known for known in self._known if known() is not None]
        known = {id(optimizer) for optimizer in self}
        for thing in gc.get_objects():
            # type(), not isinstance(): proxies may run code of their own when asked.
            is_optimizer = issubclass(type(thing), torch.optim.Optimizer)
            is_new = is_optimizer and id(thing) not in known and hasattr(thing, "param_groups")
            if is_new and self._is_ours(thing):
                self._known.append(ref(thing))
                self.version += 1

    def may_hold(self, model: torch.nn.Module) -> bool:
        """Return whether a model is one to be trained: an optimizer holds of it, or none lives."""
        self.look()
        held = {id(p) for each in self for group in each.param_groups for p in group["params"]}
        return not held or any(id(parameter) in held for parameter in model.parameters())

    def look_ever_more_rarely(self) -> None:
        """Look, but not every time that this is asked for: looking costs milliseconds."""
        self._asked += 1
        if self._asked & (self._asked - 1) == 0:  # 1, 2, 4, 8 ...
            self.look()

    def numbered_groups(
        self, optimizer: torch.optim.Optimizer
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the groups of an optimizer, counted over all optimizers that step."""
        before = takewhile(lambda known: known is not optimizer, self.stepped)
        first = sum(len(other.param_groups) for other in before)
        return enumerate(optimizer.param_groups, first)
