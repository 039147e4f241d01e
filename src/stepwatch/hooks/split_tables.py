"""Tables that a script splits, as they are before rows are held out.

What was done with all rows before is seen there: a column that was made of the labels of the rows
that are held out as well, and rows of a rare class that were drawn several times, so that copies of
one come to both sides. Whatever is trained later, what is evaluated then was learned by heart.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model.record import TensorInfo
from .data_helpers import Watching
from .script import script_frames
from .shared_rows import shared_rows
from .target_encoding import LEAST_ROWS, may_encode, rows_of_category

Array = npt.NDArray[Any]

#: So many splits of a script are looked at, and tables of so many columns and rows.
_MOST_SPLITS, _MOST_COLUMNS, _MOST_ROWS = 8, 100, 200_000
#: How scripts say which column is the target: ``y = df["click"]``, ``TARGET = "click"``, and
#: ``df.pop("click")``.
_NAMED = re.compile(
    r"\b(?:y|labels?|targets?)\w*\s*=\s*(?:[\w.]+\[\s*)?(['\"])(?P<name>[^'\"]+)\1"
    r"|\.pop\(\s*['\"](?P<popped>[^'\"]+)['\"]",
    re.IGNORECASE,
)


class SplitTables(Watching):
    """Watches ``train_test_split`` of scikit-learn, for tables of pandas."""

    def __init__(self) -> None:
        super().__init__()
        self._num_splits = 0
        self._values: dict[str, float] = {}

    def begin(self) -> None:
        """Watch it, now or once it is imported."""
        self._replaced.when_imported("sklearn.model_selection", self._watch)

    def found(self) -> Iterator[tuple[TensorInfo, Any]]:
        """Yield what was found since it was asked last, as tensors of a step."""
        while self._values:
            name, value = self._values.popitem()
            yield TensorInfo(f"evaluation/{name}", "evaluations", "float64", ()), np.asarray(value)

    def _watch(self) -> None:
        selection = sys.modules["sklearn.model_selection"]
        self._replaced.put(selection, "train_test_split", self._splitting)

    def _splitting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def split(*arrays: Any, **named: Any) -> Any:
            parts = original(*arrays, **named)
            self._num_splits += 1
            if self._num_splits <= _MOST_SPLITS:
                with suppress(Exception):  # whatever is in the tables, the script goes on
                    self._look(arrays, named.get("stratify"), parts)
            return parts

        return split

    def _look(self, arrays: Sequence[Any], stratified: Any, parts: Sequence[Any]) -> None:
        """Look at what was split.

        Args:
            arrays: All of it,
            stratified: and the classes by which, if any;
            parts: of each of them what is trained on, and what is held out.
        """
        for at, table in enumerate(arrays):
            if not 0 < len(getattr(table, "columns", ())) <= _MOST_COLUMNS:
                continue
            if len(table) > _MOST_ROWS:
                continue
            columns = _numbers_of(table)
            named = _targets_in(columns, stratified)
            others = [one for number, one in enumerate(arrays) if number != at]
            targets = [*map(np.asarray, others), *(columns[name] for name in named)]
            rest = {name: one for name, one in columns.items() if name not in named}
            for name, column in rest.items():
                for rows in _rows_of_categories(column, targets):
                    self._values.setdefault(f"encoded/{name}", rows)
            trained, held_out = parts[2 * at : 2 * at + 2]
            of_trained = [np.asarray(parts[2 * one]) for one in range(len(arrays)) if one != at]
            of_trained += [trained[name].to_numpy() for name in named]
            both = (_numbers_of(trained), _numbers_of(held_out))
            for labels in of_trained:
                if labels.ndim == 1 and (share := shared_rows(*both, labels)):
                    self._values.setdefault("held_out_rows/train_test_split", share)


def _numbers_of(table: Any) -> dict[str, Array]:
    """Return the columns of a table that are numbers, by name."""
    columns = {str(name): table[name].to_numpy() for name in table.columns}
    return {name: column for name, column in columns.items() if column.dtype.kind in "bif"}


def _targets_in(columns: dict[str, Array], stratified: Any) -> set[str]:
    """Return the columns that are stratified by, or that the script calls its targets."""
    named = _target_names() & columns.keys()
    if stratified is not None:
        classes = np.asarray(stratified)
        named |= {name for name, one in columns.items() if np.array_equal(one, classes)}
    return named


def _rows_of_categories(column: Array, targets: Sequence[Array]) -> Iterator[float]:
    """Yield the rows of the categories that a column encodes by a target, for each that it does."""
    some = slice(LEAST_ROWS)
    for target in targets if column.dtype.kind == "f" else ():
        if target.shape != column.shape or target.dtype.kind not in "bif":
            continue
        is_one = may_encode(column[some], target[some])
        if is_one and (rows := rows_of_category(column, target)):
            yield rows


def _target_names() -> set[str]:
    """Return what the script that is running calls its targets."""
    files = {frame.f_code.co_filename for frame in script_frames()}
    text = "".join(line for file in files for line in linecache.getlines(file))
    return {one["name"] or one["popped"] for one in _NAMED.finditer(text)}
