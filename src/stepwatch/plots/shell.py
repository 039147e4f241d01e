"""The document around whatever a page shows: one HTML file that holds all it needs.

Plotly's script is in it, once, and it fetches nothing: a content security policy in it forbids
that. Whoever makes the body escapes what comes from a run; titles of figures are escaped here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from ..optional import require
from .page_parts import SCRIPT, page_style
from .theme import Scheme, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
_SCHEMES: tuple[Scheme, ...] = ("light", "dark")
_TITLE_HEIGHT = 44


def shell(title: str, body: str, figures: Sequence[Figure]) -> str:
    """Return a whole document.

    It follows the reader's light or dark scheme, works without a network and prints.

    Args:
        title: Shown by the browser's tab.
        body: HTML, with the places of the figures in it; see ``places``.
        figures: Drawn into their places, in this order.

    Returns:
        The document, to be written as UTF-8; about 5 MB, nearly all of it Plotly's script, which
        is left out where there is no figure.

    Raises:
        MissingDependency: Plotly is not installed.
    """
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
{body}
</main>
{_scripts(figures) if figures else ""}
</body>
</html>
"""


def places(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield for each figure the place that it is drawn into, its title above it as text."""
    for number, figure in enumerate(figures):
        height = int(figure.layout.height or 400)
        title = figure.layout.title
        head = "".join(
            f'<p class="{name}">{escape(unescape(text))}</p>'
            for name, text in (("title", title.text), ("subtitle", title.subtitle.text))
            if text
        )
        height -= _TITLE_HEIGHT if head else 0
        yield (
            f"<figure>{f'<figcaption>{head}</figcaption>' if head else ''}"
            f'<div id="figure-{number}" style="height:{height}px"></div></figure>'
        )


def _scripts(figures: Sequence[Figure]) -> str:
    script = require("plotly.offline", extra="plots").get_plotlyjs()
    return f"""<script>{_inside_script(script)}</script>
<script type="application/json" id="figures">{_figures_json(figures)}</script>
<script>{SCRIPT}</script>"""


def _figures_json(figures: Sequence[Figure]) -> str:
    """Return all figures and the templates of both schemes, safe inside a script element."""
    plain = [_plain(figure) for figure in figures]
    templates = {scheme: template(scheme).to_plotly_json() for scheme in _SCHEMES}
    return _inside_script(
        json.dumps({"figures": plain, "templates": templates}).replace("<", "\\u003c")
    )


def _plain(figure: Figure) -> Any:
    """Return a figure without what the page gives it: its template, title and height."""
    plain = json.loads(figure.to_json())
    layout = plain["layout"]
    if layout.pop("title", None):
        layout["margin"] = {"t": 30, **layout.get("margin", {})}
    for name in ("template", "height"):
        layout.pop(name, None)
    return plain


def _inside_script(text: str) -> str:
    """Return JavaScript in which nothing ends the element it stands in."""
    return text.replace("</script", "<\\/script")
