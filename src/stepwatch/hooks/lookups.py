"""Whose ids embeddings are looked up by: their own, or those of another table of the model.

Two mistakes leave no trace in any number that is computed. Negatives are drawn from
``range(n_users)`` where items were meant, so that the other items are never one; and a table of
items is looked up by users. Both are only known by all tables of a model together, and by what else
is known of each sample. Of a model with one table nothing is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: At most so many steps are looked at, so many lookups of each, and so many ids of these.
_MOST_LOOKS, _MOST_CALLS, MOST_IDS = 64, 32, 1 << 16
#: And so many at least.
_LEAST_LOOKS = 5
#: Of fewer ids nothing is said.
_LEAST_IDS = 400
#: Ids that are drawn from a range fill it: each of so many parts of it holds so much of its share,
_PARTS, _LEAST_SHARE, _MOST_SHARE = 8, 0.6, 1.5
#: what is left beyond the largest is within so many times what is to be expected,
_TO_END = 10.0
#: and if all rows were drawn from, none beyond the range would have a chance of e to this.
_CHANCE = -20.0
#: Of the other ids of a table so many are beyond the range, and of those within it so many of what
#: an even draw has there.
_BEYOND, _WITHIN = 0.05, 0.3

Ids = npt.NDArray[np.int64]


def as_whole(numbers: npt.NDArray[np.generic]) -> Ids | None:
    """Return whole numbers as such, of whatever dtype; ``None`` if some are none."""
    with np.errstate(invalid="ignore"):
        whole = numbers.astype(np.int64, copy=False)
    return whole if (whole == numbers).all() else None


@dataclass(frozen=True, slots=True)
class _Call:
    """What a table was given in a step, in any but one call of equal ids.

    Args:
        table: Its name.
        ids: A copy; shape ``[samples]`` or ``[samples, ids]``.
        flags: Where what is 0 or 1 for each sample is 1, by its name.
    """

    table: str
    ids: Ids
    flags: dict[str, npt.NDArray[np.bool_]]

    def pairs(self) -> Iterator[tuple[str, Ids, Ids]]:
        """Yield what the ids may be put together of, as positives and negatives are: two parts."""
        if self.ids.ndim == 2 and self.ids.shape[1] > 1:
            yield "columns", self.ids[:, :1], self.ids[:, 1:]
        elif len(self.ids) % 2 == 0:
            half = len(self.ids) // 2
            yield "halves", self.ids[:half], self.ids[half:]
        for name, is_one in self.flags.items():
            yield name, self.ids[is_one], self.ids[~is_one]


@dataclass(slots=True)
class _Drawn:
    """What is known of some ids of a table by the rows of another one.

    Args:
        rows: Of the other table.
    """

    rows: int
    num_ids: int = 0
    num_beyond: int = 0
    largest: int = -1
    counts: Ids = field(default_factory=lambda: np.zeros(_PARTS, np.int64))

    def add(self, ids: Ids) -> None:
        """Add those of a step."""
        within = ids[(ids >= 0) & (ids < self.rows)]
        self.num_ids += ids.size
        self.num_beyond += ids.size - within.size
        self.largest = max(self.largest, int(ids.max(initial=-1)))
        self.counts += np.bincount(within * _PARTS // self.rows, minlength=_PARTS)

    def is_of_other(self, rows: int) -> bool:
        """Return whether they are drawn from the range of the other table.

        Args:
            rows: Of the table that is given them.
        """
        if self.num_beyond or self.num_ids < _LEAST_IDS:
            return False
        share = self.num_ids / _PARTS
        is_even = self.counts.min() > _LEAST_SHARE * share
        is_even &= self.counts.max() < _MOST_SHARE * share
        is_whole = (self.rows - 1 - self.largest) * self.num_ids <= _TO_END * self.rows
        return bool(is_even and is_whole) and self.num_ids * np.log(self.rows / rows) < _CHANCE

    def is_of_all(self, rows: int) -> bool:
        """Return whether they lie within and beyond that range, as ids of all rows do."""
        if self.num_ids < _LEAST_IDS:
            return False
        beyond = self.num_beyond / self.num_ids
        return beyond >= _BEYOND and 1 - beyond >= _WITHIN * self.rows / rows


class _Which(NamedTuple):
    """Which ids of a step.

    Args:
        table: That is given them.
        rows: Of another table.
        call: The number of the lookup of the table, among those of other ids.
        pair: What the ids are put together of, as ``_Call.pairs`` has it; empty for all of them.
        part: Which of the two parts.
    """

    table: str
    rows: int
    call: int
    pair: str = ""
    part: int = 0

    def is_beside(self, other: _Which) -> bool:
        """Return whether these are of the same table: of another lookup, or the other part."""
        if self[:2] != other[:2] or self.pair != other.pair:
            return False
        return self.call != other.call if not self.pair else self.call == other.call


class Lookups:
    """What the tables of a training are given, in its first steps."""

    def __init__(self) -> None:
        self._num_looks = 0
        # The rows of each table, and those tables that were there before this step.
        self._rows: dict[str, int] = {}
        self._known: frozenset[str] = frozenset()
        self._calls: list[_Call] = []
        self._drawn: dict[_Which, _Drawn] = {}
        # Whether the first of two tables was only ever given ids of the second; and of which two
        # tables the first has other ids that it could be given.
        self._borrowed: dict[tuple[str, str], bool] = {}
        self._own_ids: set[tuple[str, str]] = set()

    @property
    def is_open(self) -> bool:
        """Whether more of it is to be known."""
        return self._num_looks < _MOST_LOOKS and len(self._calls) < _MOST_CALLS

    def wants(self, table: str, rows: int) -> bool:
        """Note a table, and return whether its ids are to be noted: there are others.

        In the step in which it is new that is not known yet.
        """
        self._rows[table] = rows
        return table in self._known and len(self._known) > 1

    def note(self, table: str, ids: Ids, columns: Callable[[], Mapping[str, Ids]]) -> None:
        """Note what a table is given.

        Args:
            table: One that was noted.
            ids: Shape ``[samples]`` or ``[samples, ids]``; not held.
            columns: Returns what else is known of each sample, by name: whole numbers, of shape
                ``[samples]``.
        """
        if ids.ndim == 2 and ids.shape[1] == 1:
            ids = ids[:, 0]
        if ids.size < 2 or (np.diff(ids) == 1).all():  # it counts positions
            return
        alike = [one for one in self._calls if np.array_equal(one.ids, ids)]
        if any(one.table == table for one in alike):
            return
        known = columns()
        flags = {name: one == 1 for name, one in known.items() if one.max() == 1 and not one.min()}
        for other in alike:
            small, large = sorted((table, other.table), key=self._rows.__getitem__)
            if any(self._are_of_larger(one, small, large) for one in known.values()):
                self._own_ids.add((large, small))
        self._calls.append(_Call(table, ids.copy(), flags))

    def _are_of_larger(self, ids: Ids, small: str, large: str) -> bool:
        """Return whether some ids have rows in the larger of two tables only."""
        is_beyond = ids >= self._rows[small]
        is_known = ids.min() >= 0 and ids.max() < self._rows[large]
        return bool(is_known and is_beyond.mean() >= _BEYOND)

    def step_ends(self) -> None:
        """Add what was noted in a step to what is known of all."""
        calls, self._calls = self._calls, []
        self._num_looks += 1
        self._known = frozenset(self._rows)
        if calls:
            self._add(calls)
            self._compare(calls)

    def found(self) -> dict[str, float]:
        """Return what is known of all steps, as numbers of the collection ``setup`` by name."""
        if not self._known or self._num_looks <= _LEAST_LOOKS:
            return {}
        return dict(self._of_other_ranges()) | dict(self._of_other_tables())

    def _add(self, calls: list[_Call]) -> None:
        """Add what tables were given to what is known of it by the rows of the others.

        Those count of which each sample has one as well.
        """
        numbers = dict.fromkeys(self._rows, 0)
        for call in calls:
            number = numbers[call.table]
            numbers[call.table] += 1
            others = {
                self._rows[one.table]
                for one in calls
                if len(one.ids) == len(call.ids) and self._rows[one.table] < self._rows[call.table]
            }
            for rows in others:
                self._add_to(_Which(call.table, rows, number), call.ids)
                for pair, first, second in call.pairs():
                    self._add_to(_Which(call.table, rows, number, pair, 0), first)
                    self._add_to(_Which(call.table, rows, number, pair, 1), second)

    def _add_to(self, which: _Which, ids: Ids) -> None:
        self._drawn.setdefault(which, _Drawn(which.rows)).add(ids)

    def _of_other_ranges(self) -> Iterator[tuple[str, float]]:
        """Yield the tables some of whose ids are drawn from the range of another one."""
        for which, drawn in self._drawn.items():
            rows = self._rows[which.table]
            if not drawn.is_of_other(rows):
                continue
            beside = (one for key, one in self._drawn.items() if key.is_beside(which))
            if any(one.is_of_all(rows) for one in beside):
                other = next(name for name, size in self._rows.items() if size == which.rows)
                yield f"setup/other_range/{which.table}>{other}", float(which.rows)

    def _compare(self, calls: list[_Call]) -> None:
        """Note which tables were only given ids of which others."""
        given: dict[str, list[Ids]] = {}
        for call in calls:
            given.setdefault(call.table, []).append(call.ids)
        for table, mine in given.items():
            for other in self._rows.keys() - {table}:
                known = given.get(other, [])
                pair = table, other
                self._borrowed[pair] = self._borrowed.get(pair, True) and all(
                    any(np.array_equal(one, another) for another in known) for one in mine
                )
                if self._borrowed[pair] and self._is_other_kind(table, other, given):
                    self._own_ids.add(pair)

    def _is_other_kind(self, table: str, other: str, given: Mapping[str, list[Ids]]) -> bool:
        """Return whether two tables are not of one kind, by their names, as a third one shows.

        That is of the kind of the first, and is given ids of neither.
        """
        kind = _kind(table)
        if not kind or _kind(other) in (kind, frozenset()):
            return False
        taken = [ids for name in (table, other) for ids in given[name]]
        return any(
            _kind(name) == kind
            and self._rows[name] == self._rows[table]
            and not any(np.array_equal(one, another) for one in ids for another in taken)
            for name, ids in given.items()
        )

    def _of_other_tables(self) -> Iterator[tuple[str, float]]:
        """Yield the tables that are only given the ids of another one, and have others to be given.

        One of several tables of the other kind stands for all of these.
        """
        pairs = sorted((pair for pair in self._own_ids if self._borrowed.get(pair)), reverse=True)
        for table, other in dict(pairs).items():
            yield f"setup/other_ids/{table}>{other}", float(self._rows[other])


# What the rows of a table are, in its name beside that of whose they are.
_ROLES = frozenset({
    *("emb", "embs", "embed", "embeds", "embedding", "embeddings", "bias", "biases", "b"),
    *("factor", "factors", "latent", "vec", "vecs", "vector", "vectors", "weight", "weights", "w"),
    *("table", "lookup", "linear", "mf", "mlp", "gmf", "e"),
})  # fmt: skip
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def _kind(name: str) -> frozenset[str]:
    """Return whose rows a table has, by its name.

    Example:
        >>> _kind("model.item_bias") == _kind("model.embed_item") == {"item"}
        True
    """
    words = (word.lower() for word in _WORD.findall(name.rpartition(".")[2]))
    return frozenset(words) - _ROLES
