"""Other arrangements of recorded data, each with the control that shows that it is this one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..model.finding import Finding
from ..trial.alternatives import Alternative
from .root_cause import sign_of


@dataclass(frozen=True, slots=True)
class DataChange:
    """Another arrangement of all batches.

    Args:
        change: What must remove the finding.
        control: Under which it must remain: as much is changed, and not what is the cause.
        cause: What is proved so.
        text: It in words.
        evidence: More of it.
    """

    change: Alternative
    control: Alternative
    cause: str
    text: str
    evidence: dict[str, Any] = field(default_factory=dict)


def data_changes(finding: Finding) -> Iterator[DataChange]:
    """Yield the arrangements that may remove a finding: the targets', the rows', a column's."""
    sign = sign_of(finding)
    if sign == "outcome":
        yield from _pairings()
    if sign != "data":
        return
    column = finding.evidence.get("column")
    if isinstance(column, int):
        yield DataChange(
            Alternative("column", f"column {column} of the input from other rows", value=column),
            Alternative("other_columns", "all other columns from other rows", value=column),
            "column",
            f"column {column} of the input: with its values from other rows it does not occur, "
            "with those of all other columns it does",
            {"column": column},
        )
    yield DataChange(
        Alternative("mixed", "the rows of all batches mixed"),
        Alternative("mixed_within", "the rows of each batch in another order"),
        "order",
        "the order of the data: with the rows of all batches mixed it does not occur, mixed within "
        "each batch it does",
    )


def _pairings() -> Iterator[DataChange]:
    for by, where in ((1, "next"), (-1, "previous")):
        yield DataChange(
            Alternative("paired", f"each row with the target of the {where} row", value=by),
            Alternative("paired", f"each row with that of the {where} row but one", value=2 * by),
            "pairing",
            f"targets of other rows: with that of the {where} row of the batch it does not occur, "
            "with that of the row beyond it does",
            {"by": by},
        )
