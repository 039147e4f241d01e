"""Write the parameter tables of ``rules.md`` from what rules declare: ``make rule-tables``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from stepwatch.errors import StepwatchError
from stepwatch.judge.declaration import Parameter
from stepwatch.judge.parameters import find_rule

PAGE = Path(__file__).with_name("rules.md")
_SECTION = re.compile(r"^### (\w+)\n.*?(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"^\| Parameter \| Default \| Meaning \|\n(?:\|.*\n)+", re.MULTILINE)


def with_tables(page: str) -> str:
    """Return a page on which the table of each section on a rule is what the rule declares."""
    return _SECTION.sub(lambda found: _described(found[1], found[0]), page)


def _described(name: str, section: str) -> str:
    try:
        parameters = find_rule(name).parameters
    except StepwatchError:  # a section on something else
        return section
    rows = [_row(key, one) for key, one in parameters.items()]
    table = "".join(["| Parameter | Default | Meaning |\n", "|---|---|---|\n", *rows])
    return _TABLE.sub(lambda _: table, section, count=1)


def _row(name: str, one: Parameter) -> str:
    meaning = f"{one.doc} {one.bounds}".strip().replace("|", r"\|")
    return f"| `{name}` | {_default(one.default)} | {meaning} |\n"


def _default(value: object) -> str:
    if value is None or isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float):
        short = f"{value:.0e}" if 0 < abs(value) < 1e-2 and value == float(f"{value:.0e}") else ""
        text = re.sub(r"e-0?", "e-", short or f"{value:.12g}")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        text = ",".join(value)
    else:
        text = str(value)
    return f"`{text}`".replace("|", r"\|") if text else "empty"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
