"""A page is one file that fetches nothing and runs nothing of what a run is named."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from stepwatch.model.finding import Finding
from stepwatch.plots import heatmap, series
from stepwatch.report import page_of_figures as page
from stepwatch.report.page import MOST_ROWS

EVIL = "</script></title></style><img src=x onerror=\"alert('1')\">"


class Elements(HTMLParser):
    """Collects the elements of a page as a browser would see them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def tags(self):
        return {tag for tag, _ in self.found}


@pytest.fixture(scope="module")
def evil_page():
    finding = Finding(EVIL, 1, EVIL, EVIL, remedy=EVIL, severity=EVIL)
    figures = [
        series([0, 1], [1.0, 2.0], name=EVIL, statistic=EVIL, modes=[EVIL] * 2, findings=[finding]),
        heatmap([0, 1], [EVIL], [[1.0, 2.0]], statistic=EVIL, findings=[finding]),
    ]
    return page(figures, title=EVIL, headline=EVIL, facts={EVIL: EVIL}, findings=[finding])


class TestPage:
    def test_names_become_no_elements(self, evil_page):
        """Whatever a run calls its things, the page has our elements only."""
        elements = Elements(evil_page)

        assert "img" not in elements.tags()
        assert "script" not in elements.tags()
        assert not [attrs for _, attrs in elements.found if any(a.startswith("on") for a in attrs)]

    def test_nothing_is_fetched(self, evil_page):
        """No address stands in the page, and the policy bars all."""
        ours = evil_page.replace("http://www.w3.org/2000/svg", "")  # a name, and no address
        links = [
            attrs[name]
            for _, attrs in Elements(ours).found
            for name in ("src", "href")
            if name in attrs
        ]

        assert not re.search(r"https?:|[^:a-zA-Z0-9+/]//[a-z]|@import|url\(", ours)
        assert all(link.startswith("data:image/png;base64,") for link in links)
        assert "default-src &#x27;none&#x27;" in ours

    def test_figures_are_drawn_already(self, evil_page):
        """So it is small, and prints as it is read."""
        assert 2 == evil_page.count("<svg ")
        assert len(evil_page) < 40_000

    def test_worst_findings_come_first(self):
        """Errors stand above warnings, whatever their step."""
        findings = [
            Finding("minor", 1, "a", "small", severity="info"),
            Finding("major", 9, "a", "big", severity="error"),
        ]

        html = page([], title="run", findings=findings)

        assert html.index("major") < html.index("minor")
        assert "2 findings" in html

    def test_long_tables_are_cut_aloud(self):
        """More findings than fit are counted."""
        findings = [Finding("a", step, "b", "c") for step in range(MOST_ROWS + 7)]

        assert "and 7 more" in page([], title="run", findings=findings)

    def test_no_findings_are_not_called_a_success(self):
        """Without findings the page says so, in the colour of neither good nor bad."""
        html = page([], title="run")

        assert '<p class="headline none">No findings</p>' in html
