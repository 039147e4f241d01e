"""Names of losses: by what computes them and by the line that asks for it.

Gradient accumulation computes the loss of several micro-batches on one line: one loss, merged.
The two losses of a discriminator are computed on two lines: two losses.
"""

from __future__ import annotations

import os
import sys
from types import FrameType

from ..model.steps import Mode

#: Where this package lies, with the slash at the end.
OURS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


class LossNames:
    """Names losses, each line of the script its own, counted within a mode.

    Args:
        libraries: Where the framework lies, and the hook on it if that is not here, with the slash
            at the end: no line in them is the script's.
    """

    def __init__(self, *libraries: str) -> None:
        self._not_the_script = (OURS, *libraries)
        self._names: dict[tuple[Mode, str, object], str] = {}
        self._used: dict[tuple[Mode, str], int] = {}

    def name(self, mode: Mode, what: str, line: object = None) -> str:
        """Return the name of the loss ``what`` that a line, by default the calling, computes."""
        key = (mode, what, line or self._script_line())
        if key not in self._names:
            number = self._used.get((mode, what), 0)
            self._used[mode, what] = number + 1
            self._names[key] = f"loss/{what}" if number == 0 else f"loss/{what}_{number}"
        return self._names[key]

    def _script_line(self) -> object:
        """Return the innermost line outside of the framework and of this package."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if not code.co_filename.startswith(self._not_the_script):
                return code.co_filename, frame.f_lineno
            frame = frame.f_back
        return None
