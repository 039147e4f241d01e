"""The headline: how a run stands, in one sentence."""

from __future__ import annotations

import json
import os
import socket
import time
import traceback
from dataclasses import replace

import numpy as np
import pytest

from stepwatch.formats.findings import write_findings
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.judge import headline as module
from stepwatch.judge.engine import RuleStatus
from stepwatch.judge.evaluate import load_verdict, stored_or_evaluated, verdict_so_far
from stepwatch.judge.headline import CORE_CHECKS, RunState, headline, rule_outcomes, run_state
from stepwatch.judge.live import LiveWatch
from stepwatch.judge.root_cause import StepOrder, chains
from stepwatch.judge.verdict import Verdict
from stepwatch.model.finding import Finding
from stepwatch.model.steps import Mode
from stepwatch.rules import DEFAULT_RULES
from stepwatch.runtime.process import identity
from stepwatch.store import open_store
from stepwatch.testing import make_record
from stepwatch.trial import Trial

CORE = [RuleStatus(names[0], "NoIssuesFound", 9, 0, "") for names in CORE_CHECKS.values()]
LACKED = RuleStatus("overfit", "NotEvaluated", 9, 0, "no evaluation")
FOUND = Finding("loss_spike", 7, "loss/L", "loss rose", severity="error", remedy="look")
ENDED = RunState("finished", 60, 59)


def text_of(*statuses, state=ENDED, findings=()):
    return headline(state, chains(findings), statuses).text


class TestOutcome:
    def test_healthy_is_where_all_core_checks_were_made(self):
        """Else nothing is green: what was not checked is named."""
        whole = headline(ENDED, [], [*CORE, LACKED])
        without = headline(ENDED, [], [*CORE[1:], LACKED])

        assert ("healthy", "good", "✓") == (whole.outcome, whole.tone, whole.mark)
        assert "Healthy: 4 checks passed" == whole.title
        assert "1 lacked data; not checked: overfitting (no validation loss)" == whole.rest
        said = "4 checks passed, 1 lacked data; not checked: overfitting (no validation loss)"
        assert f"Healthy: {said}" == whole.text
        assert ("no problem seen", "none", "–") == (without.outcome, without.tone, without.mark)
        assert "not checked: values are finite, overfitting" in without.text

    def test_a_run_that_most_checks_could_not_judge_is_not_called_healthy(self):
        several = [replace(LACKED, rule=f"of_{number}") for number in range(5)]
        found = headline(ENDED, [], [*CORE, *several])

        assert ("no problem seen", "none") == (found.outcome, found.tone)
        assert "healthy" == headline(ENDED, [], [*CORE, *several[:4]]).outcome

    def test_what_does_not_apply_is_no_gap(self):
        """As frozen layers have no gradients."""
        idle = RuleStatus(CORE[3].rule, "NotEvaluated", 9, 0, "no gradients", idle=True)

        assert "healthy" == headline(ENDED, [], [*CORE[:3], idle]).outcome

    def test_core_checks_are_in_the_default_set(self):
        """Else no run would ever be healthy."""
        default = [spec.partition(":")[0] for spec in DEFAULT_RULES]

        assert all(rule in default for rules in CORE_CHECKS.values() for rule in rules)

    def test_other_rules_alone_do_not_make_it_healthy(self):
        """Who asks for one rule is told what that one says."""
        told = headline(ENDED, [], [RuleStatus("loss_spike", "NoIssuesFound", 9, 0, "")])

        assert "No problem seen in 60 steps, 1 check passed" == told.text
        assert "none" == told.tone

    def test_the_cause_is_the_sentence(self):
        """With what to do, and of which severity it is."""
        told = headline(ENDED, chains([FOUND]), CORE)

        assert ("found", "error", "Loss rose", "look") == (
            told.outcome, told.tone, told.text, told.remedy,
        )  # fmt: skip
        assert FOUND == told.cause

    def test_the_title_says_since_when_it_is_so(self):
        """Where that is known; when it was noticed stands elsewhere."""
        since = replace(FOUND, onset=0, train_onset=0)
        titles = [headline(ENDED, chains([one]), CORE).title for one in (FOUND, since)]

        assert ["Loss spike, step 7", "Loss spike since step 0"] == titles
        assert "since step 0, noticed at step 7" == since.where()

    def test_what_would_confirm_it_is_nothing_that_was_done(self):
        """A batch that is saved is looked at, not saved again."""
        found = Finding("loss_input", 4, "prediction/L", "m", condition="labels prediction/L")
        (again, done) = (
            Verdict("runs/a", [found], CORE, StepOrder(), raw=frozenset(raw))
            for raw in ((), ["labels"])
        )

        assert "--save labels:raw" in again.confirm(again.chains[0])
        assert "stepwatch dash runs/a" in done.confirm(done.chains[0])

    def test_without_rules_nothing_is_good(self):
        assert "Not judged: no rule judged 60 steps" == text_of()
        assert "Not judged: no rule had the data it needs in 60 steps" == text_of(LACKED)


class TestState:
    @pytest.mark.parametrize(
        ("state", "begins"),
        [
            ("failed", "Failed after step 59: why"),
            ("died", "Killed (SIGKILL or out of memory) after step 59: why"),
            ("stalled", "Stalled after step 59: why"),
        ],
    )
    def test_how_it_ended_comes_before_what_rules_say(self, state, begins):
        """What was found before stands beneath it."""
        told = headline(RunState(state, 60, 59, "why"), chains([FOUND]), CORE)

        assert ("failed", "error", begins) == (told.outcome, told.tone, told.text)
        assert ("Found before: Loss rose",) == told.details

    def test_what_is_known_of_a_death_stands_beneath_it(self):
        """The title is what a glance takes in; of an exception that is what was raised."""
        died = headline(RunState("died", 60, 59, "no note; 3 steps are kept"), [], CORE)
        failed = headline(RunState("failed", 60, 59, "ValueError: no"), [], CORE)

        assert "Killed (SIGKILL or out of memory) after step 59" == died.title
        assert "No note; 3 steps are kept" == died.rest
        assert ("Failed after step 59: ValueError: no", "") == (failed.title, failed.rest)

    def test_a_run_that_goes_on_is_healthy_so_far(self):
        running = RunState("running", 380, 379)

        assert "Healthy so far, step 379, 4 checks passed" == text_of(*CORE, state=running)

    @pytest.mark.parametrize("state", ["stopped", "interrupted"])
    def test_what_was_ended_on_purpose_is_said_with_the_verdict(self, state):
        told = text_of(*CORE, state=RunState(state, 60, 59))

        assert f"{state.capitalize()} after step 59. Healthy: 4 checks passed" == told

    def test_the_black_box_is_read_lazily_for_replayable_steps(self, tmp_path, monkeypatch):
        """It has tens of megabytes, and a table of runs asks for headlines only."""
        writer = _begun(tmp_path / "run")
        writer.close(End("finished", 1, 3))
        trial = Trial(tmp_path / "run")
        write_findings(trial.store, "worker_0", [FOUND.to_json()])
        trial.store.put("blackbox/worker_0/1-loss.frames", b"")
        read = []
        monkeypatch.setattr(module, "read_frames", lambda *_, **__: read.append(1) or [])
        verdict = load_verdict(trial)

        assert ("found", []) == (verdict.headline.outcome, read)
        assert 7 not in verdict.replayable
        assert 8 not in verdict.replayable
        assert [1] == read

    def test_tensors_of_a_later_part_are_ordered_as_in_the_steps_of_their_findings(self, tmp_path):
        """As of a second model: else reader and watch begin with another cause of one step."""
        store = open_store(tmp_path / "run")
        start_run(store, Manifest("made", 0))
        writer = NativeWriter(store, "worker_0")
        for step, names in enumerate((["loss/L"], ["loss/L", "z.weight", "a.weight"])):
            writer.write(make_record(step, {name: np.ones(()) for name in names}))
        writer.close(End("finished", 2))
        found = [
            Finding("untrained_parameter", 1, name, "", mode_step=1)
            for name in ("a.weight", "z.weight")
        ]
        write_findings(store, "worker_0", [one.to_json() for one in found])

        verdict = load_verdict(Trial(tmp_path / "run"))
        assert ["z.weight", "a.weight"] == [one.cause.tensor for one in verdict.chains]

    def test_a_run_without_steps_for_long_is_stalled(self, tmp_path):
        """Long is measured by its own steps, and two minutes at least."""
        writer = _begun(tmp_path / "run", times_ns=[0, 10**9, 2 * 10**9])
        trial = Trial(tmp_path / "run")
        soon, late = (run_state(trial, (2 + waited) * 10**9) for waited in (100, 600))
        writer.close(End("finished", 1))

        assert ("running", "") == (soon.state, soon.reason)
        assert "stalled" == late.state
        assert late.reason.startswith("no step for 10 min, where one took 1 s at most")
        assert "" == late.remedy

    def test_of_a_stalled_run_on_this_machine_is_said_how_to_see_where_it_waits(self, tmp_path):
        """Its process is there: this one."""
        here = Manifest("made", 0, host=socket.gethostname(), pid=os.getpid(), process=identity())
        _begun(tmp_path / "run", times_ns=[0, 10**9, 2 * 10**9], manifest=here)
        stalled = run_state(Trial(tmp_path / "run"), 600 * 10**9)

        assert stalled.reason.endswith(f"; its process {os.getpid()} still runs")
        assert f"py-spy dump --pid {os.getpid()}" in stalled.remedy

    def test_an_exception_and_the_last_losses_are_told(self, tmp_path):
        _begun(tmp_path / "run").close(End("failed", 1, 3, error="ValueError: no"))
        told = run_state(Trial(tmp_path / "run"))

        assert ("failed", 2, "ValueError: no") == (told.state, told.last_step, told.reason)
        assert ("Loss at the last steps, 0: 1, 1: 1, 2: 1",) == told.last

    def test_the_last_losses_are_counted_as_training_counts(self, tmp_path):
        """Steps of evaluations between them do not count."""
        store = open_store(tmp_path / "run")
        start_run(store, Manifest("made", 0))
        writer = NativeWriter(store, "worker_0")
        steps = [("TRAIN", 0), ("TRAIN", 1), ("EVAL", 0), ("EVAL", 1), ("TRAIN", 2)]
        for step, (mode, mode_step) in enumerate(steps):
            loss = {"loss/L": np.float32(2)}
            writer.write(make_record(step, loss, mode=Mode(mode), mode_step=mode_step))
        writer.close(End("failed", 1, 5, error="ValueError: no"))

        told = run_state(Trial(tmp_path / "run")).last
        assert ("Loss at the last steps, 0: 2, 1: 2, 2: 2",) == told

    def test_an_exception_in_a_library_names_the_line_of_the_script(self, tmp_path):
        """The line that one can change, not the one in the library that raised."""
        with pytest.raises(ValueError, match="inhomogeneous") as raised:
            np.array([[1, 2], [3]])
        frames = traceback.format_exception(raised.value)
        inside = '  File "/venv/lib/python3.11/site-packages/torch/loss.py", line 7, in forward\n'
        end = End("failed", 1, 3, error="ValueError: no", traceback="".join([*frames, inside]))
        _begun(tmp_path / "run").close(end)

        told = run_state(Trial(tmp_path / "run"))
        assert not any(line.startswith("Raised at") for line in told.last)  # which is what to do
        assert told.remedy.startswith(f"look at {__file__}, line ")


class TestAgain:
    @pytest.mark.parametrize(
        ("command", "workers", "said"),
        [
            (("train.py", "--lr", "1"), 1, " train.py --lr 1"),
            (("train.py",), 2, " LAUNCHER train.py"),
            (("/ray/default_worker.py", "--node=1"), 2, " SCRIPT"),
            ((), 1, " SCRIPT"),
        ],
    )
    def test_what_trains_again_is_the_command_as_far_as_it_is_known(self, command, workers, said):
        """A launcher starts several processes; what Ray starts is no script."""
        store = open_store(f"memory://again-{len(command)}-{workers}-{said[1:7]}")
        manifest = Manifest("a", 1, command=command, num_workers=workers)
        start_run(store, manifest)
        for number in range(workers):
            writer = NativeWriter(store, f"worker_{number}")
            writer.write(make_record(0, {"w": np.ones(1)}, worker=f"worker_{number}"))
            writer.close(End("finished", 1))
        found = Finding("replica_divergence", 0, "w", "they differ", condition="data")
        again = verdict_so_far(Trial(store.url), [found], [])

        assert again.confirm(again.chains[0]).endswith(said)


class TestCounts:
    def test_a_rule_counts_once_for_all_workers(self):
        """Its worst outcome."""
        passed = RuleStatus("loss_spike", "NoIssuesFound", 9, 0, "")
        found = RuleStatus("loss_spike", "IssuesFound", 9, 1, "")

        assert {"loss_spike": "found"} == rule_outcomes([passed, found, passed])

    @pytest.mark.parametrize(
        ("status", "outcome"),
        [
            (RuleStatus("a", "InProgress", 9, 0, ""), "passed"),
            (RuleStatus("a", "InProgress", 9, 1, ""), "found"),
            (RuleStatus("a", "InProgress", 9, 0, "too few", judged=False), "lacked data"),
            (RuleStatus("a", "Stopped", 9, 0, ""), "lacked data"),
            (RuleStatus("a", "Error", 9, 0, ""), "failed"),
        ],
    )
    def test_an_outcome_is_what_it_would_be_now(self, status, outcome):
        assert outcome == status.outcome

    def test_it_is_data(self):
        """For pages and programs."""
        told = headline(ENDED, chains([FOUND]), [*CORE, LACKED]).to_json()

        assert told == json.loads(json.dumps(told))
        assert {"passed": 4, "lacked data": 1} == told["checks"]
        assert "loss_spike" == told["cause"]["rule"]


class TestNotebooks:
    def test_a_verdict_and_its_findings_are_shown_with_nothing_as_markup(self):
        """A message of a rule of somebody's own may hold anything."""
        found = replace(FOUND, message="<script>")
        told = Verdict("runs/a", [found], CORE, StepOrder())._repr_html_() + found._repr_html_()

        assert "<script>" not in told
        assert "✕ &lt;script&gt;" in told
        assert "look" in told

    def test_a_run_is_shown_with_what_it_holds(self, tmp_path):
        _begun(tmp_path / "run").close(End("finished", 1, 3))
        told = Trial(tmp_path / "run")._repr_html_()

        assert str(tmp_path / "run") in told
        assert all(f"<td>{one}</td>" in told for one in ("finished", "3 TRAIN", "1 losses"))


class TestReplay:
    @pytest.mark.parametrize(("can", "command"), [({7}, "replay"), ({6}, "show"), (None, "replay")])
    def test_a_replay_is_suggested_only_where_it_is_possible(self, can, command):
        """Where no snapshot is, the tensor is to be looked at."""
        verdict = Verdict("runs/a", [FOUND], CORE, StepOrder(), replayable=can)

        assert f"stepwatch {command} runs/a" in verdict.confirm(verdict.chains[0])


class TestLive:
    def test_the_default_set_is_a_word(self):
        """As for ``--rules``."""
        asked = [spec.partition(":")[0] for spec in DEFAULT_RULES]

        assert asked == [one.name for one in LiveWatch("default").watched]
        assert [] == LiveWatch("none").watched

    def test_any_reader_sees_how_a_run_stands_from_its_first_step_on(self, tmp_path):
        """Of a run that goes on, each outcome is what it would be if it ended now."""
        writer = _begun(tmp_path / "run", times_ns=[time.time_ns()])
        live = LiveWatch("exploding_tensor; loss_spike")
        live.start(open_store(tmp_path / "run"), "worker_0", {})
        live.on_step(make_record(0, {"loss/L": np.ones(())}))
        live.tick()
        told = load_verdict(Trial(tmp_path / "run"))
        writer.close(End("finished", 1))

        assert ["InProgress", "InProgress"] == [one.status for one in told.statuses]
        assert ["passed", "lacked data"] == [one.outcome for one in told.statuses]
        assert told.headline.text.startswith("No problem seen in 1 step so far, 1 check passed")

    def test_what_stood_still_with_the_process_is_judged_anew(self, tmp_path):
        """The steps that came after the rules were last asked count."""
        writer = _begun(tmp_path / "run")
        live = LiveWatch("exploding_tensor")
        live.start(open_store(tmp_path / "run"), "worker_0", {})
        live.on_step(make_record(0, {"loss/L": np.ones(())}))
        live.tick()
        writer.write(make_record(3, {"loss/L": np.array(np.nan)}))
        writer.close(End("failed", 1, 4, error="Killed"))
        told = stored_or_evaluated(Trial(tmp_path / "run"), default=("exploding_tensor",))

        assert [3] == [finding.step for finding in told.findings]


def _begun(path, times_ns=(0, 1, 2), manifest=Manifest("made", 0)):  # noqa: B008  it is frozen
    store = open_store(path)
    start_run(store, manifest)
    writer = NativeWriter(store, "worker_0")
    for step, time_ns in enumerate(times_ns):
        record = make_record(step, {"loss/L": np.ones(())})
        writer.write(replace(record, time_ns=time_ns))
    writer.flush()
    return writer
