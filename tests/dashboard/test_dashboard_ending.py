"""How a run ended that did not end well, as the page shows it beneath the headline."""

from __future__ import annotations

import subprocess
import sys

import pytest

from stepwatch import Trial
from stepwatch.dashboard import api
from stepwatch.formats.manifest import End
from stepwatch.testing import make_record
from tests.support.looked_at import begin, judge, make_arrays, make_looked_at


def ended(url, end, steps=4):
    """Write a run of some steps that ended so, and that rules found nothing in."""
    writer = begin(url)
    for step in range(steps):
        writer.write(make_record(step, make_arrays(step)))
    writer.close(end)
    judge(Trial(url).store, findings=())
    return url


def test_a_run_that_failed_is_red_though_no_rule_found_anything(tmp_path):
    """The exception is the headline; the traceback is beneath it."""
    end = End("failed", 1, 4, error="ValueError: no", traceback="  File 'train.py', line 3")
    told = api.overview(Trial(ended(tmp_path / "run", end)), {})

    assert ("error", "Failed after step 3: ValueError: no") == (
        told["health"]["tone"],
        told["headline"],
    )
    assert ("ValueError: no", "  File 'train.py', line 3") == tuple(
        told["ending"][what] for what in ("error", "traceback")
    )


def test_a_run_of_no_step_ended_too(tmp_path):
    """It failed before."""
    run = ended(tmp_path / "run", End("failed", 1, 0, error="ImportError: no torch"), steps=0)
    told = api.overview(Trial(run), {})

    assert "Failed before its first step: ImportError: no torch" == told["headline"]
    assert "ImportError: no torch" == told["ending"]["error"]


def test_a_run_that_ended_well_has_no_ending(tmp_path):
    """Findings are another thing."""
    judge(make_looked_at(tmp_path / "run", broken_from=5))

    assert api.overview(Trial(tmp_path / "run"), {})["ending"] is None


@pytest.mark.slow
def test_a_script_that_raises_leaves_the_end_of_its_traceback(tmp_path):
    """Its own frames, with the innermost last; and nothing of what runs the script."""
    pytest.importorskip("torch")
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "model = torch.nn.Linear(2, 1)\n"
        "def forward(width):\n"
        "    return model(torch.ones(1, width))\n"
        "for width in (2, 2, 3):\n"
        "    forward(width).sum().backward()\n"
    )
    command = [sys.executable, "-m", "stepwatch", "run", "-q", "--run", tmp_path / "run"]
    done = subprocess.run([*command, script], capture_output=True, check=False)
    told = api.overview(Trial(tmp_path / "run"), {})["ending"]

    assert 1 == done.returncode
    assert "RuntimeError" in told["error"]
    assert "return model(torch.ones(1, width))" in told["traceback"]
    assert told["traceback"].lstrip().startswith(f'File "{script}"')
    assert "launch.py" not in told["traceback"]
    assert told["last_steps"]
