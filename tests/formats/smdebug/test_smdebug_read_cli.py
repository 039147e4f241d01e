"""Every verb that reads runs reads those of the real smdebug."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from stepwatch.cli.check import check, watch
from stepwatch.cli.listing import runs
from stepwatch.cli.show import show
from stepwatch.formats.smdebug.reductions import REDUCTION_PREFIX
from stepwatch.store import open_store
from tests.support.formats.smdebug.golden_runs import RUNS, expected, golden_run
from tests.support.formats.smdebug.smdebug_runs import put_collections, put_step

GOLDEN = golden_run(RUNS[0]).parent


def output_of(verb: object, *arguments: object) -> str:
    """Return what a verb prints; what it raises is raised."""
    run = CliRunner().invoke
    result = run(verb, [str(part) for part in arguments], catch_exceptions=False)  # type: ignore[arg-type]
    return result.output


@pytest.mark.parametrize("name", RUNS)
class TestVerbs:
    def test_a_run_is_shown(self, name: str):
        """With its steps."""
        shown = output_of(show, golden_run(name))

        assert f"{len(expected(name)['steps'])} (" in shown

    @pytest.mark.slow
    def test_its_tensors_are_shown(self, name: str):
        """All of them, in words and as JSON."""
        found = json.loads(output_of(show, golden_run(name), "--tensor", ".*", "--json"))

        names = [tensor for tensor in found["series"] if not tensor.startswith(REDUCTION_PREFIX)]
        assert expected(name)["tensor_names"] == names
        assert names[0] in output_of(show, golden_run(name), "--tensor", ".*")

    def test_it_is_checked(self, name: str):
        """Every complete step is shown to the rules."""
        found = json.loads(output_of(check, golden_run(name), "--json"))

        assert len(expected(name)["steps"]) == found["steps"]


class TestRuns:
    def test_all_runs_are_listed(self, tmp_path: Path):
        """Also those that began and saved nothing; with state, steps and when they began."""
        shutil.copytree(GOLDEN, tmp_path / "deep" / "runs")
        put_collections(open_store(tmp_path / "began"))
        found = {run["run"]: run for run in json.loads(output_of(runs, tmp_path, "--json"))["runs"]}

        assert {"began", *(f"deep/runs/{name}" for name in RUNS)} == set(found)
        assert ("running", 2) == tuple(
            found["deep/runs/mw_partial_running"][what] for what in ("state", "steps")
        )
        assert found["deep/runs/dtypes"]["started"].startswith("2023-11-1")

    def test_a_gradient_that_is_nan_is_found_and_named(self, tmp_path: Path):
        """In names as smdebug makes them, of values and of reductions alike."""
        store = open_store(tmp_path)
        put_collections(
            store,
            collections={"gradients": {"name": "gradients", "include_regex": ["^gradient"]}},
        )
        bad = {
            "relu_output_0": np.array([1.0, np.nan]),
            "gradient/Net_fc.weight": np.array([np.inf, 1.0]),
            f"{REDUCTION_PREFIX}mean/gradient/Net_fc.bias": np.array(np.nan),
        }
        put_step(store, 0, bad, shapes={"gradient/Net_fc.bias": (3,)})
        store.put("training_job_end.ts", b"")

        found = output_of(watch, tmp_path)
        assert "relu_output_0" in found
        assert "3 tensors are affected" in found
