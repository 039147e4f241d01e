"""All programs, by group."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from .faults.flips import FLIPS
from .faults.layers import LAYERS
from .faults.loops import LOOPS
from .faults.losses import DATA, LOSSES
from .faults.numbers import NUMBERS
from .faults.processes import PROCESSES
from .faults.rates import RATES
from .faults.rewards import REWARDS
from .faults.transformers import TRANSFORMERS
from .healthy.loops import LOOPS as ODD_LOOPS
from .healthy.models import MODELS as ODD_MODELS
from .healthy.rewards import REWARDS as ODD_REWARDS
from .healthy.tasks import TASKS as ODD_TASKS
from .program import Program

#: What ``rulebench hurts`` found out about the mutants of transformers.
HURTS = Path(__file__).with_name("hurts.json")

#: A few of each kind, for a first look.
SAMPLE = (
    "digits_no_zero_grad",
    "digits_head_replaced",
    "digits_detached_features",
    "digits_zero_group",
    "digits_labels_learnt_by_heart",
    "digits_nan_sample",
    "digits_dead_bias",
    "digits_weight_flips_high",
    "plain_digits",
    "frozen_backbone_adam",
    "two_phases_early",
    "recommender_ties_small",
)


@lru_cache(maxsize=1)
def faulty_groups() -> dict[str, tuple[Program, ...]]:
    """Return the faulty programs by group; of transformers those whose harm was measured."""
    return {
        "loop": LOOPS,
        "rate": RATES,
        "loss": LOSSES,
        "data": DATA,
        "numbers": NUMBERS,
        "layers": LAYERS,
        "transformer": tuple(_harmful(TRANSFORMERS)),
        "bit flip": FLIPS,
        "processes": PROCESSES,
        "rewards": REWARDS,
    }


@lru_cache(maxsize=1)
def healthy_groups() -> dict[str, tuple[Program, ...]]:
    """Return the healthy programs by group, each training once; twins of faulty ones first."""
    faulty = [program for programs in faulty_groups().values() for program in programs]
    groups = {
        "twin": [program.twin for program in faulty if program.twin is not None],
        "odd loop": ODD_LOOPS,
        "odd model": ODD_MODELS,
        "odd task": ODD_TASKS,
        "odd rewards": ODD_REWARDS,
    }
    known: list[Program] = []
    return {group: tuple(_unknown(programs, known)) for group, programs in groups.items()}


def programs() -> list[Program]:
    """Return all programs, faulty ones first."""
    groups = [*faulty_groups().values(), *healthy_groups().values()]
    return [program for group in groups for program in group]


def named(name: str) -> Program:
    """Return the program with a name.

    Raises:
        KeyError: There is none.
    """
    return {program.name: program for program in programs()}[name]


def group_of(name: str) -> str:
    """Return the group of a program."""
    return _groups()[name]


@lru_cache(maxsize=1)
def _groups() -> dict[str, str]:
    every = {**faulty_groups(), **healthy_groups()}
    return {program.name: group for group, members in every.items() for program in members}


def _harmful(mutants: Iterable[Program]) -> list[Program]:
    measured = json.loads(HURTS.read_text()) if HURTS.exists() else {}
    return [mutant for mutant in mutants if measured.get(mutant.name, {}).get("hurts", True)]


def _unknown(programs: Iterable[Program], known: list[Program]) -> list[Program]:
    """Return the programs that train what none before them does."""
    found = []
    for program in programs:
        same = (
            one.training is program.training and one.options == program.options for one in known
        )
        if not any(same):
            known.append(program)
            found.append(program)
    return found
