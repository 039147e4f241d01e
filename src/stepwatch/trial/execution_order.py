"""The order in which a step comes to its tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..formats.native.text_columns import text_codes
from ..steps import Mode

if TYPE_CHECKING:
    from .trial import Trial

_COLUMNS = ("step", "order", "tensor")


def execution_order(trial: Trial) -> dict[str, int]:
    """Return the tensors of the first step of each mode, numbered as they come there.

    Read are their names alone: a step may hold many thousands.
    """
    found: dict[str, int] = {}
    for mode in trial.modes:
        first = int(trial.global_steps(mode)[0])
        for _, table in trial.reader.observations(None, _COLUMNS, (Mode.GLOBAL, first)):
            rows = (table.column("step").to_numpy() == first).nonzero()[0]
            orders = table.column("order").to_numpy()[rows]
            names = text_codes(table.column("tensor"))
            for code in names.codes[rows[orders.argsort()]]:
                found.setdefault(names.values[code], len(found))
    return found


def in_order(names: Iterable[str], order: Mapping[str, int]) -> list[str]:
    """Return tensors in an order; those that are not in it come last, by name.

    Example:
        >>> in_order(["b", "a", "loss"], {"loss": 0})
        ['loss', 'a', 'b']
    """
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))
