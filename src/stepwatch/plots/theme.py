"""How every figure looks: one typeface, few colours, light and dark.

The colours of data are the same in both schemes: each has enough contrast on white and on
near-black, and they differ in lightness too, so that they stay apart for colour-blind eyes.
Everything else (text, grid, hover) comes from the template, which is why a figure changes its
scheme by changing its template and nothing else.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Literal

from ..plugins.registry import require

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from plotly.graph_objects.layout import Template
from collections.abc import Iterable, Sequence

from ..model.finding import Finding
from ..model.subjects import shown_name

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
    lines = [f"<b>step {findings[0].began}</b>"]
    for finding in findings[:most]:
        name = shown_name(finding.tensor)
        about = f" · {as_text(name)}" if name else ""
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
        steps.setdefault(finding.began, []).append(finding)
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


Scheme = Literal["light", "dark"]

FONT = 'Inter, "Segoe UI", "Helvetica Neue", "DejaVu Sans", Arial, sans-serif'

#: Colours of lines, in order.
COLORWAY = ("#3a7fc4", "#d98312", "#179a80", "#b05fb0", "#7d8590")

#: The colour of each mode, the same in every figure.
MODE_COLORS = {
    "TRAIN": COLORWAY[0],
    "EVAL": COLORWAY[1],
    "PREDICT": COLORWAY[2],
    "GLOBAL": COLORWAY[4],
}

#: The colour of each severity of a finding.
SEVERITY_COLORS = {"error": "#d6394c", "warning": "#c77700", "info": "#6b7785"}

#: Text, muted text, grid, paper and hover background of each scheme.
INK = {
    "light": {
        "text": "#1c2430",
        "muted": "#5b6675",
        "grid": "#e8ebef",
        "line": "#c3c9d1",
        "paper": "#ffffff",
        "raised": "#ffffff",
    },
    "dark": {
        "text": "#e3e7ec",
        "muted": "#9aa4b1",
        "grid": "#272d36",
        "line": "#454d59",
        "paper": "#14181e",
        "raised": "#1e242c",
    },
}

#: What the ``meta`` of a trace says whose cells are hatched where that can be drawn.
HATCHED = "hatched"

#: Colours of a quantity from low to high, as steps of a perceptually even scale.
SEQUENTIAL = "Viridis"

#: Colours of a quantity around zero; the middle is neutral on white and on near-black.
DIVERGING = (
    (0.0, "#2166ac"),
    (0.25, "#6aa5cf"),
    (0.5, "#a9aeb5"),
    (0.75, "#dd8a62"),
    (1.0, "#b2182b"),
)


def template(scheme: Scheme = "light") -> Template:
    """Return the Plotly template of a scheme.

    Example:
        >>> template("dark").layout.font.color
        '#e3e7ec'
    """
    go = require("plotly.graph_objects", extra="plots")
    ink = INK[scheme]
    axis = {
        "gridcolor": ink["grid"],
        "linecolor": ink["line"],
        "tickcolor": ink["line"],
        "tickfont": {"color": ink["muted"], "size": 12},
        "title": {"font": {"color": ink["muted"], "size": 12}, "standoff": 10},
        "zeroline": False,
        "automargin": True,
    }
    layout = {
        "font": {"family": FONT, "size": 13, "color": ink["text"]},
        "title": {
            "font": {"size": 15, "weight": 600},
            "subtitle": {"font": {"size": 12, "color": ink["muted"]}},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "pad": {"l": 16},
        },
        "colorway": list(COLORWAY),
        "paper_bgcolor": ink["paper"],
        "plot_bgcolor": ink["paper"],
        "xaxis": {**axis, "showgrid": False, "showline": True, "ticks": "outside", "ticklen": 4},
        "yaxis": axis,
        "hoverlabel": {
            "bgcolor": ink["raised"],
            "bordercolor": ink["line"],
            "font": {"family": FONT, "size": 12, "color": ink["text"]},
            "align": "left",
            "namelength": -1,
        },
        "legend": {
            "orientation": "h",
            "x": 1,
            "xanchor": "right",
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"color": ink["muted"], "size": 12},
            "bgcolor": "rgba(0,0,0,0)",
        },
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)",
            "color": ink["line"],
            "activecolor": ink["text"],
            # Plotly 7 shows a button that uploads the figure; a run is not for uploading.
            "remove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"],
        },
        "coloraxis": {"colorbar": {"tickfont": {"color": ink["muted"]}}},
        "margin": {"l": 64, "r": 24, "t": 76, "b": 48},
    }
    return go.layout.Template(layout=layout)


# What only a page needs: the ground under its cards, and marks that are read as text.
_GROUND = {"light": "#f6f7f9", "dark": "#0e1116"}
_MONO = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace'
_LINKS = {"light": "#2b66a3", "dark": "#7db1e8"}
_DARK_MARKS = {"error": "#f2707f", "warning": "#e8a33d", "info": "#9aa4b1"}
_LIGHT_MARKS = {**SEVERITY_COLORS, "warning": "#9a5b00"}


def scheme_style() -> str:
    """Return the typeface and the colours as variables, dark where the reader prefers it.

    A page may say otherwise by ``data-theme="light"`` or ``data-theme="dark"`` at its root.
    """
    dark, otherwise = _variables("dark"), ':root:not([data-theme="light"])'
    return (
        f":root {{ --font: {FONT}; --mono: {_MONO}; {_variables('light')} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ {otherwise} {{ {dark} }} }}\n"
        f'@media screen {{ :root[data-theme="dark"] {{ {dark} }} }}'
    )


def _variables(scheme: Scheme) -> str:
    marks = _DARK_MARKS if scheme == "dark" else _LIGHT_MARKS
    colors = {**INK[scheme], **marks, "ground": _GROUND[scheme], "link": _LINKS[scheme]}
    return " ".join(f"--{name}: {color};" for name, color in colors.items())


def colors(count: int) -> list[str]:
    """Return colours for so many things: those of ``COLORWAY``, or of more an even scale.

    Example:
        >>> colors(2), len(set(colors(12)))
        (['#3a7fc4', '#d98312'], 12)
    """
    if count <= len(COLORWAY):
        return [*COLORWAY[:count]]
    return [_between(index / (count - 1)) for index in range(count)]


# From blue over green to amber, all of them clear on white and on near-black.
_SCALE = ("#3f5fc0", "#3a7fc4", "#179a80", "#7fae3a", "#d98312", "#c8553d")


def _between(position: float) -> str:
    """Return the colour at a position from 0 to 1."""
    at = min(position * (len(_SCALE) - 1), len(_SCALE) - 1.0001)
    low, high = _SCALE[int(at)], _SCALE[int(at) + 1]
    part = at - int(at)
    mixed = (
        round(int(low[i : i + 2], 16) * (1 - part) + int(high[i : i + 2], 16) * part)
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{one:02x}" for one in mixed)


def draw(traces: Any, title: str, about: str = "", **layout: Any) -> Figure:
    """Return a figure in the light scheme; its title and the small print under it are escaped."""
    go = require("plotly.graph_objects", extra="plots")
    titles = {"text": as_text(title), "subtitle": {"text": as_text(about)}}
    return go.Figure(traces).update_layout(template=template(), title=titles, **layout)


def in_scheme(figure: Figure, scheme: Scheme) -> Figure:
    """Return a copy of one of our figures in another scheme."""
    copy = type(figure)(figure)
    copy.update_layout(template=template(scheme))
    return copy


def as_text(name: object) -> str:
    """Return a name so that Plotly shows it as it is and runs no tag that stands in it.

    Example:
        >>> as_text("<img onerror=x>")
        '&lt;img onerror=x&gt;'
    """
    return html.escape(str(name), quote=False)


def shortened(name: str, length: int = 40) -> str:
    """Return a name with its middle left out where it is too long.

    The end of a tensor's name says most, so more of it is kept.

    Example:
        >>> shortened("model.blocks.0.attention.qkv.weight", 20)
        'model.…on.qkv.weight'
    """
    if len(name) <= length:
        return name
    head = (length - 1) // 3
    return f"{name[:head]}…{name[len(name) - (length - 1 - head) :]}"


def faded(color: str, opacity: float) -> str:
    """Return a ``#rrggbb`` colour as ``rgba``.

    Example:
        >>> faded("#ff8000", 0.5)
        'rgba(255,128,0,0.5)'
    """
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"
