"""Run an example as its own text says, in an empty folder, and check that its mistake is found.

Usage:
    python try_example.py EXAMPLE
"""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

ROOT = Path(__file__).resolve().parents[2]


def main(name: str, run: Callable[..., CompletedProcess[str]] = subprocess.run) -> None:
    """Run it; raise unless it ends well and the rule that it names found something."""
    script = ROOT / "examples" / f"{name}.py"
    about = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    written = re.search(r"^    stepwatch (run .*)$", about, re.MULTILINE)
    expected = re.search(r"^Found: `(\w+)`", about, re.MULTILINE)
    assert written is not None, "it says how it is run"
    assert expected is not None, "it says what is found"
    *arguments, path = shlex.split(written[1])
    assert ROOT / path == script, path
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "stepwatch", *arguments, "--run", "run", str(script)]
        done = run(command, cwd=folder, stderr=subprocess.PIPE, text=True, check=False, timeout=500)
        assert done.returncode == 0, done.stderr
        # as it is found, and at the end; what was seen stands below
        found = re.findall(rf"^.*\({expected[1]}\)\n.*$", done.stderr, re.MULTILINE)
        assert found, done.stderr
    print("\n".join(found))


if __name__ == "__main__":
    main(sys.argv[1])
