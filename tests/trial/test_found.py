"""Which runs lie at a place, and how each stands at a glance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch.testing import make_record, make_run
from stepwatch.trial.run_listing import find_runs, summarize_run


class TestRunsAt:
    def test_runs_lie_however_deep(self, tmp_path):
        """Of either format; what is within a run is no run."""
        for name, kind in (("a", "native"), ("b/c", "smdebug"), ("b/d", "native")):
            make_run(tmp_path / name, steps=2, format=kind)
        (tmp_path / "empty").mkdir()

        assert ["a", "b/c", "b/d"] == find_runs(str(tmp_path))
        assert [""] == find_runs(str(tmp_path / "a"))

    def test_a_place_without_runs_has_none(self, tmp_path):
        """Also one that is not there."""
        assert [] == find_runs(str(tmp_path)) == find_runs(str(tmp_path / "nowhere"))

    @pytest.mark.parametrize("kind", ["native", "smdebug"])
    def test_in_a_store_they_are_found_by_their_keys(self, kind):
        """One listing tells all."""
        single = open_store(make_run(f"memory://single-{kind}", steps=2, format=kind))
        many = open_store(f"memory://many-{kind}")
        for key in single.list():
            many.put(f"jobs/one/{key}", single.get(key))

        assert ["jobs/one"] == find_runs(many.url)
        assert [""] == find_runs(single.url)


class TestGlance:
    def test_it_tells_the_last_training_loss(self):
        """Not that of an evaluation that came after."""
        store = open_store("memory://glanced")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("glanced", 7, ("train.py",))))
        for step in range(5):
            mode = Mode.EVAL if step == 4 else Mode.TRAIN
            loss = {"loss/mse": np.float32(10 - step)}
            writer.write(make_record(step, loss, mode=mode, mode_step=step % 4))
        writer.close(End("finished", 9, 5))
        found = summarize_run(Trial(store))

        assert ("finished", 5, 7.0, 0, 7) == (
            found.state,
            found.steps,
            found.last_loss,
            found.findings,
            found.started_ns,
        )
        assert found.rate is not None

    def test_its_rate_counts_every_step(self):
        """Also those at which nothing but the loss was stored; ten steps took a second each."""
        store = open_store("memory://thinned")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("thinned", 7, ("train.py",))))
        for step in range(11):
            arrays = {"loss/mse": np.float32(1)}
            if step % 5 == 0:
                arrays["a.weight"] = np.ones(3, np.float32)
            writer.write(replace(make_record(step, arrays), time_ns=step * 1_000_000_000))
        writer.close(End("finished", 9, 11))

        assert 1.0 == summarize_run(Trial(store)).rate

    def test_a_run_without_steps_says_nothing(self):
        """It has only begun."""
        store = open_store("memory://begun")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("begun", 7, ("train.py",))))
        found = summarize_run(Trial(store))
        writer.close(End("finished", 9, 0))

        assert (0, None, None) == (found.steps, found.rate, found.last_loss)
