"""Several figures, a headline and a table of findings as one HTML file.

The file holds all it needs, Plotly's script included, and fetches nothing: a content security
policy in it forbids that. Whatever comes from a run is escaped as text, because names of
tensors and messages of plug-in rules are not ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from ..finding import Finding
from ..optional import require
from .marks import by_severity
from .page_parts import SCRIPT, page_style
from .theme import Scheme, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: The most findings listed; more are counted below the table.
MOST_ROWS = 500

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
_SCHEMES: tuple[Scheme, ...] = ("light", "dark")


def page(
    figures: Sequence[Figure],
    *,
    title: str,
    headline: str = "",
    facts: Mapping[str, object] | None = None,
    findings: Iterable[Finding] = (),
) -> str:
    """Join figures and findings into one self-contained HTML document.

    It follows the reader's light or dark scheme, works without a network and prints.

    Args:
        figures: From top to bottom; those of this package, or any with a template of their own
            that may be replaced.
        title: What the page is about, such as the name of the run.
        headline: The answer in one sentence; the number of findings if not given.
        facts: Small print under the headline, a value for each label.
        findings: Listed in a table, the worst first.

    Returns:
        The document, to be written as UTF-8; about 5 MB, nearly all of it Plotly's script.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    script = require("plotly.offline", extra="plots").get_plotlyjs()
    found = by_severity(findings)
    worst = next(iter(found), "none")
    listed = [finding for group in found.values() for finding in group]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">
<title>{escape(title)}</title>
<style>{page_style()}</style>
</head>
<body>
<main>
<header>
<p class="brand">stepwatch</p>
<h1>{escape(title)}</h1>
<p class="headline {_css_class(worst)}">{escape(headline or _count(listed))}</p>
{_facts(facts or {})}
</header>
{_table(listed)}
{_places(figures)}
</main>
<script>{_inside_script(script)}</script>
<script type="application/json" id="figures">{_figures_json(figures)}</script>
<script>{SCRIPT}</script>
</body>
</html>
"""


def _count(findings: Sequence[Finding]) -> str:
    if not findings:
        return "No findings"
    return f"{len(findings):,} finding{'s' if len(findings) > 1 else ''}"


def _css_class(severity: str) -> str:
    return severity if severity in ("error", "warning", "info") else "none"


def _facts(facts: Mapping[str, object]) -> str:
    if not facts:
        return ""
    items = (
        f"<div><dt>{escape(str(label))}</dt><dd>{escape(str(value))}</dd></div>"
        for label, value in facts.items()
    )
    return f"<dl>{''.join(items)}</dl>"


def _table(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    rows = "\n".join(_row(finding) for finding in findings[:MOST_ROWS])
    left = len(findings) - MOST_ROWS
    more = f'<p class="more">and {left:,} more</p>' if left > 0 else ""
    return f"""<section class="findings">
<h2>Findings</h2>
<table>
<thead><tr><th>Severity</th><th class="number">Step</th><th>Rule</th><th>Finding</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
{more}
</section>"""


def _row(finding: Finding) -> str:
    severity = escape(finding.severity)
    tensor = f'<p class="tensor">{escape(finding.tensor)}</p>' if finding.tensor else ""
    remedy = f'<p class="remedy">{escape(finding.remedy)}</p>' if finding.remedy else ""
    return (
        f'<tr><td><span class="badge {_css_class(finding.severity)}">{severity}</span></td>'
        f'<td class="number">{finding.step}</td><td class="rule">{escape(finding.rule)}</td>'
        f"<td><p>{escape(finding.message)}</p>{tensor}{remedy}</td></tr>"
    )


def _places(figures: Sequence[Figure]) -> str:
    """Return the empty places that the script draws into, each of its figure's height."""
    heights = [int(figure.layout.height or 400) for figure in figures]
    return "\n".join(
        f'<figure id="figure-{number}" style="height:{height}px"></figure>'
        for number, height in enumerate(heights)
    )


def _figures_json(figures: Sequence[Figure]) -> str:
    """Return all figures and the templates of both schemes, safe inside a script element."""
    plain = [json.loads(figure.to_json()) for figure in figures]
    for figure in plain:
        figure["layout"].pop("template", None)
    templates = {scheme: template(scheme).to_plotly_json() for scheme in _SCHEMES}
    return _inside_script(
        json.dumps({"figures": plain, "templates": templates}).replace("<", "\\u003c")
    )


def _inside_script(text: str) -> str:
    """Return JavaScript in which nothing ends the element it stands in."""
    return text.replace("</script", "<\\/script")
