"""A report as a notebook holds what the page holds, with nothing of a run as markup."""

from __future__ import annotations

import json

from stepwatch.model.finding import Finding
from stepwatch.plots import shares
from stepwatch.report.document import Cause, Chart, Report, Section, Table, Text
from stepwatch.report.page import report_notebook

EVIL = "<img src=x onerror=alert(1)> | [a](javascript:b) *c*\n# d"


def notebook(*blocks):
    made = Report("run", EVIL, EVIL, facts={EVIL: EVIL}, sections=(Section("a", EVIL, blocks, 2),))
    return json.loads(report_notebook(made))["cells"]


def test_each_block_is_a_cell():
    """Texts, tables and causes as Markdown, charts as figures that are drawn."""
    cause = Cause(Finding("rule", 3, "", "odd"), ("follows",), "confirm", ())
    chart = Chart(shares, {"parts": {"a": 1.0}, "title": "whole"})

    cells = notebook(Text("said"), Table(("a",), ((1.5,),), "listed"), cause, chart)

    assert ["markdown"] * 5 + ["code"] == [cell["cell_type"] for cell in cells]
    assert "**listed**\n\n| a |\n| --- |\n| 1.5 |" == cells[3]["source"]
    (output,) = cells[-1]["outputs"]
    assert "pie" == output["data"]["application/vnd.plotly.v1+json"]["data"][0]["type"]
    assert output["data"]["image/svg+xml"].startswith("<svg "), "for who has no Plotly"


def test_names_are_text():
    """No tag, link, heading or cell of theirs."""
    cause = Cause(Finding(EVIL, 3, EVIL, EVIL), (EVIL,), EVIL, ())

    cells = notebook(Text(EVIL), Table((EVIL,), ((EVIL,),), EVIL), cause)

    text = "\n".join(cell["source"] for cell in cells)
    assert "<" not in text
    assert "[a]" not in text
    assert "\n# d" not in text
    assert {2} == {line.count("|") for line in text.splitlines() if "|" in line}
