"""Adapts rules that were written for smdebug."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, get_type_hints

from stepwatch.errors import ConfigError
from stepwatch.judge.rule import Rule
from stepwatch.judge.step_view import StepView
from stepwatch.model.finding import Finding
from stepwatch.plugins.specs import convert
from stepwatch.rules.compat import OTHER_TRIAL


class DebuggerRule(Rule):
    """Evaluates a rule that derives from smdebug's ``Rule``.

    Args:
        kind: Its class.
        run: The run.
        parameters: Texts; each becomes what the constructor's type hint says, or has as its
            default. ``other_trial_0`` and so on are runs to compare with.

    Raises:
        ConfigError: A parameter that it does not have, or a value that does not fit.
    """

    name = "debugger_rule"

    @staticmethod
    def fits(kind: object) -> bool:
        """Return whether this is the class of a rule that was written for smdebug."""
        return inspect.isclass(kind) and hasattr(kind, "invoke_at_step")

    def __init__(self, kind: type, run: str, parameters: Mapping[str, str]) -> None:
        self._kind, self._run = kind, run
        others = [key for key in parameters if OTHER_TRIAL.fullmatch(key)]
        self._others = [parameters[key] for key in sorted(others, key=_number)]
        self._arguments = _arguments(kind, parameters)
        self._rule: Any = None
        self._has_evaluated = False
        self._missing = ""

    def check(self, step: StepView) -> Iterator[Finding]:
        """Invoke the rule at the step."""
        errors = import_module("smdebug.exceptions")
        skipped = (
            errors.TensorUnavailableForStep,
            errors.TensorUnavailable,
            errors.StepUnavailable,
            errors.NoMoreData,
        )
        if self._rule is None:
            self._rule = self._made()
        try:
            self._rule.invoke(step.number)
            self._has_evaluated = True
        except errors.RuleEvaluationConditionMet as fired:
            self._has_evaluated = True
            yield Finding(self._kind.__name__, step.number, "", str(fired), severity="error")
        except skipped as error:
            self._missing = str(error)

    def unevaluated(self) -> str | None:
        """Return why no step could be evaluated; ``None`` if one was."""
        return None if self._has_evaluated else f"what it evaluates was at no step: {self._missing}"

    def _made(self) -> Any:
        create_trial = import_module("smdebug.trials").create_trial
        others = [create_trial(run) for run in self._others]
        more = {"other_trials": others} if others else {}
        return self._kind(create_trial(self._run), **self._arguments, **more)


def _number(key: str) -> int:
    return int(key.rpartition("_")[2])


def _arguments(kind: type, parameters: Mapping[str, str]) -> dict[str, object]:
    """Return the arguments of its constructor, in the types that it has."""
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
        hint = float  # a default of 10 may stand for any number
    return convert(name, text, hint) if hint in (bool, int, float) else text
