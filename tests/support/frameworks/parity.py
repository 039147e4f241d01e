"""The table of which rule can judge which framework, and what a training shows of it."""

from __future__ import annotations

import re
from pathlib import Path

from stepwatch.judge.evaluate import evaluate
from stepwatch.rules import DEFAULT_RULES
from stepwatch.trial import Trial

PAGE = Path(__file__).parents[3] / "docs" / "frameworks" / "parity.md"
#: What stands in the table where a rule judged a training.
JUDGED = "yes"
#: Judged or not, as the speed of the machine has it: how many steps are observed in full.
_ROW = re.compile(r"^\| `(\w+)` \|(.*)\|$", re.MULTILINE)


def promised(column: str) -> set[str]:
    """Return the rules that can judge a framework, as the page has it.

    Args:
        column: The heading, such as ``Keras on JAX``.
    """
    page = PAGE.read_text(encoding="utf-8")
    heading = next(line for line in page.splitlines() if line.startswith("| Rule |"))
    index = [cell.strip() for cell in heading.strip("|").split("|")].index(column) - 1
    cells = {name: row.split("|")[index].strip() for name, row in _ROW.findall(page)}
    return {name for name, cell in cells.items() if cell == JUDGED}


def judged(*runs: Path) -> set[str]:
    """Return the default rules that judged one of some runs at least."""
    return {
        status.rule
        for run in runs
        for status in evaluate(Trial(run), DEFAULT_RULES).statuses
        if status.status != "NotEvaluated"
    }
