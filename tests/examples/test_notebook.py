"""Notebooks show a training as it goes on: the example from top to bottom, and a view of a line."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "live.ipynb"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_figure_of_a_live_run_is_updated(tmp_path):
    """It was drawn with fewer steps than it has in the end; every figure is there."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    code = nbformat.v4.new_code_cell("print(num_steps)")
    notebook.cells.append(code)
    client = NotebookClient(notebook, timeout=400, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    figures = [one for one in outputs if "application/vnd.plotly.v1+json" in one.get("data", {})]
    num_steps = eval(notebook.cells[-1].outputs[0]["text"])

    assert 7 == len(figures)
    assert "0 finished 60\n" == notebook.cells[-2].outputs[0]["text"]
    assert sorted(num_steps) == num_steps
    assert len(set(num_steps)) > 3
    last = figures[0]["data"]["application/vnd.plotly.v1+json"]
    assert last["data"][0]["name"] == "TRAIN"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_view_of_one_line_follows_a_run_to_its_end(tmp_path):
    """It waits for the run, and what it showed last is kept in the notebook."""
    cells = [
        "import stepwatch\nview = stepwatch.LiveView('runs/first', every_s=0.05)\nview",
        "first = view.html\n"
        "from stepwatch.testing import make_run\n"
        "make_run('runs/first', steps=20)\n"
        "print(view.wait(60), '|', first, '|', view.html)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=400, resources=resources).execute()
    shown = notebook.cells[0].outputs[0]["data"]
    ended, first, last = notebook.cells[1].outputs[0]["text"].split(" | ")

    assert "application/vnd.jupyter.widget-view+json" in shown
    assert first == shown["text/html"] == "<p>waiting for runs/first</p>"
    assert "True" == ended
    assert "loss/mse_loss" in last
    assert "<svg" in last
    (state,) = (one for one in notebook.metadata.widgets.values())
    kept = [one["state"].get("html", "") for one in state["state"].values()]
    assert any("<svg" in one for one in kept)
