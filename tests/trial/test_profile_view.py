"""The profile of a run as tables: by time, by worker, at any width, also of many ranks."""

from __future__ import annotations

import pytest

from stepwatch.formats.profile.parts import PartsWriter
from stepwatch.formats.profile.tables import (
    PHASES,
    SPANS,
    SYSTEM,
    Sample,
    Span,
    spans_table,
    system_table,
)
from stepwatch.model.steps import Mode
from stepwatch.profile.analysis import summarize
from stepwatch.store import open_store
from stepwatch.trial.profile import Profile

MS = 1_000_000
EPOCH = 1_800_000_000_000 * MS


def write_steps(store, worker: str, count: int, mode: str = "TRAIN", first: int = 0) -> None:
    spans = []
    for step in range(first, first + count):
        start = EPOCH + step * 10 * MS
        spans.append(Span(start, 10 * MS, "step", mode, mode, step))
        for number, name in enumerate(PHASES):
            spans.append(Span(start + number * 2 * MS, 2 * MS, "phase", name, mode, step))
    PartsWriter(store, SPANS, worker).write(spans_table(worker, spans))


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path)


class TestSteps:
    def test_each_phase_is_a_column(self, store):
        """A row is a step, its phases stand beside it, and it is of one worker."""
        for worker in ("worker_0", "worker_1"):
            write_steps(store, worker, 3)

        steps = Profile(store).steps(worker="worker_1").to_pylist()

        assert ["worker_1"] * 3 == [one["worker"] for one in steps]
        assert [2 * MS] * 5 == [steps[1][f"{name}_ns"] for name in PHASES]

    def test_a_mode_by_itself(self, store):
        """Steps of another mode are left out, and their phases too."""
        write_steps(store, "worker_0", 3)
        write_steps(store, "worker_0", 2, "EVAL", first=3)
        profile = Profile(store)

        assert [3, 4] == profile.steps(mode=Mode.EVAL).column("step").to_pylist()
        assert 5 == len(profile.steps())

    def test_some_time(self, store):
        """Steps that lie in a time at least in part."""
        write_steps(store, "worker_0", 10)

        steps = Profile(store).steps(EPOCH + 35 * MS, EPOCH + 55 * MS)

        assert [3, 4, 5] == steps.column("step").to_pylist()

    @pytest.mark.parametrize("points", [1, 7, 50])
    def test_any_width_has_the_same_sums(self, store, points):
        """However few rows are asked for, no time is lost, and phases sum to their rows."""
        write_steps(store, "worker_0", 200)

        steps = Profile(store).steps(points=points).to_pylist()

        assert len(steps) <= points
        assert (200, 2_000 * MS) == (
            sum(one["count"] for one in steps),
            sum(one["duration_ns"] for one in steps),
        )
        for one in steps:
            assert one["duration_ns"] == sum(one[f"{name}_ns"] for name in PHASES)

    def test_sixty_four_ranks(self, store):
        """Each has its own steps; a summary has a row for each."""
        for rank in range(64):
            write_steps(store, f"worker_{rank}", 20)
        profile = Profile(store)

        assert 64 == len(profile.workers)
        assert "worker_63" == profile.workers[-1]
        assert 64 * 20 == len(profile.steps())
        summary = summarize(profile)
        assert [20] * 64 == [one.count for one in summary.steps]
        assert all(abs(share - 0.2) < 1e-9 for share in summary.steps[7].shares.values())


class TestSystem:
    def test_devices_and_metrics_by_expression(self, store):
        """An expression means the whole name; a machine is named as it is."""
        for node in ("a.b", "axb"):
            samples = [
                Sample(EPOCH + time * MS, device, metric, 1.0)
                for time in range(3)
                for device in ("cpu", "cpu0", "memory")
                for metric in ("busy_percent", "used_percent")
            ]
            PartsWriter(store, SYSTEM, node).write(system_table(node, samples))
        profile = Profile(store)

        assert {"cpu"} == set(profile.system(device="cpu").column("device").to_pylist())
        assert {"a.b"} == set(profile.system(node="a.b").column("node").to_pylist())
        rows = profile.system(device=r"cpu\d*", metric="busy.*", node="axb")
        assert 6 == len(rows)

    def test_what_comes_later_is_seen(self, store):
        """A view is live: each call tells what is there then."""
        profile = Profile(store)
        before = len(profile.system())
        sample = Sample(EPOCH, "cpu", "busy_percent", 1.0)
        PartsWriter(store, SYSTEM, "here").write(system_table("here", [sample]))

        assert (0, 1) == (before, len(profile.system()))


class TestNothing:
    def test_all_tables_are_empty_and_have_their_columns(self, store):
        """Who draws or judges a profile need not ask first."""
        profile = Profile(store)

        assert SYSTEM.schema.names == profile.system(points=10).column_names
        assert SPANS.schema.names == profile.spans(points=10).column_names
        assert "other_ns" in profile.steps(points=10).column_names
        assert ((), (), ()) == (
            summarize(profile).steps,
            summarize(profile).devices,
            summarize(profile).notes,
        )
