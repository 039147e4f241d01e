"""What is done about a finding, how often, and that it is noted."""

from __future__ import annotations

import threading

import pytest

from stepwatch.actions import Guard
from stepwatch.actions.policy import Terms, Warn
from stepwatch.actions.training import Stop
from stepwatch.capture.control import AlreadyDone
from stepwatch.errors import TrainingStopped
from tests.support.actions.reacting import Changed, Recorded, Scene, finding


class TestOnce:
    def test_a_finding_is_reacted_to_once(self):
        """Whoever brings it again."""
        scene = Scene(Recorded()).find(finding(), finding(), finding(step=8))

        assert ["done", "done"] == scene.outcomes()

    def test_another_process_does_not_do_it_again(self):
        """The audit log of the run says what was done."""
        first = Scene(Recorded()).find(finding())
        assert ["done"] == first.outcomes()
        action = Recorded()

        Scene(action, store=first.store, who="watch-1").find(finding(), finding(step=9)).notes()

        assert [9] == action.calls

    def test_what_failed_is_done_by_the_next(self):
        """Only what was done is done."""
        first = Scene(Recorded(failures=9)).find(finding())
        assert "failed" == first.outcomes()[-1]
        action = Recorded()

        Scene(action, store=first.store, who="watch-1").find(finding()).notes()

        assert [7] == action.calls


class TestLimits:
    def test_at_most_so_many_are_done_in_a_run(self):
        """The rest is noted as limited, with the limit."""
        scene = Scene(Recorded(), terms=Terms(at_most=2)).find(*map(finding, range(4)))

        notes = scene.notes()

        assert ["done", "done", "limited", "limited"] == [
            note.outcome for note in sorted(notes, key=lambda note: note.step)
        ]
        assert "at_most=2 was reached" == max(notes, key=lambda note: note.step).detail

    def test_what_was_done_earlier_counts(self):
        """Also by another process."""
        store = Scene(Recorded(), terms=Terms(at_most=1)).find(finding(1))
        store.notes()
        action = Recorded()

        Scene(action, terms=Terms(at_most=1), store=store.store, who="w2").find(finding(2)).notes()

        assert [] == action.calls

    def test_cooldown_counts_steps(self):
        """From the step of the last that was done."""
        scene = Scene(Changed(), terms=Terms(cooldown_steps=10))
        scene.find(*map(finding, (0, 9, 10, 15, 20)))

        assert ["done", "limited", "done", "limited", "done"] == scene.outcomes()

    def test_what_was_done_before_or_failed_does_not_count(self):
        """A limit is about what was done."""
        scene = Scene(Changed(AlreadyDone("it was")), terms=Terms(at_most=1))
        assert ["done", "done"] == scene.find(finding(1), finding(2)).outcomes()

        scene = Scene(Changed(ValueError("no")), terms=Terms(at_most=1))
        assert ["failed", "failed"] == scene.find(finding(1), finding(2)).outcomes()

    def test_a_dry_run_does_nothing_and_says_what(self):
        """It keeps to the limits, too."""
        action = Changed()
        scene = Scene(action, terms=Terms(dry_run=True, at_most=1)).find(finding(1), finding(2))

        assert ["dry-run", "limited"] == scene.outcomes()
        assert [] == action.calls
        assert [
            "Changed would be done about: Loss spike, step 1: 9 is far above 1 (loss_spike)"
        ] == scene.said


class TestFailures:
    def test_what_fails_is_tried_again_three_times(self):
        """And then noted as failed, with what was raised."""
        action = Recorded(failures=9)
        notes = Scene(action).find(finding()).notes()

        assert ["retried"] * 3 + ["failed"] == [note.outcome for note in notes]
        assert {"OSError: the line is dead"} == {note.error for note in notes}
        assert [7] * 4 == action.calls

    def test_what_works_in_the_end_is_done(self):
        notes = Scene(Recorded(failures=2)).find(finding()).notes()

        assert ["retried", "retried", "done"] == [note.outcome for note in notes]

    def test_the_end_waits_for_no_backoff(self):
        """It tries again at once."""
        scene = Scene(Recorded(failures=9), backoff_s=(1000.0,) * 3).find(finding())

        assert ["retried"] * 3 + ["failed"] == scene.outcomes()

    def test_the_end_waits_a_bounded_time(self, monkeypatch):
        """What hangs is noted as failed."""
        monkeypatch.setattr("stepwatch.actions.reactions.CLOSE_TIMEOUT_S", 0.05)
        hangs = threading.Event()
        action = Recorded()
        action.act = lambda *_: hangs.wait(60)
        scene = Scene(action).find(finding())

        (note,) = scene.notes()
        hangs.set()

        assert "failed" == note.outcome
        assert "not done when the training had ended" in note.error

    def test_what_hangs_holds_up_nothing_else(self):
        """Each action that takes its time has a thread of its own."""
        told, hangs = threading.Event(), threading.Event()
        slow, quick = Recorded(), Recorded()
        slow.act = lambda *_: "let go" if hangs.wait(60) else "never"
        quick.act = lambda *_: told.set() or "told"
        scene = Scene(slow, quick).find(finding())

        assert told.wait(60)
        hangs.set()
        assert ["done", "done"] == scene.outcomes()

    def test_a_change_that_raises_is_noted_and_training_goes_on(self):
        """Once: the state of the training may be another by now."""
        scene = Scene(Changed(ValueError("no such thing"))).find(finding())

        (note,) = scene.notes()

        assert ("failed", "ValueError: no such thing") == (note.outcome, note.error)

    def test_what_the_training_did_not_come_to_is_failed(self):
        """It ended before the next step was over."""
        scene = Scene(Changed())
        scene.reactions.found(finding())

        (note,) = scene.notes()

        assert "failed" == note.outcome
        assert "training ended" in note.error

    def test_a_store_that_refuses_the_log_harms_nothing(self):
        scene = Scene(Recorded())
        scene.store.put = None

        scene.find(finding())
        scene.reactions.finish()

        assert [7] == scene.reactions._limits[0].entry.action.calls


class TestKinds:
    def test_a_change_may_leave_a_rest_for_the_background(self):
        """Such as the writing of a checkpoint; the rest is tried again like all else there."""
        failures = iter([OSError("full"), None])

        def rest():
            error = next(failures)
            if error is not None:
                raise error
            return "written"

        notes = Scene(Changed(rest)).find(finding()).notes()

        assert ["retried", "done"] == [note.outcome for note in notes]
        assert "written" == notes[-1].detail

    def test_stop_ends_the_training_after_its_step(self):
        scene = Scene(Stop()).find(finding())

        end = scene.control.pop_end()

        assert isinstance(end, TrainingStopped)
        assert "Loss spike, step 7: 9 is far above 1 (loss_spike)" == end.reason
        assert scene.control.pop_end() is None

    def test_warn_shows_a_finding_at_once(self):
        """As ``check`` shows it afterwards: what was seen and the remedy below."""
        scene = Scene(Warn())
        scene.reactions.found(finding(remedy="lower it"))

        seen = "    9 is far above 1"
        assert ["Loss spike, step 7 (loss_spike)", seen, "    lower it"] == scene.said

    def test_without_the_training_changes_say_that_they_need_it(self):
        """As in a process that only watches."""
        scene = Scene(Changed(), Recorded())
        scene.reactions._control = None

        notes = scene.find(finding()).notes()

        assert {"Changed": "failed", "Recorded": "done"} == {
            note.action: note.outcome for note in notes
        }
        assert "stepwatch run" in next(note.error for note in notes if note.error)

    def test_what_a_hook_cannot_do_is_said_before_training(self):
        class Guards(Guard):
            def guard(self, control, skips):
                control.skip_batches(None, skips)

        scene = Scene(Guards())

        assert 1 == len(scene.said)
        assert "Guards cannot be done here" in scene.said[0]

    def test_a_guard_is_limited_as_all_are(self):
        """Its batches are noted as findings of its own."""
        asked = []

        class Guards(Guard):
            def guard(self, control, skips):
                asked.append(skips)

        scene = Scene(Guards(), terms=Terms(at_most=1))

        assert [True, False] == [asked[0](step, "it is nan", float("nan")) for step in (3, 4)]
        assert ["done", "limited"] == [note.outcome for note in scene.notes()]


class TestAfterARestoredState:
    @pytest.mark.parametrize(("step", "times"), [(8, 0), (9, 1)])
    def test_episodes_end_once_all_before_it_was_looked_at(self, step, times):
        """What was found before the restore is old."""
        scene = Scene(Changed())
        called = []
        scene.reactions._restarted = lambda: called.append(True)
        scene.control.restored_at = 9

        scene.reactions.on_step(type("Record", (), {"step": step}))

        assert times == len(called)
