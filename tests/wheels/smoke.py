"""Try an installed Stepwatch with nothing beside it: no framework, no checkout.

Usage:
    python smoke.py {compiled,numpy}
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

STEPWATCH = Path(sysconfig.get_path("scripts"), "stepwatch")
KERNELS = {"compiled": "compiled", "numpy": "NumPy, about ten times slower"}


def stepwatch(*arguments: str) -> str:
    """Return what the command prints; raise unless it ends well."""
    command = [str(STEPWATCH), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main(kernel: str) -> None:
    """Make a run, look at it and judge it, and check which kernel did so."""
    import stepwatch as package
    from stepwatch import Trial
    from stepwatch.testing import make_run

    assert "site-packages" in package.__file__, package.__file__
    expected = f"stepwatch {package.__version__} (kernel: {KERNELS[kernel]})\n"
    found = stepwatch("--version")
    assert found == expected, (found, expected)
    assert "Watch a training:" in stepwatch("--help")
    assert len(json.loads(stepwatch("rules", "--json"))["rules"]) > 60
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder, "run"), steps=20)
        assert len(Trial(run).steps()) == 20
        assert json.loads(stepwatch("show", run, "--json"))["steps"] == {"TRAIN": 20}
        assert "1 check passed" in stepwatch("check", run, "--rules", "exploding_tensor")
        stepwatch("convert", run, str(Path(folder, "smdebug")), "--to", "smdebug", "--quiet")
        assert len(Trial(Path(folder, "smdebug")).steps()) == 20
    heavy = {"torch", "tensorflow", "jax"} & set(sys.modules)
    assert not heavy, heavy
    print(f"ok: {found.strip()}, Python {sys.version.split()[0]}, {sys.platform}")


if __name__ == "__main__":
    main(sys.argv[1])
