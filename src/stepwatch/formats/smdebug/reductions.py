"""What the stored reductions of a tensor are called.

Each is a tensor of its own, ``smdebug/reductions/<reduction>/<tensor>``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...hook_config import REDUCTIONS, Reduction

PREFIX = "smdebug/reductions/"


def reduction_name(reduction: Reduction, tensor: str) -> str:
    """Return the name under which a hook stores a reduction of a tensor.

    What TensorFlow appends to the names of its outputs is left out, as by all hooks of smdebug
    but TensorFlow's own.

    Example:
        >>> reduction_name(Reduction("l2", of_abs=True), "fc/weight:0")
        'smdebug/reductions/abs_l2/fc/weight'
    """
    return f"{PREFIX}{reduction.stored}/{re.sub(':[0-9]+', '', tensor)}"


@lru_cache(maxsize=65_536)
def parse_reduction_name(name: str) -> tuple[Reduction, str] | None:
    """Return the reduction and the tensor of a stored name; ``None`` for that of a value.

    Example:
        >>> parse_reduction_name("smdebug/reductions/abs_max/fc/weight")
        (Reduction(name='max', of_abs=True), 'fc/weight')
    """
    if not name.startswith(PREFIX):
        return None
    stored, _, tensor = name[len(PREFIX) :].partition("/")
    of_abs = stored.startswith("abs_")
    which = stored.removeprefix("abs_")
    return (Reduction(which, of_abs), tensor) if which in REDUCTIONS and tensor else None
