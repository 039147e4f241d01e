"""Text for terminals: what a run, a job or an error holds may be a stranger's."""

from __future__ import annotations

import re
import sys
from textwrap import wrap
from typing import TextIO

# Control characters have pictures of their own; what turns the direction of text has none.
_PICTURES = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\N{SYMBOL FOR DELETE}",
    **dict.fromkeys(range(0x80, 0xA0), "\N{REPLACEMENT CHARACTER}"),
    **dict.fromkeys(
        [0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)],
        "\N{REPLACEMENT CHARACTER}",
    ),
}
_COLORS = re.compile(r"(\x1b\[[0-9;]*m)")


def visible(text: str) -> str:
    """Return a text whose control characters and direction marks are seen and do nothing.

    Line feeds and tabs stay; each character becomes one character.

    Example:
        >>> visible("loss\\x1b[2J \\u202egnp.exe")
        'loss␛[2J �gnp.exe'
    """
    return text if text.isprintable() else text.translate(_PICTURES)


def visible_log(line: str) -> str:
    """Return a line of a log that may have colors, and carriage returns as progress bars do.

    Example:
        >>> visible_log("\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07")
        '\\x1b[31mred\\x1b[0m ␛]0;title␇'
    """
    if line.isprintable():
        return line
    parts = _COLORS.split(line)
    parts[::2] = ["\r".join(map(visible, part.split("\r"))) for part in parts[::2]]
    return "".join(parts)


def hanging(text: str, width: int, begin: str = "") -> str:
    """Return a text in lines of a width; further ones stand as far to the right as the first.

    A word that is longer than a line is left whole, so that a path can still be copied.

    Args:
        text: Its own lines stay lines; of each the spaces that it begins with count as its place.
        width: How many characters a line may have.
        begin: What stands before each line of the text.

    Example:
        >>> print(hanging("the loss does not fall, step 9", 26, "a: "))
        a: the loss does not fall,
           step 9
    """
    lines = []
    for line in text.split("\n"):
        rest = line.lstrip(" ")
        first = begin + " " * (len(line) - len(rest))
        later = " " * len(first)
        lines += wrap(
            rest,
            max(len(first) + _NARROWEST, width),
            initial_indent=first,
            subsequent_indent=later,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [first]
    return "\n".join(lines)


_NARROWEST = 20


def print_text(text: str, *, file: TextIO | None = None) -> None:
    """Print a text that may hold anything; to standard output by default."""
    print(visible(text), file=file or sys.stdout, flush=True)
