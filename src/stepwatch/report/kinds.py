"""The kinds of reports: which one suits a run, and how it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from ..errors import ConfigError
from ..judge.evaluate import Progress, without_progress
from ..judge.parameters import Spec
from ..plugins import registry
from ..trial import Trial
from .document import Report

GROUP = "stepwatch.reports"
#: Which of ours is taken where several suit: what tells most of a run comes first.
_ORDER = ("xgboost", "run", "profiler")


class Kind(Protocol):
    """A module, or anything else, with two functions."""

    def suits(self, trial: Trial) -> bool:
        """Return whether a run holds what the report shows."""

    def report(
        self,
        trial: Trial,
        rules: Sequence[Spec] | None = None,
        *,
        shown: Progress = without_progress,
    ) -> Report:
        """Return the report; see ``kinds.report``."""


def report(
    trial: Trial,
    kind: str = "",
    rules: Sequence[Spec] | None = None,
    *,
    shown: Progress = without_progress,
) -> Report:
    """Return the report on a run.

    Args:
        trial: The run.
        kind: Which kind of report; by default what suits it.
        rules: Judge it anew, by these; by default as suits the kind.
        shown: Shows how far judging is.

    Raises:
        ConfigError: There is no such kind, or none that suits.
    """
    return load(kind or suits(trial)).report(trial, rules, shown=shown)


def suits(trial: Trial) -> str:
    """Return the kind that tells most of a run.

    Raises:
        ConfigError: There is nothing to tell of.
    """
    others = sorted({*registry.names(GROUP)} - {*_ORDER})
    for name in (*others, *_ORDER):
        if load(name).suits(trial):
            return name
    raise ConfigError(
        f"{trial.path} holds no step and no profile yet, so there is nothing to report"
    )


def load(kind: str) -> Kind:
    """Return a kind by its name.

    Raises:
        ConfigError: There is no such kind; the message names those that there are.
    """
    # the registry does not know what plug-ins are
    return cast("Kind", registry.load(GROUP, kind))
