"""The plot of a terminal, character by character."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.model.finding import Finding
from stepwatch.plots import line_plot

SPIKE = Finding("loss_spike", 20, "loss", "too high", severity="error")


GOLDEN_BRAILLE = [
    "loss  value",
    "2 │                 ⢀⣀⠤⠒⠉⠒⢄⡀",
    "  │             ⣀⠤⠔⠊⠁      ⠈⠑⠤⡀",
    "1 │        ⢀⡠⠔⠒⠉              ⠈⠑⠤⣀",
    "  │    ⣀⠤⠔⠊⠁                      ⠑⠢",
    "0 │⣀⠤⠒⠉",
    "  └─────────────────────────────────",
    "                        ▲",
    "   0             step             30",
    "▲ step 20 loss spike: too high",
]

GOLDEN_ASCII = [
    "loss  value",
    "2 |                  ...'..",
    "  |              ...'      '..",
    "1 |          ...'             ''.",
    "  |     ..'''                    ''.",
    "0 |..'''",
    "  +---------------------------------",
    "                        ^",
    "   0             step             30",
    "^ step 20 loss spike: too high",
]

GOLDEN_GAP = [
    "a  l2",
    "1.5 │",
    "    │⠒⠒⠒⠒⠒         ⠒⠒⠒⠒⠒",
    "0.5 │",
    "    └───────────────────",
    "              ×",
    "     0       step      4",
    "× not finite once, at step 2",
]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


class TestLinePlot:
    def test_braille(self):
        """The picture of a triangle with a finding at its top."""
        plot = line_plot(
            [0, 10, 20, 30],
            [0.0, 1.0, 2.0, 0.5],
            name="loss",
            statistic="value",
            findings=[SPIKE],
            width=36,
            height=5,
        )

        assert GOLDEN_BRAILLE == lines(plot.plain)

    def test_ascii(self):
        """The same where the terminal knows no Unicode."""
        plot = line_plot(
            [0, 10, 20, 30],
            [0.0, 1.0, 2.0, 0.5],
            name="loss",
            statistic="value",
            findings=[SPIKE],
            width=36,
            height=5,
            encoding="ISO-8859-1",
        )

        assert GOLDEN_ASCII == lines(plot.plain)

    def test_gap_is_marked_and_counted(self):
        """A nan breaks the line and is said, not bridged."""
        plot = line_plot(
            [0, 1, 2, 3, 4],
            [1.0, 1.0, np.nan, 1.0, 1.0],
            name="a",
            statistic="l2",
            width=24,
            height=3,
        )

        assert GOLDEN_GAP == lines(plot.plain)

    def test_logarithmic_axis(self):
        """Six decades are a straight line; its labels are the values."""
        steps = np.arange(7)

        plot = line_plot(steps, 10.0**steps, name="a", statistic="l2", height=7, log=True).plain

        assert "1e+06 │" in plot
        assert " 1000 │" in plot

    def test_one_spike_in_a_million_is_seen(self):
        """Each dot column reaches to its highest value."""
        values = np.zeros(1_000_000)
        values[123_456] = 5.0

        plot = line_plot(np.arange(1_000_000), values, name="a", statistic="max").plain

        assert lines(plot)[1].split("│")[1].strip()

    def test_control_characters_never_reach_the_terminal(self):
        """A name cannot move the cursor or set colours."""
        finding = Finding("x\x1b[2J", 0, "", "bell\a\nline")

        plot = line_plot([0], [1.0], name="a\x1b]0;t\x07", statistic="l2", findings=[finding])

        assert all(character.isprintable() for line in plot.plain.split("\n") for character in line)

    def test_markup_in_names_is_text(self):
        """Square brackets are no markup."""
        assert "[red]a" in line_plot([0], [1.0], name="[red]a", statistic="l2").plain

    def test_nothing_to_draw_is_said(self):
        """Neither an empty column nor one of nan is an error."""
        assert "nothing to draw" in line_plot([], [], name="a", statistic="l2").plain
        assert "not finite once" in line_plot([3], [np.nan], name="a", statistic="l2").plain

    @given(
        st.lists(st.floats(), max_size=40),
        st.integers(24, 100),
        st.integers(2, 12),
        st.booleans(),
        st.sampled_from(["utf-8", "ascii"]),
    )
    def test_every_line_fits(self, values, width, height, log, encoding):
        """Whatever the numbers are, the plot keeps its size and its alphabet."""
        plot = line_plot(
            range(len(values)),
            values,
            name="gradient/" + "x" * 90,
            statistic="l2",
            width=width,
            height=height,
            log=log,
            encoding=encoding,
        ).plain

        assert max(len(line) for line in lines(plot)[:-1] or [""]) <= width
        if encoding == "ascii":
            plot.encode("ascii")

    def test_no_room_is_refused(self):
        """A plot without room is an error, not a mess."""
        with pytest.raises(ValueError, match="no room"):
            line_plot([0], [1.0], name="a", statistic="l2", width=10)
