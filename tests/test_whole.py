"""The benchmark of whole scripts, on scripts that train nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture
def whole(monkeypatch):
    """The benchmark as a module."""
    monkeypatch.syspath_prepend(str(BENCH))
    import whole

    yield whole
    sys.modules.pop("whole", None)


def test_a_script_is_measured_from_its_start_to_its_exit(whole, tmp_path):
    """The mean step is what it printed, whatever it printed before."""
    code = "print('steps_per_s=1 loss=2'); print('steps_per_s=250.0 loss=0.5')"
    found = whole.measure([sys.executable, "-c", code], dict(os.environ), tmp_path)

    assert (4.0, "0.5") == (found.step_ms, found.loss)
    assert 0 < found.end_s < found.total_s
    assert found.cpu_s > 0
    assert found.memory_mib > 1


@pytest.mark.parametrize(
    ("code", "why"), [("raise SystemExit('no data')", "no data"), ("print(1)", "no result")]
)
def test_a_script_without_a_result_is_an_error(whole, tmp_path, code, why):
    with pytest.raises(RuntimeError, match=why):
        whole.measure([sys.executable, "-c", code], dict(os.environ), tmp_path)


def test_each_script_has_its_number_of_steps(whole):
    """And each number its script; only how other tools log them is none."""
    scripts = {path.stem for path in whole.SCRIPTS.glob("*.py")} - {"others"}

    assert {name.split()[0] for name in whole.STEPS} == scripts


def test_a_row_shows_medians_as_multiples_of_the_plain_script(whole):
    def three(*step_ms, loss="1.0"):
        return [
            whole.Measurement(one, 10 + one, one, 2 * one, 100 + one, 50 + one, loss)
            for one in step_ms
        ]

    found = {"python": three(1.0, 2.0, 9.0), "stepwatch": three(3.0, 3.0, 30.0, loss="1.1")}

    row = whole.row("mlp", found, ["stepwatch", "wandb"])

    assert row == "| mlp | 2.00 ms | 1.50 | - | 1.0 s | 1.0 s | 1 MiB | 1 MiB | 1.50 | NO |"
