"""What is trained, and what is known of it."""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from .causes import CAUSES
from .trainings.training import Training

_BASES = "rulebench.trainings"


@dataclass(frozen=True)
class Program:
    """A training, and what is wrong with it.

    Args:
        name: Its name, in snake case.
        training: Its class.
        options: Class attributes that are set otherwise.
        cause: Why it goes wrong, a key of ``CAUSES``; empty for a healthy one.
        begins: The TRAIN step, from 0, at which the fault begins.
        twin: The same without the fault; ``None`` for a healthy one.
    """

    name: str
    training: type[Training]
    options: Mapping[str, object] = field(default_factory=dict)
    cause: str = ""
    begins: int = 0
    twin: Program | None = None

    def __post_init__(self) -> None:
        if self.cause and self.cause not in CAUSES:
            raise ValueError(f"{self.name}: no cause {self.cause!r} in the vocabulary")

    def build(self, seed: int) -> Training:
        """Return the training, ready to train."""
        return self.training(seed, **self.options)

    def digest(self) -> str:
        """Return a name of what is trained: another one when its source changes."""
        written = repr(sorted(self.options.items(), key=lambda item: item[0]))
        options = re.sub(r" at 0x[0-9a-f]+", "", written)  # where a function lies in memory
        modules = sorted({cls.__module__ for cls in self.training.__mro__})
        sources = [_source(name) for name in modules if name.startswith("rulebench.")]
        text = "".join([options, *sources])
        return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


@lru_cache
def _source(module: str) -> str:
    # once: the file may be edited while the benchmark runs
    return inspect.getsource(sys.modules[module])


def healthy(name: str, training: type[Training], **options: object) -> Program:
    """Return a program in which nothing is wrong."""
    return Program(name, training, options)


def faulty(
    name: str,
    cause: str,
    training: type[Training],
    *,
    begins: int = 0,
    twin: Program | None = None,
    **options: object,
) -> Program:
    """Return a program with a fault; its twin is the training that it derives from."""
    return Program(name, training, options, cause, begins, twin or _base(training))


def _base(training: type[Training]) -> Program:
    """Return the nearest class that is one of the plain trainings, as a program."""
    base = next(cls for cls in training.__mro__ if cls.__module__.startswith(_BASES))
    return Program(f"plain_{_snake(base.__name__)}", base)


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def family(
    name: str, training: type[Training], **variants: Mapping[str, object]
) -> tuple[Program, ...]:
    """Return healthy programs that differ in their options, as ``name_variant``."""
    return tuple(
        Program(f"{name}_{variant}", training, options) for variant, options in variants.items()
    )
