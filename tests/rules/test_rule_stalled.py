"""StalledTrainingRule, with a clock of our own."""

from __future__ import annotations

import threading
import time

import pytest

from stepwatch import LiveWatch, TorchHook, Watch, watch
from stepwatch.judge.engine import StepView
from stepwatch.testing.made_runs import make_record
from tests.support.rules.classic_programs import seeded
from tests.support.rules.made_steps import full_step

SECOND = 10**9


def clock(spec, *, steps, until, every=1):
    """Return the engine, and when it spoke up: ticks each second, steps at these seconds."""
    engine = Watch(spec)
    said = []
    for second in range(0, until, every):
        if second in steps:
            engine.evaluate(full_step({"losses": {"l": [1.0]}}, second))
        said += [(second, finding) for finding in engine.tick(second * SECOND)]
    return engine, said


def test_a_minute_without_a_step_is_too_long():
    """Steps each second up to 100, then none: found at the first look after 160."""
    engine, said = clock("stalled_training:threshold=60", steps=range(101), until=400)

    assert [161] == [second for second, _ in said]
    (_, finding) = said[0]
    assert (100, "error") == (finding.step, finding.severity)
    assert "no step for 61 s (> 60 s); the last: TRAIN step 100 of worker_0" in finding.message
    assert "IssuesFound" == [engine.finish(), engine.statuses()[0].status][1]


def test_a_step_every_59_seconds_is_slow_and_no_stall():
    engine, said = clock("stalled_training:threshold=60", steps=range(0, 600, 59), until=600)
    engine.finish()
    assert ([], "NoIssuesFound") == (said, engine.statuses()[0].status)


def test_a_second_stall_is_news():
    steps = {*range(10), *range(200, 210)}
    said = clock("stalled_training:threshold=60", steps=steps, until=400)[1]
    assert [70, 270] == [second for second, _ in said]


def test_a_threshold_near_the_waits_that_were_is_called_too_low():
    said = clock("stalled_training:threshold=60", steps={0, 40}, until=150)[1]
    assert "there was a wait of 40 s before" in said[0][1].message


def test_the_clock_starts_with_the_first_step_unless_asked_for():
    spec = "stalled_training:threshold=60"
    assert [] == clock(spec, steps=(), until=100)[1]
    assert [61] == [
        second for second, _ in clock(f"{spec},count_startup=1", steps=(), until=100)[1]
    ]


def test_a_run_that_is_over_is_not_judged():
    """Nobody ticks in replay, and that is no pass."""
    engine = Watch("StalledTrainingRule")
    engine.evaluate(full_step({"losses": {"l": [1.0]}}))
    engine.finish()
    assert ([], "NotEvaluated") == (engine.tick(10**18), engine.statuses()[0].status)


def test_who_follows_a_run_looks_at_the_clock_while_it_waits(monkeypatch):
    """A trial yields nothing while there is nothing new; then it is asked what time it is."""
    now, record = iter([0, 0, 61 * SECOND]), make_record(0, {"w": [1.0]})
    monkeypatch.setattr("time.monotonic_ns", lambda: next(now))

    class Trial:
        patterns = {}  # noqa: RUF012
        last_steps = {"worker_0": 0}  # noqa: RUF012
        profile = None

        def records(self, *, follow, waiting):
            yield (record,)
            yield ()
            yield ()

    found = list(watch(Trial(), "stalled_training:threshold=60"))
    assert [0] == [finding.step for finding in found]


@pytest.mark.parametrize(
    ("last_steps", "worker", "told"),
    [
        (
            {"worker_0": 7, "worker_1": 0, "worker_2": 5},
            "worker_1",
            "worker_1 stopped there, worker_0 is at step 7",
        ),
        ({"worker_0": 0, "worker_1": 4, "worker_2": 0}, "", "worker_0, worker_2 stopped there"),
        ({"worker_0": 0, "worker_1": 0}, "", None),
    ],
)
def test_workers_that_stand_still_while_others_go_on_are_named(last_steps, worker, told):
    """A step is complete when all wrote it, so nothing is seen of those who go on."""
    engine = Watch("stalled_training:threshold=60")
    engine.evaluate(full_step({"losses": {"l": [1.0]}}, 0))
    engine.tick(0, last_steps)
    (finding,) = engine.tick(61 * SECOND, last_steps)

    assert worker == finding.worker
    assert (told or "of worker_0") in finding.message
    assert bool(told) == ("stopped there" in finding.message)


def test_a_listener_looks_at_the_clock_and_says_what_it_finds(monkeypatch):
    now, record, said = iter([0, 61 * SECOND]), make_record(0, {"w": [1.0]}), []
    live = LiveWatch("stalled_training:threshold=60", said.append)
    monkeypatch.setattr("time.monotonic_ns", lambda: next(now))
    live.on_step(record)
    live.tick()
    live.tick()
    assert (["stalled_training"], said) == ([one.rule for one in said], live.findings)


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_set_is_no_pause(monkeypatch, hours):
    """As by a time server: a listener waits for what goes by."""
    true_ns = time.time_ns
    live = LiveWatch("stalled_training:threshold=60")
    live.on_step(make_record(0, {"w": [1.0]}))
    live.tick()
    monkeypatch.setattr("time.time_ns", lambda: true_ns() + hours * 3600 * SECOND)
    live.tick()

    assert [] == live.findings


@pytest.mark.slow
def test_a_training_that_hangs_is_found_from_within(tmp_path):
    """The thread in the background looks at the clock while the script does nothing."""
    heard = threading.Event()
    live = LiveWatch("stalled_training:threshold=1", lambda finding: heard.set())
    with TorchHook(run=tmp_path, listeners=[live], say=lambda line: None, strict=True):
        seeded(0)
        assert heard.wait(60)
    assert ["stalled_training"] == [finding.rule for finding in live.findings]


def test_a_rule_of_ones_own_need_not_know_of_clocks():
    class Bare:
        name = "bare"
        needs = ()

        def check(self, step: StepView):
            return []

    assert [] == Watch([Bare()]).tick(0)
