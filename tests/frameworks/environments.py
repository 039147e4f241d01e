"""Runs the tests of each framework in an environment of its own.

A folder with a ``requirements.txt`` is one environment. It runs the tests that lie beside that
file; ``xgboost-1.7``, which has none, runs those of ``xgboost``. Other tests that need packages of
their own are run the same way, ``--among`` the folders where they lie.

Usage:
    python tests/frameworks/environments.py --cache FOLDER [ENVIRONMENT ...]
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Of the packages that tests import everywhere; what Stepwatch itself needs, its metadata say.
TESTING = ("pytest>=8", "pytest-timeout>=2", "hypothesis>=6")
# What an editable install has read once: entry points and dependencies.
PACKAGE = "packages/stepwatch-smdebug"
METADATA = ("pyproject.toml", "setup.py", f"{PACKAGE}/pyproject.toml", f"{PACKAGE}/setup.py")
OURS = ("--editable", ".", "--editable", f"./{PACKAGE}")
NO_TESTS = 5


class Environment:
    """A framework, installed beside Stepwatch.

    Args:
        name: Its folder.
        cache: Where environments are kept.
        among: Where its folder lies.
    """

    def __init__(self, name: str, cache: Path, among: Path = HERE) -> None:
        self.name = name
        self.requirements = among / name / "requirements.txt"
        self.tests = among / name.partition("-")[0]
        recipe = "\n".join([self.requirements.read_text(), sys.version, *TESTING])
        self._folder = cache / f"{name}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
        self.python = str(self._folder / "bin" / "python")

    @contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        """Keep others from building it, or from using it as well."""
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        with self._folder.with_name(f"{self._folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, kind)
            yield

    def make(self) -> None:
        """Build it, unless it is there; let it have what this checkout holds."""
        metadata = "".join([f"{ROOT}\n", *((ROOT / name).read_text() for name in METADATA)])
        if self._was_made_from("recipe", "complete") and self._was_made_from("metadata", metadata):
            return
        with self._locked(fcntl.LOCK_EX):
            self._make(metadata)

    def _make(self, metadata: str) -> None:
        if not self._was_made_from("recipe", "complete"):
            venv.create(self._folder, clear=True, with_pip=True)
            lines = self.requirements.read_text().split("\n")
            torch = [line for line in lines if line.startswith("torch==")]
            if torch:  # first and pinned, so that no other package chooses a build of it
                self._install(*torch)
            self._install("--requirement", str(self.requirements), *OURS, *TESTING)
            self._note("recipe", "complete")
            self._note("metadata", metadata)
        elif not self._was_made_from("metadata", metadata):
            self._install(*OURS)
            self._note("metadata", metadata)

    def run_tests(self, mark: str) -> int:
        """Return the exit status of pytest, for the tests with a mark."""
        command = [self.python, "-m", "pytest", "-m", mark, str(self.tests)]
        # Several threads on few cores wait for each other longer than they work.
        environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
        with self._locked(fcntl.LOCK_SH):
            return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode

    def _install(self, *what: str) -> None:
        command = [self.python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*command, *what], cwd=ROOT, check=True)

    def _was_made_from(self, what: str, text: str) -> bool:
        note = self._folder / f"made-from-{what}.txt"
        return note.is_file() and note.read_text() == text

    def _note(self, what: str, text: str) -> None:
        (self._folder / f"made-from-{what}.txt").write_text(text)


def known(among: Path) -> list[str]:
    """Return the names of all environments."""
    return sorted(path.parent.name for path in among.glob("*/requirements.txt"))


def failure_of(environment: Environment, mark: str) -> str:
    """Make an environment and run its tests; return what went wrong, empty if nothing."""
    recipe = environment.requirements.relative_to(ROOT)
    try:
        environment.make()
    except subprocess.CalledProcessError as error:
        return f"could not be built from {recipe}: pip ended with status {error.returncode}"
    except OSError as error:
        return f"could not be built from {recipe}: {error}"
    status = environment.run_tests(mark)
    if status == NO_TESTS:
        return f"no test in {environment.tests.relative_to(ROOT)} was run"
    return f"tests failed, pytest ended with status {status}" if status else ""


def main(arguments: Sequence[str]) -> int:
    """Run the tests in all environments, or those that are named; 0 if all passed."""
    parser = argparse.ArgumentParser(description="run the tests of frameworks")
    parser.add_argument("--cache", type=Path, required=True, help="where environments are kept")
    parser.add_argument("names", nargs="*", metavar="ENVIRONMENT", help="some; all by default")
    parser.add_argument("--among", type=Path, default=HERE, help="where their folders lie")
    parser.add_argument("--mark", default="framework", help="of the tests that are run")
    asked = parser.parse_args(arguments)
    among = asked.among.resolve()
    there = known(among)
    unknown = set(asked.names) - set(there)
    if unknown:
        parser.error(f"no environment {', '.join(sorted(unknown))}; there are {', '.join(there)}")
    failures = {}
    for name in asked.names or there:
        print(f"== {name}", flush=True)
        environment = Environment(name, asked.cache.expanduser(), among)
        failures[name] = failure_of(environment, asked.mark)
    for name, failure in failures.items():
        print(f"{name}: {failure or 'passed'}")
    return 1 if any(failures.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
