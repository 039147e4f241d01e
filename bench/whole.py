"""What plain ``stepwatch run`` costs a whole script, beside what people use instead.

Each script of ``bench/whole`` is an ordinary training that prints how many steps it made in a
second. It runs as a process: by ``python``, by ``stepwatch run`` with all defaults, by the same
with other options, and by ``bench/whole/others.py`` with the tools that are installed. They take
turns, round after round, so that what else the machine does hits all of them. Numbers are medians
over rounds; those on the end, memory and processor are of ``stepwatch run`` with all defaults.

    python bench/whole.py                     # all scripts that can run here, 3 rounds
    python bench/whole.py tabular gpt --rounds 5 --ways stepwatch wandb tensorboard
    python bench/whole.py mlp --longer 10     # ten times as many steps: a minute of training
    python bench/whole.py "gpt_gpu --size 1b" --ways stepwatch
    python bench/whole.py --quick             # two scripts, one round, our own command only
    python bench/whole.py keras_dense --python ~/envs/keras/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

SCRIPTS = Path(__file__).with_name("whole")
#: By a script and what it is given: how many steps, some seconds of training, and what it needs.
STEPS = {
    "tabular": (4000, "torch"),
    "tabular_loader": (2500, "torch"),
    "mlp": (800, "torch"),
    "lstm": (400, "torch"),
    "gan": (300, "torch"),
    "cnn": (300, "torch"),
    "gpt": (150, "torch"),
    "gpt_large": (40, "torch"),
    "ppo": (1500, "torch"),
    "dqn": (1500, "torch"),
    "gpt_compiled": (150, "torch"),
    "resnet_compiled": (60, "torch"),
    "lightning_mlp": (800, "lightning"),
    "transformers_tiny": (120, "transformers"),
    "keras_dense": (2000, "keras"),
    "keras_cnn": (300, "keras"),
    "jax_mlp": (2000, "optax"),
    "xgb": (200, "xgboost"),
    "gpt_gpu --size 120m": (300, "cuda"),
    "gpt_gpu --size 120m --compile": (300, "cuda"),
    "gpt_gpu --size 1b": (100, "cuda"),
    "gpt_gpu --size 1b --compile": (100, "cuda"),
}
QUICK = ("tabular", "gpt")
KERAS_BACKENDS = ("torch", "jax", "tensorflow")
#: Our own command: with all defaults, and what is measured beside them.
OURS = {"stepwatch": (), "budget-none": ("--budget", "none"), "companion": ("--companion",)}
#: They are put on optimizers of torch, so other trainings would run without them.
_WITH_TOOLS = ("torch", "lightning", "transformers", "cuda")
TOOLS = ("wandb", "wandb-watch", "trackio", "tensorboard")
_PRIVATE = re.compile(rb"Private_Dirty:\s+(\d+) kB")
_RESULT = re.compile(rb"steps_per_s=(\S+) loss=(\S+)")


@dataclass(frozen=True)
class Measurement:
    """What one process took.

    Args:
        step_ms: Mean time of a step after the script's own warm-up, milliseconds.
        total_s: From start to exit, seconds.
        end_s: From the script's last line to exit, seconds.
        cpu_s: Processor time of the process and its children that ended, seconds.
        memory_mib: Most memory that it held, MiB; of its children, the largest alone.
        private_mib: Most memory that no file is behind and no other process shares, MiB, at looks a
            tenth of a second apart; 0 where the system does not tell.
        loss: The last loss, as the script printed it.
    """

    step_ms: float
    total_s: float
    end_s: float
    cpu_s: float
    memory_mib: float
    private_mib: float
    loss: str


class PrivateMemory(threading.Thread):
    """Looks at what a process holds, until it has ended."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._path, self.most_mib = Path(f"/proc/{pid}/smaps_rollup"), 0.0

    def run(self) -> None:
        while True:
            try:
                found = _PRIVATE.search(self._path.read_bytes())
            except OSError:
                return
            if not found:
                return
            self.most_mib = max(self.most_mib, int(found[1]) / 1024)
            time.sleep(0.1)


def measure(command: list[str], environment: dict[str, str], folder: Path) -> Measurement:
    """Run a script to its end.

    Raises:
        RuntimeError: It failed, or did not print its result.
    """
    started = time.perf_counter()
    with (folder / "stderr").open("w+b") as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors
        )
        assert process.stdout is not None
        looks = PrivateMemory(process.pid)
        looks.start()
        result, printed_at = None, started
        for line in process.stdout:
            if found := _RESULT.search(line):
                result, printed_at = found, time.perf_counter()
        _, status, usage = os.wait4(process.pid, 0)
        ended = time.perf_counter()
        if status or result is None:
            errors.seek(0)
            why = errors.read().decode(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"{' '.join(command)}: {why[0] if why else 'no result'}")
    return Measurement(
        step_ms=1000 / float(result[1]),
        total_s=ended - started,
        end_s=ended - printed_at,
        cpu_s=usage.ru_utime + usage.ru_stime,
        memory_mib=usage.ru_maxrss / 1024,
        private_mib=looks.most_mib,
        loss=result[2].decode(),
    )


def command(way: str, python: str, name: str, longer: int) -> list[str]:
    """Return how a script is run in a way: ``python``, one of ``OURS``, or one of ``TOOLS``."""
    script, *given = name.split()
    steps = longer * STEPS[name][0]
    arguments = [str(SCRIPTS / f"{script}.py"), *given, "--steps", str(steps)]
    if way == "python":
        return [python, *arguments]
    if way in OURS:
        return [python, "-m", "stepwatch", "run", *OURS[way], *arguments]
    return [python, str(SCRIPTS / "others.py"), way, *arguments]


def compare(
    name: str, python: str, ways: list[str], rounds: int, backend: str, longer: int
) -> dict[str, list[Measurement]]:
    """Run a script in all ways, in turn; a way that fails is left out from then on."""
    found: dict[str, list[Measurement]] = {way: [] for way in ("python", *ways)}
    environment = {**os.environ, "KERAS_BACKEND": backend, "WANDB_MODE": "offline"}
    # Where packages were installed for use, their code was compiled once; so is that of a checkout.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for _ in range(rounds):
        for way in list(found):
            folder = Path(tempfile.mkdtemp(prefix="stepwatch-bench-"))
            try:
                found[way].append(measure(command(way, python, name, longer), environment, folder))
            except RuntimeError as error:
                print(f"{name}, {way}: {error}", file=sys.stderr)
                del found[way]
                if way == "python":
                    return {}
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    return found


def row(name: str, found: dict[str, list[Measurement]], ways: list[str]) -> str:
    """Return a line of the table: the plain step, then how many times it each way takes."""
    plain = statistics.median(one.step_ms for one in found["python"])
    cells = [name, f"{plain:.2f} ms"]
    for way in ways:
        ours = found.get(way)
        cells.append(f"{statistics.median(x.step_ms for x in ours) / plain:.2f}" if ours else "-")
    ours = found.get("stepwatch")
    if ours:
        before, after = found["python"], ours
        cells += [
            f"{_median(after, 'end_s') - _median(before, 'end_s'):.1f} s",
            f"{_median(after, 'total_s') - _median(before, 'total_s'):.1f} s",
            f"{_median(after, 'memory_mib') - _median(before, 'memory_mib'):.0f} MiB",
            f"{_median(after, 'private_mib') - _median(before, 'private_mib'):.0f} MiB",
            f"{_median(after, 'cpu_s') / _median(before, 'cpu_s'):.2f}",
            _same_loss({one.loss for one in before}, {one.loss for one in after}),
        ]
    return f"| {' | '.join(cells)} |"


def _median(found: list[Measurement], field: str) -> float:
    return float(statistics.median(getattr(one, field) for one in found))


def _same_loss(plain: set[str], ours: set[str]) -> str:
    if len(plain) > 1:
        return "differs by itself"
    return "yes" if plain == ours else "NO"


def _has(python: str, module: str) -> bool:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    if module == "cuda":
        code = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def main() -> None:
    """Read the command line, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scripts", nargs="*", choices=[[], *STEPS], help="all by default")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--ways", nargs="+", choices=[*OURS, *TOOLS], help="beside python; all installed by default"
    )
    parser.add_argument("--python", default=sys.executable, help="which Python runs the scripts")
    parser.add_argument("--longer", type=int, default=1, help="so many times as many steps")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, help="also write every measurement to this file")
    given = parser.parse_args()
    if given.quick:
        given.scripts, given.rounds = given.scripts or list(QUICK), 1
        given.ways = list(OURS)
    ways = given.ways
    if ways is None:
        package = {"wandb-watch": "wandb"}
        ways = [*OURS, *(one for one in TOOLS if _has(given.python, package.get(one, one)))]
    head = ["script", "python", *ways]
    head += ["longer at the end", "longer in all", "more memory", "of it private"]
    head += ["processor", "same loss"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    kept = {}
    for name in given.scripts or STEPS:
        module = STEPS[name][1]
        if not _has(given.python, module):
            print(f"{name} needs {module}, which {given.python} has not", file=sys.stderr)
            continue
        for backend in KERAS_BACKENDS if module == "keras" else ("",):
            if backend and not _has(given.python, backend):
                continue
            label = f"{name}, {backend}" if backend else name
            fits = [one for one in ways if one in OURS or module in _WITH_TOOLS]
            found = compare(name, given.python, fits, given.rounds, backend, given.longer)
            if found:
                print(row(label, found, ways), flush=True)
                kept[label] = {way: [asdict(one) for one in all_] for way, all_ in found.items()}
    if given.json:
        given.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
