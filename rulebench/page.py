"""Tables of what was scored, as Markdown; and the page that holds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from .causes import CAUSES
from .scores import HALVES, RuleScore, Score, Verdict, half_of

PAGE = Path(__file__).parents[1] / "docs" / "rulebench.md"
_BEGIN, _END = "<!-- rulebench: begin -->", "<!-- rulebench: end -->"


def tables(verdicts: Sequence[Verdict], group_of: Callable[[str], str]) -> str:
    """Return everything as Markdown.

    Args:
        verdicts: One for each program and seed.
        group_of: The group of a program's name.
    """
    seeds = sorted({verdict.outcome.seed for verdict in verdicts})
    programs = {verdict.program.name for verdict in verdicts}
    faulty = {verdict.program.name for verdict in verdicts if verdict.program.cause}
    told = (
        f"{len(faulty)} faulty and {len(programs) - len(faulty)} healthy programs, seeds"
        f" {', '.join(map(str, seeds))}: {len(verdicts)} trainings."
    )
    return "\n\n".join(
        (
            told,
            "### In all",
            halves_table(verdicts),
            "### By group",
            _score_table("group", _by(verdicts, lambda one: group_of(one.program.name))),
            "### By rule",
            rule_table(verdicts),
            "### By cause",
            _cause_table(verdicts),
            "### Accused though healthy",
            _accused_table(verdicts),
            "### Faults without a word",
            _missed_table(verdicts),
        )
    )


def halves_table(verdicts: Sequence[Verdict]) -> str:
    """Return the table of both halves and of all."""
    halves = _by(verdicts, lambda one: half_of(one.program.name, one.outcome.seed))
    ordered = [(half, halves[half]) for half in HALVES if half in halves]
    return _score_table("half", dict([*ordered, ("both", list(verdicts))]))


def rule_table(verdicts: Sequence[Verdict]) -> str:
    """Return one line for each rule."""
    rules = dict.fromkeys(rule for verdict in verdicts for rule in verdict.outcome.statuses)
    rows = []
    for rule in rules:
        score = RuleScore.of(rule, verdicts)
        per_twenty = 20 * score.accused / score.healthy if score.healthy else 0.0
        rows.append(
            (
                f"`{rule}`",
                str(score.found),
                f"{score.named} of {score.could}",
                str(score.accused),
                f"{per_twenty:.2f}",
                str(score.not_evaluated),
                str(score.errors),
            )
        )
    head = ("rule", "found in faulty", "named the cause", "accused healthy", "per 20 healthy",
            "could not judge", "errors")  # fmt: skip
    return _table(head, rows)


def write(text: str, page: Path = PAGE) -> None:
    """Put the tables between the markers of the page.

    Raises:
        ValueError: The page has no markers.
    """
    old = page.read_text(encoding="utf-8")
    if _BEGIN not in old or _END not in old:
        raise ValueError(f"{page.name} has no line {_BEGIN} with {_END} after it")
    between = re.compile(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", re.DOTALL)
    new = between.sub(lambda _: f"{_BEGIN}\n\n{text}\n\n{_END}", old)
    page.write_text(new, encoding="utf-8")


def _by(verdicts: Iterable[Verdict], key: Callable[[Verdict], str]) -> dict[str, list[Verdict]]:
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(key(verdict), []).append(verdict)
    return groups


def _score_table(title: str, groups: dict[str, list[Verdict]]) -> str:
    head = (title, "faulty", "detected", "cause named", "no rule for it", "could not check",
            "steps to alarm", "steps to cause", "healthy", "accused",
            "false alarms per run")  # fmt: skip
    return _table(head, [(name, *_cells(Score.of(some))) for name, some in groups.items()])


def _cells(score: Score) -> tuple[str, ...]:
    return (
        str(score.faulty),
        _share(score.detected, score.faulty),
        _share(score.named, score.faulty),
        str(score.no_rule),
        str(score.could_not_check),
        "–" if score.delay is None else f"{score.delay:g}",
        "–" if score.right_delay is None else f"{score.right_delay:g}",
        str(score.healthy),
        _share(score.accused, score.healthy),
        f"{score.false_alarms / score.healthy:.3f}" if score.healthy else "–",
    )


def _cause_table(verdicts: Iterable[Verdict]) -> str:
    rows = []
    faulty = [verdict for verdict in verdicts if verdict.program.cause]
    for cause, some in _by(faulty, lambda one: one.program.cause).items():
        score = Score.of(some)
        rows.append(
            (
                CAUSES[cause].what,
                str(score.faulty),
                str(score.detected),
                str(score.named),
                ", ".join(f"`{pattern}`" for pattern in CAUSES[cause].named_by),
            )
        )
    return _table(("cause", "trainings", "detected", "named", "named by"), rows)


def _accused_table(verdicts: Iterable[Verdict]) -> str:
    rows = [
        (f"`{verdict.program.name}`", str(verdict.outcome.seed), f"`{finding.rule}`",
         _cell(finding.headline()))
        for verdict in verdicts
        for finding in verdict.false_alarms
    ]  # fmt: skip
    return _table(("program", "seed", "rule", "what it said"), rows) if rows else "None."


def _missed_table(verdicts: Iterable[Verdict]) -> str:
    rows = []
    missed = [verdict for verdict in verdicts if verdict.program.cause and not verdict.detected]
    for name, some in _by(missed, lambda one: one.program.name).items():
        program = some[0].program
        seeds = ", ".join(str(verdict.outcome.seed) for verdict in some)
        rows.append((f"`{name}`", seeds, CAUSES[program.cause].what, _reason(some[0])))
    return _table(("program", "seeds", "fault", "because"), rows) if rows else "None."


def _reason(verdict: Verdict) -> str:
    if not verdict.has_rule:
        return "no rule that was asked knows it"
    return "not enough evidence" if verdict.could_not_check else "the rules found nothing"


def _share(some: int, of: int) -> str:
    return f"{some} ({some / of:.0%})" if of else "–"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
