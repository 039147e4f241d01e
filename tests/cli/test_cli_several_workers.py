"""Where several workers train together, what is told says whose it is and who judges all."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from stepwatch.cli.progress import Progress
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.judge.engine import RuleStatus
from stepwatch.judge.live import LiveWatch
from stepwatch.model.finding import Finding
from stepwatch.model.record import Layout
from stepwatch.store import open_store
from stepwatch.testing.made_runs import make_record


@pytest.mark.parametrize(("size", "whose"), [(1, ""), (2, " of worker_1")])
def test_a_finding_is_told_with_its_worker(verb, tmp_path, size, whose):
    """If there are several; in their last one something is wrong."""
    store = open_store(tmp_path / "run")
    start_run(store, Manifest("made", 0, num_workers=size))
    for rank in range(size):
        writer = NativeWriter(store, f"worker_{rank}")
        value = np.array([np.nan if rank == size - 1 else 1.0])
        writer.write(make_record(0, {"w": value}, worker=f"worker_{rank}"))
        writer.close(End("finished", 1, 1))
    out = verb("check", tmp_path / "run", "--rules", "exploding_tensor")[1]

    assert f"  error · step 0{whose} · rule exploding_tensor" == out.splitlines()[3]


@pytest.mark.parametrize(
    ("size", "offset", "end"),
    [
        (1, None, "stepwatch: look at it with: stepwatch show run"),
        (2, None, "saw; judge the whole with: stepwatch check run"),
        (2, (0,), "saw but no sharded tensor; judge the whole with: stepwatch check run"),
    ],
)
def test_every_line_of_a_training_says_whose_it_is(size, offset, end):
    """Each worker judges by itself; who judges all of them is told at the end."""
    store = open_store(f"memory://progress-{size}-{offset}")
    start_run(store, Manifest("made", 0, num_workers=size))
    stream = io.StringIO()
    progress = Progress("run", stream=stream)
    progress.start(store, "worker_0", {})
    record = make_record(0, {"w": np.ones(1)})
    tensors = [replace(tensor, offset=offset) for tensor in record.layout.tensors]
    progress.on_step(replace(record, layout=Layout(tuple(tensors))))
    progress.summary(End("finished", 0, 1), [], [])
    lines = stream.getvalue().splitlines()

    assert all(line.startswith(("stepwatch: ", "stepwatch worker_0: ")[size - 1]) for line in lines)
    assert lines[-1].endswith(end)


@pytest.mark.parametrize(
    ("end", "findings", "expected"),
    [
        (End("finished", 0, 1), [], []),
        (
            End("failed", 0, 1, error="ValueError: no", lost="2 of 3 steps (why)"),
            [],
            ["Failed after step 0: ValueError: no", "lost: 2 of 3 steps (why)"],
        ),
        (
            End("finished", 0, 1),
            [Finding("some_rule", 0, "w", "it is wrong")],
            [
                "Some rule, step 0",
                "  It is wrong",
                "  step 0 · rule some_rule",
                "0 checks passed, 1 lacked data",
            ],
        ),
    ],
    ids=["well", "failed", "found"],
)
def test_another_worker_than_the_first_shows_only_what_is_its_own(end, findings, expected):
    """What it found, and what went wrong; the rest the first one shows."""
    store = open_store(f"memory://progress-second-{end.state}-{len(findings)}")
    start_run(store, Manifest("made", 0, num_workers=2))
    stream = io.StringIO()
    progress = Progress("run", stream=stream)
    progress.start(store, "worker_1", {})
    progress.print_detail("capturing 1 of 1 parameters")
    progress.on_step(make_record(0, {"w": np.ones(1)}, worker="worker_1"))
    progress.summary(end, findings, [RuleStatus("other", "Stopped", 0, 0, "")])

    assert [f"stepwatch worker_1: {line}" for line in expected] == stream.getvalue().splitlines()


@pytest.mark.parametrize(
    ("num_workers", "worker", "hedged"),
    [(1, "worker_0", False), (2, "worker_0", True), (None, "worker_1", True)],
    ids=["alone", "first", "before the first is there"],
)
def test_a_worker_knows_that_it_is_not_alone(num_workers, worker, hedged):
    """Its rules say what they cannot know from its steps alone."""
    store = open_store(f"memory://alone-{num_workers}-{worker}")
    if num_workers is not None:
        start_run(store, Manifest("made", 0, num_workers=num_workers))
    live = LiveWatch("non_finite_origin")
    live.start(store, worker, {})
    live.on_step(make_record(0, {"gradient/w": np.array([np.nan])}, worker=worker))

    assert [hedged] == ["another worker" in finding.message for finding in live.findings]
