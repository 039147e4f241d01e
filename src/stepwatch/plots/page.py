"""Several figures, a headline and a table of findings as one HTML file.

Whatever comes from a run is escaped as text, because names of tensors and messages of plug-in
rules are not ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from ..finding import Finding
from .marks import by_severity
from .shell import places, shell

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: The most findings listed; more are counted below the table.
MOST_ROWS = 500


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
    found = by_severity(findings)
    worst = next(iter(found), "none")
    listed = [finding for group in found.values() for finding in group]
    body = [page_header(title, headline or _count(listed), worst, facts or {})]
    body += [findings_section(listed), *places(figures)]
    return shell(title, "\n".join(body), figures)


def page_header(title: str, headline: str, tone: str, facts: Mapping[str, object]) -> str:
    """Return what a page begins with.

    Args:
        title: What it is about.
        headline: The answer in one sentence.
        tone: A severity, which colours it; any other text for none.
        facts: Small print under it, a value for each label.
    """
    return f"""<header>
<p class="brand">stepwatch</p>
<h1>{escape(title)}</h1>
<p class="headline {css_class(tone)}">{escape(headline)}</p>
{_facts(facts)}
</header>"""


def _count(findings: Sequence[Finding]) -> str:
    if not findings:
        return "No findings"
    return f"{len(findings):,} finding{'s' if len(findings) > 1 else ''}"


def css_class(severity: str) -> str:
    """Return the class that colours what is of a severity."""
    return severity if severity in ("error", "warning", "info") else "none"


def _facts(facts: Mapping[str, object]) -> str:
    if not facts:
        return ""
    items = (
        f"<div><dt>{escape(str(label))}</dt><dd>{escape(str(value))}</dd></div>"
        for label, value in facts.items()
    )
    return f"<dl>{''.join(items)}</dl>"


def findings_section(findings: Sequence[Finding]) -> str:
    """Return a table of findings, as they are ordered; nothing for none."""
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
        f'<tr><td><span class="badge {css_class(finding.severity)}">{severity}</span></td>'
        f'<td class="number">{finding.step}</td><td class="rule">{escape(finding.rule)}</td>'
        f"<td><p>{escape(finding.message)}</p>{tensor}{remedy}</td></tr>"
    )
