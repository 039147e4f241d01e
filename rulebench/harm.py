"""Which mutants of transformers do harm: one that learns as well as the original is no fault."""

from __future__ import annotations

import json
import math
import statistics
import warnings
from collections.abc import Mapping, Sequence

import torch

from .faults.transformers import TRANSFORMERS
from .program import Program
from .trainings.char_lm import CharLm

SEEDS = (0, 1, 2, 3, 4)
#: Nats by which the loss must be worse on average, and in units of its standard error.
LEAST_NATS = 0.02
LEAST_ERRORS = 3.0

Loss = float | None


def jobs() -> list[tuple[Program, int]]:
    """Return what must be trained: every mutant and every twin, with each seed."""
    twins = {mutant.twin.name: mutant.twin for mutant in TRANSFORMERS if mutant.twin is not None}
    return [(program, seed) for program in [*twins.values(), *TRANSFORMERS] for seed in SEEDS]


def final_loss(job: tuple[Program, int]) -> Loss:
    """Train without a hook and return the loss that counts when it generates; ``None`` for nan."""
    program, seed = job
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    training = program.build(seed)
    assert isinstance(training, CharLm)
    try:
        training.train()
    except RuntimeError:
        return None
    loss = training.generation_loss()
    return loss if math.isfinite(loss) else None


def table(losses: Mapping[tuple[str, int], Loss]) -> dict[str, dict[str, object]]:
    """Return for each mutant by how much it is worse than its twin, seed by seed, and if it hurts.

    Args:
        losses: Final losses in nats by program and seed.
    """
    return {
        mutant.name: _row(
            [losses[mutant.name, seed] for seed in SEEDS],
            [losses[mutant.twin.name, seed] for seed in SEEDS],
        )
        for mutant in TRANSFORMERS
        if mutant.twin is not None
    }


def _row(mutant: Sequence[Loss], twin: Sequence[Loss]) -> dict[str, object]:
    worse = [
        None if mine is None or theirs is None else round(mine - theirs, 4)
        for mine, theirs in zip(mutant, twin, strict=True)
    ]
    known = [nats for nats in worse if nats is not None]
    if len(known) < len(worse):  # some ended in nan
        return {"worse_by": worse, "hurts": True}
    mean = statistics.mean(known)
    error = statistics.stdev(known) / math.sqrt(len(known))
    hurts = mean > LEAST_NATS and mean > LEAST_ERRORS * error
    return {"worse_by": worse, "mean": round(mean, 4), "hurts": hurts}


def to_json(rows: Mapping[str, Mapping[str, object]]) -> str:
    """Return the rows as a file that reads well, one line each."""
    lines = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
