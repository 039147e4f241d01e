"""A rule that was written for smdebug, as one of ours."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, get_type_hints

from ..errors import ConfigError
from ..finding import Finding
from ..rules.compat import OTHER_TRIAL
from ..rules.rule import Rule
from ..rules.step_view import StepView
from ..specs import convert


class DebuggerRule(Rule):
    """Shows the steps of a run to a rule that derives from smdebug's ``Rule``.

    Args:
        kind: Its class.
        run: The run.
        parameters: Texts; each becomes what the constructor's type hint says, or has as its
            default. ``other_trial_0`` and so on are runs to compare with.

    Raises:
        ConfigError: A parameter that it does not have, or a value that does not fit.
    """

    name = "debugger_rule"

    def __init__(self, kind: type, run: str, parameters: Mapping[str, str]) -> None:
        self._kind, self._run = kind, run
        others = [key for key in parameters if OTHER_TRIAL.fullmatch(key)]
        self._others = [parameters[key] for key in sorted(others, key=_number)]
        self._arguments = _arguments(kind, parameters)
        self._rule: Any = None
        self._has_looked = False
        self._missing = ""

    def check(self, step: StepView) -> Iterator[Finding]:
        """Let it look at the step."""
        errors = import_module("smdebug.exceptions")
        passed = (
            errors.TensorUnavailableForStep,
            errors.TensorUnavailable,
            errors.StepUnavailable,
            errors.NoMoreData,
        )
        if self._rule is None:
            self._rule = self._made()
        try:
            self._rule.invoke(step.number)
            self._has_looked = True
        except errors.RuleEvaluationConditionMet as met:
            self._has_looked = True
            yield Finding(self._kind.__name__, step.number, "", str(met), severity="error")
        except passed as error:
            self._missing = str(error)

    def unevaluated(self) -> str | None:
        """Return what it missed at every step."""
        return None if self._has_looked else f"what it looks at was at no step: {self._missing}"

    def _made(self) -> Any:
        create_trial = import_module("smdebug.trials").create_trial
        others = [create_trial(run) for run in self._others]
        more = {"other_trials": others} if others else {}
        return self._kind(create_trial(self._run), **self._arguments, **more)


def _number(key: str) -> int:
    return int(key.rpartition("_")[2])


def _arguments(kind: type, parameters: Mapping[str, str]) -> dict[str, object]:
    """Return what its constructor is given, in the types that it has."""
    known = inspect.signature(kind).parameters
    hints = get_type_hints(kind.__init__)  # type: ignore[misc]  # what signature reads
    takes_any = any(one.kind is one.VAR_KEYWORD for one in known.values())
    found: dict[str, object] = {}
    for key, text in parameters.items():
        if OTHER_TRIAL.fullmatch(key):
            continue
        if key not in known and not takes_any:
            there = ", ".join(name for name in known if name != "base_trial") or "none"
            raise ConfigError(f"{kind.__name__} has no parameter {key!r} (accepted: {there})")
        hint = hints.get(key, type(known[key].default) if key in known else str)
        found[key] = _converted(key, text, hint)
    return found


def _converted(name: str, text: str, hint: object) -> object:
    if hint is int and not text.lstrip("+-").isdecimal():
        hint = float  # who writes 10 as a default may mean any number
    return convert(name, text, hint) if hint in (bool, int, float) else text
