"""Runs tests on each Python that is installed, and on each torch that can be had for the CPU.

Python without torch runs the tests that need none; with torch, those of the hook as well. What
cannot be had here is said, and is no failure; that nothing could be run is one.

Usage:
    python tests/matrix.py --cache FOLDER
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
TORCHES = ("2.6.0", "2.9.1", "2.13.0")
NEEDED = ("setuptools>=77", "pytest>=8", "pytest-timeout>=2", "hypothesis>=6")
OURS = ("--editable", ".[plots,dashboard,serve,profiler,s3]")
ALSO = ("pytest-xdist>=3", "httpx>=0.27", "pandas>=2", "tensorboard>=2.15", "aiosmtpd>=1.4",
        "trustme>=1", "protobuf>=4", "polars>=1", "duckdb>=1")  # fmt: skip
WITHOUT = ("tests/trial", "tests/formats", "tests/rules", "tests/store", "tests/plots",
           "tests/runtime", "tests/numerics")  # fmt: skip
WITH = ("tests/hooks/torch", "tests/rules")


def interpreter(version: str) -> str | None:
    """Return where a Python of this version is, ``None`` if nowhere."""
    places = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    places += filter(None, [Path(shutil.which(f"python{version}") or "")])
    for place in map(str, places):
        command = [place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return place
    return None


def is_for_cpu(pip: list[str], torch: str) -> str:
    """Return the requirement of a build without CUDA, empty if there is none to be had."""
    for wanted in (f"torch=={torch}+cpu", f"torch=={torch}"):
        command = [*pip, "install", "--dry-run", "--no-deps", "--ignore-installed", "--quiet",
                   "--only-binary=:all:", "--report", "-", wanted]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            (found,) = json.loads(done.stdout)["install"]
            if "nvidia" not in " ".join(found["metadata"].get("requires_dist", [])):
                return wanted
    return ""


def environment(cache: Path, python: str, extra: str) -> Path:
    """Return the interpreter of an environment that is made if it is not there."""
    recipe = "\n".join([python, extra, *NEEDED, *OURS, *ALSO, str(ROOT)])
    folder = cache / hashlib.sha256(recipe.encode()).hexdigest()[:12]
    command = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        pip = [command, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if extra:
            subprocess.run([*pip, extra], check=True)
        subprocess.run(
            [*pip, *NEEDED, *ALSO, *OURS, "--editable", "./packages/stepwatch-smdebug"],
            cwd=ROOT,
            check=True,
        )
        (folder / "complete").touch()
    return command


def passed(command: Path, torch: str) -> bool:
    """Return whether the tests pass."""
    variables = {"OMP_NUM_THREADS": "1", "STEPWATCH_WITHOUT_TORCH": "" if torch else "1"}
    tests = WITH if torch else WITHOUT
    marks = "not slow and not treaty"
    return 0 == subprocess.run(
        [command, "-m", "pytest", "-n", "2", "--dist", "worksteal", "-m", marks, *tests],
        cwd=ROOT, env={**os.environ, **variables}, check=False,
    ).returncode  # fmt: skip


def main() -> int:
    """Run what can be run; 0 if all of it passed."""
    parser = argparse.ArgumentParser(description="run tests on each Python and torch")
    parser.add_argument("--cache", type=Path, required=True, help="where environments are kept")
    parser.add_argument("--only", default="", help="a Python, such as 3.10")
    asked = parser.parse_args()
    told: dict[str, str] = {}
    for version in PYTHONS:
        if asked.only not in ("", version):
            continue
        python = interpreter(version)
        if python is None:
            told[f"Python {version}"] = "not available here"
            continue
        for torch in ("", *TORCHES):
            name = f"Python {version}, {f'torch {torch}' if torch else 'no torch'}"
            wanted = is_for_cpu([python, "-m", "pip"], torch) if torch else ""
            if torch and not wanted:
                told[name] = "no build for the CPU to be had here"
                continue
            print(f"== {name}", flush=True)
            try:
                command = environment(asked.cache, python, wanted)
            except subprocess.CalledProcessError as error:
                told[name] = f"failed: could not be installed, status {error.returncode}"
                continue
            told[name] = "passed" if passed(command, torch) else "failed"
    for name, how in told.items():
        print(f"{name}: {how}")
    return 0 if "passed" in told.values() and "failed" not in " ".join(told.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
