"""The runs of the real smdebug, and what its own Trial answers."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.support import ROOT

GOLDEN = ROOT / "tests" / "golden"
RUNS = sorted(path.name for path in (GOLDEN / "runs").iterdir())
_MOST_LISTED = 32


def golden_run(name: str) -> Path:
    """Return where a run lies."""
    return GOLDEN / "runs" / name


@lru_cache(maxsize=1)
def _all_expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / "expected.json").read_text())
    return found


def expected(name: str) -> dict[str, Any]:
    """Return the answers for a run."""
    found: dict[str, Any] = _all_expected()[name]
    return found


def described(value: npt.NDArray[Any]) -> dict[str, Any]:
    """Return a value as the answers describe values."""
    listed = value.size <= _MOST_LISTED and value.dtype.kind != "c"
    return {
        "dtype": str(value.dtype),
        "shape": list(value.shape),
        "value": value.tolist() if listed else None,
        "sha256": hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16],
    }
