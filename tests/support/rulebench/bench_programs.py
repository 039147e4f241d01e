"""Small programs and outcomes of the benchmark."""

from __future__ import annotations

from rulebench.outcome import Outcome
from rulebench.program import Program, faulty, healthy
from rulebench.trainings.digits import Digits

from stepwatch.model.finding import Finding

PLAIN = healthy("plain", Digits)
NO_ZERO_GRAD = faulty("no_zero_grad", "no_zero_grad", Digits, begins=10)


def outcome(program: Program, *found: tuple[str, str, int], seed: int = 0, **fields) -> Outcome:
    """Return an outcome with findings of rule, condition and the number of TRAIN steps begun."""
    findings = [
        {**Finding(rule, step, "x", "said", condition=condition).to_dict(), "trained": step}
        for rule, condition, step in found
    ]
    return Outcome(program.name, seed, "1", trained=100, findings=findings, **fields)
