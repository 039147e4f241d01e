"""How each rule stands, and what it is."""

from __future__ import annotations

import inspect
from dataclasses import asdict

from .. import registry
from ..errors import StepwatchError
from ..rules.judgement import Judgement
from ..rules.parameters import GROUP
from ..rules.unchecked import NOT_JUDGED
from ..rules.verdict import headline

# What is worth a look comes first.
_ORDER = ("IssuesFound", "Error", "Stopped", "InProgress", "NotEvaluated", "NoIssuesFound")


def about_rules(judgement: Judgement) -> dict[str, object]:
    """Return a row for each rule that was asked, and the names of those that were not."""
    rows = [{**asdict(status), **_about(status.rule)} for status in judgement.statuses]
    asked = {status.rule for status in judgement.statuses}
    return {
        "headline": headline(judgement.findings, judgement.statuses),
        "verdict": judgement.verdict,
        "rules": sorted(rows, key=lambda row: (_ORDER.index(str(row["status"])), row["rule"])),
        "not_judged": sum(one.status in NOT_JUDGED for one in judgement.statuses),
        "not_asked": [name for name in registry.names(GROUP) if name not in asked],
    }


def _about(rule: str) -> dict[str, object]:
    """Return what a rule looks for and its parameters; nothing of one that is not installed."""
    try:
        kind = registry.load(GROUP, rule)
    except StepwatchError:
        return {"looks_for": "", "needs": [], "parameters": {}}
    parameters = {
        name: str(one.default)
        for name, one in inspect.signature(kind).parameters.items()  # type: ignore[arg-type]
        if one.default is not inspect.Parameter.empty
    }
    return {
        "looks_for": (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " "),
        "needs": list(getattr(kind, "needs", ())),
        "parameters": parameters,
    }
