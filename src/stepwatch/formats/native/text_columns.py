"""Text columns as numbers: each distinct text is held once, and rows hold which it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_STRING = pa.string()
#: The type of a text column.
TEXT = pa.dictionary(pa.int32(), _STRING)


class Texts:
    """A text column that grows."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {None: -1}

    def codes(self, values: Sequence[str | None]) -> npt.NDArray[np.int32]:
        """Return the number of each text, -1 for none."""
        numbers = self._numbers
        for value in dict.fromkeys(values):
            numbers.setdefault(value, len(numbers) - 1)
        return np.fromiter((numbers[value] for value in values), np.int32, len(values))

    def column(self, codes: npt.NDArray[np.int32]) -> pa.DictionaryArray:
        """Return the column in which these numbers follow each other."""
        missing = codes < 0
        indices = pa.array(codes, pa.int32(), mask=missing if missing.any() else None)
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(self._numbers)[1:], _STRING))


@dataclass(frozen=True, slots=True)
class Codes:
    """A text column as codes into its distinct values, -1 for null."""

    codes: npt.NDArray[np.int64]
    values: list[str]


def text_codes(column: pa.ChunkedArray) -> Codes:
    """Return a text column, of whatever chunks, as codes."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], TEXT)
    codes = whole.indices.fill_null(-1).to_numpy().astype(np.int64)
    return Codes(codes, whole.dictionary.to_pylist())
