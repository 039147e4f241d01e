"""The example notebook runs from top to bottom, and shows a training as it goes on."""

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
