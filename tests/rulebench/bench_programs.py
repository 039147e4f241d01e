"""Lets tests import the benchmark, which lies beside the package, and gives them small verdicts."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from rulebench.outcome import Outcome  # noqa: E402
from rulebench.program import Program, faulty, healthy  # noqa: E402
from rulebench.trainings.digits import Digits  # noqa: E402

from stepwatch.finding import Finding  # noqa: E402

PLAIN = healthy("plain", Digits)
NO_ZERO_GRAD = faulty("no_zero_grad", "no_zero_grad", Digits, begins=10)


def outcome(program: Program, *found: tuple[str, str, int], seed: int = 0, **fields) -> Outcome:
    """Return an outcome with findings of rule, condition and the number of TRAIN steps begun."""
    findings = [
        {**Finding(rule, step, "x", "said", condition=condition).to_dict(), "trained": step}
        for rule, condition, step in found
    ]
    return Outcome(program.name, seed, "1", trained=100, findings=findings, **fields)
