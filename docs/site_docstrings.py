"""Let the API reference show our examples as code; an extension of Griffe."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Reads the section ``Example``, which our docstrings have, as Griffe's ``Examples``."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the section in the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(
                r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE
            )
