"""Parts of the tests: those that need no PyTorch, and shares of the slow ones."""

from __future__ import annotations

import re
import zlib
from functools import cache
from pathlib import Path

from tests.support import ROOT

#: What needs PyTorch in the processes that it starts, or in what ``conftest.py`` imports.
WITH_TORCH = (
    "tests/cli", "tests/faults", "tests/hooks", "tests/jobs", "tests/rulebench", "tests/treaty",
    "tests/examples", "tests/test_docs.py", "tests/test_floors.py", "packages",
    "src/stepwatch/hooks", "src/stepwatch/capture", "src/stepwatch/cli",
)  # fmt: skip
#: What needs none, but more than a few seconds; the quick tier has it.
LONGER = (
    "tests/store/test_gs_contract.py", "tests/formats/native/test_native_live.py",
    "tests/formats/native/test_native_merge.py", "tests/formats/native/test_native_contents.py",
    "tests/formats/test_copying.py", "tests/formats/smdebug/test_smdebug_fuzz.py",
    "tests/test_scale.py", "tests/trial/test_trial_divergence.py",
)  # fmt: skip
_IMPORTED = re.compile(r"^\s*from (tests\.[\w.]+) import (\w+)", re.MULTILINE)
_STARTED = re.compile(r"\btorch\b|fork_server|import subprocess|TorchHook")


@cache
def needs_torch(path: Path) -> bool:
    """Return whether a test file, or a helper that it imports, names PyTorch or starts Python.

    Nor is it part of the tier without PyTorch if it takes longer than that should.
    """
    place = path.relative_to(ROOT).as_posix()
    if any(place == one or place.startswith(f"{one}/") for one in (*WITH_TORCH, *LONGER)):
        return True
    if path.suffix != ".py" or place.startswith("src/"):
        return False
    text = path.read_text(encoding="utf-8")
    modules = {name for pair in _IMPORTED.findall(text) for name in (pair[0], ".".join(pair))}
    files = [ROOT / f"{name.replace('.', '/')}.py" for name in modules]
    return bool(_STARTED.search(text)) or any(needs_torch(one) for one in files if one.is_file())


def is_in_share(share: str, nodeid: str) -> bool:
    """Return whether a test is in a share, such as ``1/3``; those of a file stay together.

    An empty share is all of them.
    """
    if not share:
        return True
    number, _, count = share.partition("/")
    return zlib.crc32(nodeid.partition("::")[0].encode()) % int(count) == int(number) - 1
