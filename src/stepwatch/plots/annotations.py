"""Findings as marks in a figure: where, how bad, and what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..model.finding import Finding
from .theme import SEVERITY_COLORS, as_text

#: The most steps marked in one figure; more are counted in the legend.
MOST_MARKS = 200

#: The hidden axis from 0 to 1 that marks stand on, so that they ignore scale and zoom.
MARK_AXIS = {
    "overlaying": "y",
    "range": [0, 1],
    "fixedrange": True,
    "visible": False,
}


def by_severity(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return findings by severity, the worst first, each list by step."""
    rank = {severity: number for number, severity in enumerate(SEVERITY_COLORS)}
    found: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda it: (rank.get(it.severity, len(rank)), it.step)):
        found.setdefault(finding.severity, []).append(finding)
    return found


def color_of(severity: str) -> str:
    """Return the colour of a severity, known or not."""
    return SEVERITY_COLORS.get(severity, SEVERITY_COLORS["info"])


def hover_text(findings: Sequence[Finding], *, most: int = 6) -> str:
    """Return the hover text of the findings of one step."""
    lines = [f"<b>step {findings[0].step}</b>"]
    for finding in findings[:most]:
        about = f" · {as_text(finding.tensor)}" if finding.tensor else ""
        lines.append(f"<b>{as_text(finding.rule)}</b>{about}<br>{wrapped(finding.message)}")
    if len(findings) > most:
        lines.append(f"and {len(findings) - most} more")
    return "<br>".join(lines)


def wrapped(message: str, width: int = 72) -> str:
    """Return a message as text broken into lines; Plotly breaks none by itself."""
    lines = [""]
    for word in message.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    return "<br>".join(as_text(line) for line in lines)


def count_label(severity: str, drawn: int, there: int, what: str) -> str:
    """Return what the legend calls the marks of a severity, and whether some are left out.

    Example:
        >>> count_label("error", 200, 1234, "steps")
        'error (200 of 1,234 steps)'
    """
    name = as_text(severity)
    return name if drawn == there else f"{name} ({drawn:,} of {there:,} {what})"


def vertical_lines(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return a trace for each severity: a dashed line and a flag on every step with findings.

    The traces stand on the axis ``y2``, which has to be ``MARK_AXIS``.
    """
    return [_lines(severity, found) for severity, found in by_severity(findings).items()]


def _lines(severity: str, findings: list[Finding]) -> dict[str, Any]:
    steps: dict[int, list[Finding]] = {}
    for finding in findings:
        steps.setdefault(finding.step, []).append(finding)
    drawn = list(steps.items())[:MOST_MARKS]
    texts = [hover_text(at) for _, at in drawn]
    color = color_of(severity)
    return {
        "type": "scatter",
        "x": [x for step, _ in drawn for x in (step, step, None)],
        "y": [y for _ in drawn for y in (0, 1, None)],
        "text": [line for text in texts for line in (text, text, None)],
        "yaxis": "y2",
        "name": count_label(severity, len(drawn), len(steps), "steps"),
        "mode": "lines+markers",
        "line": {"color": color, "width": 1.5, "dash": "dash"},
        "marker": {
            "color": color,
            "symbol": "triangle-down",
            # Only the upper end carries a flag.
            "size": [size for _ in drawn for size in (0, 11, 0)],
            "opacity": 1,
            "line": {"width": 0},
        },
        "hovertemplate": "%{text}<extra></extra>",
        "cliponaxis": False,
    }
