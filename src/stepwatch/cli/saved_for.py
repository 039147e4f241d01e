"""What is saved for rules beyond the defaults, and how much that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..collection import Collection, parse_save
from ..record import StepRecord
from ..rules.scope import Watched, evidence
from ..store import Store


class SavedFor:
    """Says once for each rule what is saved for it; a listener of the recorder.

    Args:
        rules: What watches the run.
        say: Shows a line.
    """

    def __init__(self, rules: Sequence[Watched], say: Callable[[str], None]) -> None:
        self._say = say
        self._waiting = [
            (one.name, text, parse_save(text)) for one in rules for text in evidence([one])
        ]

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Nothing is known before the first step."""

    def look(self, record: StepRecord) -> None:
        """Say what a step holds for rules of which nothing was said yet."""
        still_waiting = []
        for rule, text, collection in self._waiting:
            sizes = _sizes_bytes(collection, record)
            if sizes:
                count = f"{len(sizes)} tensor{'' if len(sizes) == 1 else 's'}"
                self._say(f"saving for {rule}: {text}, {count}, {sum(sizes):,} bytes at each time")
            else:
                still_waiting.append((rule, text, collection))
        self._waiting = still_waiting

    def finish(self) -> None:
        """What was not held by any step cost nothing."""


def _sizes_bytes(collection: Collection, record: StepRecord) -> list[int]:
    """Return the size of each tensor that a step holds of what a collection asks for."""
    layout, policy = record.layout, collection.policy
    rows = set(layout.rows_of.get(collection.name, ()))
    for pattern in collection.patterns:
        rows.update(np.flatnonzero(layout.matching(pattern)))
    sizes = []
    for row in rows:
        name = layout.tensors[row].name
        parts = [record.raw[name].nbytes] if policy.raw and name in record.raw else []
        parts += [8] if policy.digest and name in record.digests else []
        if policy.exponents and name in record.exponents:
            parts.append(record.exponents[name].nbytes)
        if policy.raw is policy.digest is policy.exponents is None:
            parts.append(record.statistics[row].nbytes)
        sizes += [sum(parts)] if parts else []
    return sizes
