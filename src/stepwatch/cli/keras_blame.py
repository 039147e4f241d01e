"""``stepwatch blame`` of a Keras run: the script trains up to the step again, in another process.

Keras keeps nothing to begin from. A script that seeds what it draws comes to the same step, which
is checked by the loss that was recorded of it.
"""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..config import environment
from ..errors import StepUnavailable
from ..formats.manifest import Manifest
from ..model.steps import Mode
from ..trial import Trial
from ..trial.recording import as_ranges

_BACKENDS = ("tensorflow", "jax", "torch")
#: The loss of the whole batch may differ by so much: other kernels compute it eagerly.
_CLOSE = 1e-3


def is_of_keras(trial: Trial) -> bool:
    """Return whether Keras trained a run."""
    return "keras" in trial.reader.manifest.versions


def keras_rows(trial: Trial, mode_step: int, limit_s: float) -> list[dict[str, Any]]:
    """Return of each row of a step its loss, its gradient norm and, where known, its index.

    Args:
        trial: The run.
        mode_step: The step, counted within TRAIN.
        limit_s: How long the script may take to come to it.

    Raises:
        StepUnavailable: The script did not come to it, or trained otherwise this time.
    """
    recorded = _recorded_loss(trial, mode_step)
    facts = _taken_apart(trial.reader.manifest, mode_step, limit_s)
    rows: list[dict[str, Any]] = facts["rows"]
    loss = sum(row["loss"] for row in rows) / len(rows)
    both_finite = math.isfinite(loss) and math.isfinite(recorded)
    is_it = math.isclose(loss, recorded, rel_tol=_CLOSE, abs_tol=_CLOSE) if both_finite else (
        math.isfinite(loss) == math.isfinite(recorded)
    )  # fmt: skip
    if not is_it:
        raise StepUnavailable(
            f"the script trains otherwise than it did: the loss of TRAIN step {mode_step} was "
            f"{recorded:.6g}, and is {loss:.6g} now; seed all that it draws, as by "
            "keras.utils.set_random_seed"
        )
    return rows


def _recorded_loss(trial: Trial, mode_step: int) -> float:
    for name in trial.tensor_names(collection="losses"):
        series = trial.tensor(name).statistics(Mode.TRAIN)
        known = dict(zip(series.mode_steps.tolist(), series["sum"].tolist(), strict=True))
        if mode_step in known:
            return float(known[mode_step])
    steps = as_ranges(list(trial.steps(Mode.TRAIN)))
    raise StepUnavailable(f"TRAIN step {mode_step} was not recorded; there are {steps or 'none'}")


def _taken_apart(manifest: Manifest, mode_step: int, limit_s: float) -> dict[str, Any]:
    backend = next((one for one in _BACKENDS if one in manifest.versions), "tensorflow")
    with tempfile.TemporaryDirectory(prefix="stepwatch-blame-") as place:
        task = Path(place, "task")
        task.write_bytes(pickle.dumps((manifest, mode_step)))
        variables = {**environment(), "KERAS_BACKEND": backend, "WANDB_MODE": "disabled"}
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [sys.executable, "-m", "stepwatch.cli.keras_blame", place],
                env=variables,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=limit_s,
                check=False,
            )
        answer = Path(place, "answer")
        if not answer.exists():
            raise StepUnavailable(f"the script did not come to TRAIN step {mode_step}")
        # Written by a process of our own, a moment ago, in a folder of our own.
        found: dict[str, Any] | str = pickle.loads(answer.read_bytes())
    if isinstance(found, str):
        raise StepUnavailable(found)
    return found


def main(place: Path) -> None:
    """Train up to the step of a task, and leave what was found, or why nothing was, in a file."""
    # Written by the process that started this one.
    manifest, mode_step = pickle.loads((place / "task").read_bytes())
    from ..hooks.keras.blame import KerasBlame
    from .replay import leave_answer, run_until

    hook = KerasBlame(mode_step)
    answer: dict[str, Any] | str
    try:
        run_until(manifest, hook)
        answer = hook.facts
    except StepUnavailable as error:
        answer = str(error)
    leave_answer(place / "answer", answer)
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
