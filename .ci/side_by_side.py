"""Runs targets of make side by side, each with a log of its own.

Those before ``--`` run one after the other, as they build what is shared or measure something; then
two at a time. Each log is printed when its target has ended, the last lines of those that failed
again at the end. The exit status is 1 if one failed.

Usage:
    python .ci/side_by_side.py TARGET ... -- TARGET[:VARIABLE=VALUE ...] ...
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

AT_A_TIME = 2
#: Of one target; the limit for all is 90 minutes.
TIMEOUT_S = 45 * 60
LAST_LINES = 40
_printing = Lock()


@dataclass(frozen=True)
class Ended:
    """A target that ended.

    Args:
        name: The target.
        status: The exit status of make.
        log: Its output.
        seconds: How long it took.
    """

    name: str
    status: int
    log: Path
    seconds: float


def run(target: str, folder: Path, jobs: int) -> Ended:
    """Run a target, and print its log when it has ended."""
    name, _, variables = target.partition(":")
    log = folder / f"{name}.log"
    command = ["make", "--no-print-directory", name, f"JOBS={jobs}", *shlex.split(variables)]
    began = time.monotonic()
    with log.open("wb") as output:
        try:
            status = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False,
                timeout=TIMEOUT_S, env={**os.environ, "MAKEFLAGS": ""},
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            status = 124
    ended = Ended(name, status, log, time.monotonic() - began)
    with _printing:
        print(f"===== {shlex.join(command)}: status {status}, {ended.seconds:.0f} s", flush=True)
        print(log.read_text(errors="replace"), flush=True)
    return ended


def main(arguments: Sequence[str]) -> int:
    """Run all; 0 if none failed."""
    first = list(arguments).index("--")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stepwatch-ci-") as name:
        folder = Path(name)
        cores = os.cpu_count() or AT_A_TIME
        ended = [run(target, folder, cores) for target in arguments[:first]]
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            jobs = max(1, cores // AT_A_TIME)
            ended += pool.map(lambda target: run(target, folder, jobs), arguments[first + 1 :])
        failed = [one for one in ended if one.status]
        for one in failed:
            lines = one.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            print(f"===== {one.name} failed; its last lines:", *lines, sep="\n", flush=True)
    for one in ended:
        how = f"failed, status {one.status}" if one.status else "passed"
        print(f"{one.name}: {how} in {one.seconds:.0f} s")
    print(f"{len(ended) - len(failed)} of {len(ended)} targets passed "
          f"in {time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
