"""The coverage line: what of a model is captured, and what is not and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

_MOST_NAMED = 3


def coverage_line(parameters: Mapping[str, str | None], outputs: Mapping[str, str | None]) -> str:
    """Return the coverage line.

    Args:
        parameters: For each parameter why it is not captured, ``None`` for those that are.
        outputs: The same for the outputs of modules.

    Example:
        >>> coverage_line({"w": None}, {"fc": None, "lstm": "never called"})
        'capturing 1 of 1 parameters, 1 of 2 outputs (never called: lstm)'
    """
    parts = []
    for what, reasons in (("parameters", parameters), ("outputs", outputs)):
        captured = sum(reason is None for reason in reasons.values())
        parts.append(f"{captured} of {len(reasons)} {what}{_missing(reasons)}")
    return "capturing " + ", ".join(parts)


def abbreviate(names: Sequence[str] | Collection[str]) -> str:
    """Return the first names, and how many more there are."""
    shown = list(names)[:_MOST_NAMED]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _missing(reasons: Mapping[str, str | None]) -> str:
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason is not None:
            by_reason.setdefault(reason, []).append(name)
    if not by_reason:
        return ""
    return " (" + "; ".join(f"{why}: {abbreviate(names)}" for why, names in by_reason.items()) + ")"
