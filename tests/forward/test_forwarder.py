"""Findings, numbers and the verdict are passed on to what is open, and nothing there hurts."""

from __future__ import annotations

import gc
import sys
import threading
import types

import pytest

from stepwatch.errors import ConfigError
from stepwatch.forward.forwarder import (
    MOST_FINDINGS,
    Forwarder,
    Pace,
    Target,
    Terms,
    parse_targets,
)
from stepwatch.forward.last_made import LastMade
from stepwatch.forward.tracker import Tracker
from stepwatch.judge.headline import RunState, headline
from stepwatch.model.finding import Finding
from stepwatch.store import open_store
from stepwatch.testing.made_runs import make_record

VERDICT = headline(RunState("finished", 3, 2), [], [])


class Notes(Tracker):
    """Keeps what is passed on, by the run that was open."""

    def __init__(self) -> None:
        self.open: object | None = "first"
        self.kept: list[tuple[object, str, object]] = []
        self.threads: set[str] = set()
        self.end = None

    def open_run(self):
        return self.open

    def begin(self, run, url):
        self._keep(run, "begin", url)

    def finding(self, run, finding, number):
        self._keep(run, "finding", (finding.rule, number))

    def scalars(self, run, step, values):
        self._keep(run, "scalars", step)

    def summary(self, run, summary):
        self._keep(run, "verdict", summary.verdict)

    def before_end(self, run, call):
        self.end = call
        return lambda: None

    def _keep(self, run, what, value):
        self.threads.add(threading.current_thread().name)
        self.kept.append((run, what, value))

    def of(self, what):
        """Return what was kept of a kind, with its run."""
        return [(run, value) for run, kind, value in self.kept if kind == what]


class Broken(Notes):
    """Refuses whatever it is given."""

    def _keep(self, run, what, value):
        raise ConnectionError("no route to the tracker")


def started(tracker, *, lines=None, judge=lambda: VERDICT, **how):
    """Return a forwarder to a tracker, of a run that has begun."""
    target = Target("notes", tracker, Terms(**how))
    say = (lambda line: None) if lines is None else lines.append
    forwarder = Forwarder([target], say, judge=judge)
    forwarder.start(open_store("memory://forwarded"), "worker_0", {})
    return forwarder


def finding(step=1, severity="warning"):
    return Finding("loss_spike", step, "", "9 is far above 1", severity=severity)


class TestForwarder:
    def test_findings_and_the_verdict_reach_the_open_run_on_a_thread_of_its_own(self):
        notes = Notes()
        forwarder = started(notes)
        forwarder.found(finding())
        forwarder.conclude(VERDICT)

        assert ["begin", "finding", "verdict"] == [kind for _, kind, _ in notes.kept]
        assert [("first", ("loss_spike", 1))] == notes.of("finding")
        assert {"stepwatch-notes"} == notes.threads

    def test_a_tracker_that_refuses_is_said_once_and_stops_nothing(self):
        lines: list[str] = []
        forwarder = started(Broken(), lines=lines)
        for step in range(5):
            forwarder.found(finding(step))
        forwarder.conclude(VERDICT)

        assert 1 == len(lines)
        assert "not all was passed on to notes: " in lines[0]
        assert "no route to the tracker" in lines[0]

    def test_what_is_known_is_passed_on_before_the_script_ends_its_run(self):
        """After that the run takes nothing, and is not taken up again."""
        notes = Notes()
        forwarder = started(notes)
        forwarder.found(finding())
        notes.end()
        kept = list(notes.kept)
        forwarder.tick()
        forwarder.conclude(VERDICT)

        assert [("first", "not judged")] == notes.of("verdict")
        assert kept == notes.kept

    def test_another_run_that_the_script_opens_gets_what_comes_from_then_on(self):
        notes = Notes()
        forwarder = started(notes)
        forwarder.found(finding(1))
        notes.end()
        notes.open = "second"
        forwarder.found(finding(2))
        forwarder.conclude(VERDICT)

        assert [("first", ("loss_spike", 1)), ("second", ("loss_spike", 2))] == notes.of("finding")
        assert ["first", "second"] == [run for run, _ in notes.of("verdict")]

    def test_findings_below_the_severity_are_left_out(self):
        notes = Notes()
        forwarder = started(notes, severity="error")
        forwarder.found(finding(1))
        forwarder.found(finding(2, "error"))
        forwarder.conclude(VERDICT)

        assert [("loss_spike", 2)] == [value for _, value in notes.of("finding")]

    def test_a_flood_of_findings_is_bounded(self):
        notes = Notes()
        forwarder = started(notes)
        for step in range(2 * MOST_FINDINGS):
            forwarder.found(finding(step))
        forwarder.conclude(VERDICT)

        assert MOST_FINDINGS == len(notes.of("finding"))

    def test_a_tracker_that_was_named_and_never_open_is_said(self):
        lines: list[str] = []
        notes = Notes()
        notes.open = None
        started(notes, lines=lines).conclude(VERDICT)

        assert ["not all was passed on to notes: the script had no run of it open"] == lines

    def test_the_numbers_are_those_of_the_last_step(self):
        record = make_record(0, {"loss/L": 2.0, "gradient/w": [3.0, 4.0]}, raw=True)
        pace = Pace()
        pace.add(record)

        assert {"loss": 2.0, "gradient_norm": 5.0} == pace.values()


class TestTargets:
    def test_auto_asks_all_that_need_no_parameter(self):
        names = [target.name for target in parse_targets("auto")]

        assert {"wandb", "mlflow", "trackio", "tensorboard"} <= set(names)
        assert "prometheus" not in names
        assert not any(target.is_named for target in parse_targets("auto"))

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("wanbd", "no tracker is named 'wanbd'"),
            ("prometheus", "prometheus needs file"),
            ("prometheus:file=here.txt", "must end in .prom"),
            ("wandb:severity=bad", "severity must be one of"),
        ],
    )
    def test_what_cannot_be_meant_is_an_error_before_training(self, text, said):
        with pytest.raises(ConfigError, match=said):
            parse_targets(text)


class TestLastMade:
    def test_notes_what_a_class_made_and_lets_it_go(self, monkeypatch):
        module = types.ModuleType("a_tracker_of_nobody")
        module.Run = type("Run", (), {"__init__": lambda self, name: setattr(self, "name", name)})
        monkeypatch.setitem(sys.modules, "a_tracker_of_nobody", module)
        before = module.Run.__init__
        made = LastMade(["a_tracker_of_nobody"], "Run")
        made.begin()
        run = module.Run("a")

        assert run is made.get()
        del run
        gc.collect()
        assert made.get() is None
        made.end()
        assert before is module.Run.__init__
