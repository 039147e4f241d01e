"""What a part says of itself: which steps it holds, of which tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...steps import Mode
from ..step_range import StepRange


@dataclass(frozen=True, slots=True)
class PartMeta:
    """What a part says of itself.

    Args:
        follows: The last step that the worker recorded before this part; -1 for none.
        ranges: The steps it holds.
        names: A digest of the tensors it holds and their collections: parts with the same one
            need to be asked only once.
    """

    follows: int
    ranges: tuple[StepRange, ...]
    names: str = ""

    def to_fields(self) -> dict[str, object]:
        """Return it as it stands in JSON."""
        rows = [
            [range_.mode.value, range_.first, range_.count, range_.stride, range_.mode_first,
             range_.mode_stride]
            for range_ in self.ranges
        ]  # fmt: skip
        return {"follows": self.follows, "names": self.names, "steps": rows}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> PartMeta:
        """Return what ``to_fields`` was called on.

        Raises:
            KeyError, TypeError, ValueError: These are no such fields.
        """
        ranges = tuple(StepRange(Mode(mode), *rest) for mode, *rest in fields["steps"])
        return cls(int(fields["follows"]), ranges, str(fields["names"]))
