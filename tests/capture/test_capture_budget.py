"""The budget: which steps are observed in full, by what observing them costs."""

from __future__ import annotations

import tracemalloc

import pytest

from stepwatch.capture import budget as module
from stepwatch.capture.budget import FULL_STEPS, Budget, parse_budget
from stepwatch.errors import ConfigError
from stepwatch.model.collection import as_collections
from stepwatch.model.steps import Mode


class Training:
    """Steps that take as long as a test says, by a clock of its own.

    Args:
        monkeypatch: Of the test.
        share: The budget.
        start_s: ``START_S``.
        running: The share of the time in which its thread runs.
    """

    def __init__(self, monkeypatch, share=0.03, start_s=0.1, running=1.0):
        monkeypatch.setattr(module, "START_S", start_s)
        self._now, self._background_s, self._step = 100.0, 0.0, 0
        self.lines = []
        monkeypatch.setattr(module, "perf_counter", lambda: self._now)
        monkeypatch.setattr(module, "thread_time", lambda: running * self._now)
        self.budget = Budget(
            share, background_s=lambda: self._background_s, changed=self.lines.append
        )

    def train(
        self,
        steps,
        *,
        plain_ms,
        full_ms,
        tenth_ms=0.0,
        thin_ms=0.0,
        background_ms=0.0,
        unseen_ms=0.0,
    ):
        """Train on; a full step that is a multiple of ten takes ``tenth_ms`` if that is more."""
        for _ in range(steps):
            is_thin = self.budget.thins(Mode.TRAIN, self._step)
            most_ms = full_ms if self._step % 10 else max(full_ms, tenth_ms)
            own_s = (thin_ms if is_thin else most_ms) / 1000
            self._now += (plain_ms + (0 if is_thin else unseen_ms)) / 1000 + own_s
            self.budget.spent_s += own_s
            self._background_s += 0 if is_thin else background_ms / 1000
            self.budget.end_step(self._step, is_thin=is_thin)
            self._step += 1


class TestPeriod:
    def test_of_many_steps_that_come_at_once_few_are_observed_in_full(self, monkeypatch):
        """As the turns of a loop: whatever each takes until the next, no rung below is taken."""
        training = Training(monkeypatch)
        training.budget.come_at_once(20_000)

        assert 50 == training.budget.period
        training.train(600, plain_ms=100, full_ms=0.01)
        assert 50 == training.budget.period
        assert ["full statistics at 1 step in 50 from step 1 on, losses at every step"] == (
            training.lines
        )

    def test_of_few_that_do_all_are(self, monkeypatch):
        training = Training(monkeypatch)
        training.budget.come_at_once(40)

        assert (1, []) == (training.budget.period, training.lines)

    def test_the_first_steps_are_observed_in_full(self, monkeypatch):
        training = Training(monkeypatch)
        training.train(FULL_STEPS - 1, plain_ms=1, full_ms=50)

        assert not any(training.budget.thins(Mode.TRAIN, step) for step in range(FULL_STEPS))
        assert [] == training.lines

    def test_so_are_those_after_them_until_observing_took_a_while(self, monkeypatch):
        """What callbacks take counts twice, as long as nobody knows what else training pays."""
        training = Training(monkeypatch, start_s=0.5)
        training.train(99, plain_ms=1, full_ms=2, background_ms=1)
        assert [] == training.lines

        training.train(2, plain_ms=1, full_ms=2, background_ms=1)
        assert "from step 101 on" in training.lines[0]

    def test_time_in_which_others_run_does_not_end_that(self, monkeypatch):
        """On a busy machine each step takes longer, and shows no more."""
        training = Training(monkeypatch, start_s=0.5, running=0.5)
        training.train(95, plain_ms=2, full_ms=5)
        assert [] == training.lines

        training.train(10, plain_ms=2, full_ms=5)
        assert 1 == len(training.lines)

    @pytest.mark.parametrize(
        ("plain_ms", "full_ms", "thin_ms", "period"),
        [
            # Two thirds of the budget are for them: 2%.
            (100, 1.9, 0, 1),
            (100, 3.9, 0, 2),
            (10, 1.9, 0, 10),
            # However short a step is, it may take a tenth of a millisecond longer.
            (1, 9, 0, 100),
            # What thin steps cost is spent; a quarter of that is left to full ones.
            (10, 2, 0.2, 50),
            (1, 1000, 0, 1000),
        ],
    )
    def test_so_many_steps_are_observed_in_full_as_the_budget_pays_for(
        self, monkeypatch, plain_ms, full_ms, thin_ms, period
    ):
        training = Training(monkeypatch)
        training.train(40_000, plain_ms=plain_ms, full_ms=full_ms, thin_ms=thin_ms)

        assert period == training.budget.period

    def test_that_every_tenth_step_costs_more_is_foreseen(self, monkeypatch):
        """From a period of ten on all full steps are such."""
        training = Training(monkeypatch)
        training.train(FULL_STEPS, plain_ms=20, full_ms=5, tenth_ms=15)

        # Of 20 ms 2% are for them, and what callbacks take counts twice.
        assert 100 == training.budget.period

    def test_what_runs_in_the_background_counts(self, monkeypatch):
        """Training may have to wait for it."""
        training = Training(monkeypatch)
        training.train(1000, plain_ms=100, full_ms=2, background_ms=6)

        assert 5 == training.budget.period

    def test_steps_that_take_longer_from_somewhere_on_are_observed_more_often(self, monkeypatch):
        training = Training(monkeypatch)
        training.train(5000, plain_ms=1, full_ms=1.9)
        before = training.budget.period
        training.train(10_000, plain_ms=100, full_ms=1.9)

        assert (20, 1) == (before, training.budget.period)
        assert len(training.lines) >= 2
        assert "full statistics at every step to 1 in 50 from" in training.lines[-1]

    def test_what_the_first_steps_took_too_much_is_made_up_for(self, monkeypatch):
        """11 of them take 0.2 s, a tenth of a second more than they may."""
        training = Training(monkeypatch)
        training.train(12, plain_ms=100, full_ms=19)

        assert 50 == training.budget.period

    def test_what_training_pays_beside_callbacks_is_measured(self, monkeypatch):
        """By how much longer the full steps are than the others; more than twice is their own."""
        training = Training(monkeypatch)
        periods = []
        for unseen_ms in (0, 6, 7.8, 30):
            training = Training(monkeypatch, start_s=0.01)
            training.train(2000, plain_ms=100, full_ms=3.9, unseen_ms=unseen_ms)
            periods.append(training.budget.period)

        assert [2, 5, 10, 10] == periods

    def test_it_stays_where_the_cost_changes_a_little(self, monkeypatch):
        training = Training(monkeypatch)
        for full_ms in (1.9, 1.4, 2.2, 1.3, 1.9):
            training.train(1000, plain_ms=10, full_ms=full_ms)

        assert 2 == len(training.lines)
        assert "full statistics at 1 step in 10 to 20 from" in training.lines[-1]

    @pytest.mark.slow
    def test_what_it_measures_takes_no_more_memory_in_a_long_training(self, monkeypatch):
        """Of very short steps it chooses once in very many."""
        training = Training(monkeypatch)
        tracemalloc.start()
        try:
            training.train(60_000, plain_ms=1, full_ms=1000)
            size = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

        assert 1000 == training.budget.period
        assert size < 128 * 1024

    def test_without_a_share_every_step_is_observed_in_full(self, monkeypatch):
        training = Training(monkeypatch, share=None)
        training.train(100, plain_ms=1, full_ms=100)

        assert 1 == training.budget.period
        assert training.budget.cost() is None

    def test_its_cost_is_relative_to_the_training_s_own_time(self, monkeypatch):
        training = Training(monkeypatch)
        training.train(101, plain_ms=10, full_ms=0.08, background_ms=0.08)

        assert pytest.approx(0.016, rel=0.05) == training.budget.cost()


class TestThinning:
    def test_after_what_went_wrong_the_next_steps_are_observed_in_full(self, monkeypatch):
        training = Training(monkeypatch)
        training.train(105, plain_ms=1, full_ms=10)
        training.budget.observe_next_in_full(steps=3)

        thins = [training.budget.thins(Mode.TRAIN, step) for step in range(105, 110)]
        assert [False, False, False, True, True] == thins

    def test_what_goes_on_being_wrong_is_observed_in_full_now_and_then(self, monkeypatch):
        training = Training(monkeypatch)
        training.train(105, plain_ms=1, full_ms=10)
        full = []
        for step in range(105, 3105):
            if not training.budget.thins(Mode.TRAIN, step):
                full.append(step)
            else:
                training.budget.observe_next_in_full()
            training.train(1, plain_ms=1, full_ms=10)

        more = [step for step in full if step % 50]  # its own are multiples of that
        assert [*range(106, 115), *range(1106, 1115), *range(2106, 2115)] == more

    def test_after_the_first_evaluation_steps_are_observed_in_full(self, monkeypatch):
        """What it leaves behind, such as its mode, shows there."""
        training = Training(monkeypatch)
        training.train(105, plain_ms=1, full_ms=10)
        training.budget.thins(Mode.EVAL, 0)

        full = [step for step in range(105, 130) if not training.budget.thins(Mode.TRAIN, step)]
        assert [*range(105, 105 + FULL_STEPS)] == full

    def test_steps_to_come_that_settle_a_suspicion_are_observed_in_full(self, monkeypatch):
        """Once: who suspects something at each step does not have all of them."""
        training = Training(monkeypatch, start_s=0.0)
        training.train(60, plain_ms=1, full_ms=50)
        for first in (100, 150):
            training.budget.observe_later_in_full(range(first, first + 3))
        thin = [step for step in range(95, 160) if training.budget.thins(Mode.TRAIN, step)]

        assert [100, 101, 102, 150] == [step for step in range(95, 160) if step not in thin]

    def test_each_doubling_of_fifty_steps_and_the_middle_are_observed_in_full(self, monkeypatch):
        """Whatever the period: what becomes of a model shows only later."""
        training = Training(monkeypatch)
        training.train(40, plain_ms=0.2, full_ms=50)
        steps = range(40, 2000)

        full = [step for step in steps if not training.budget.thins(Mode.TRAIN, step)]
        assert [50, 100, 150, 200, 300, 400, 600, 800, 1000, 1200, 1600] == full

    @pytest.mark.parametrize(("slope", "is_full"), [(0.1, True), (-0.1, False), (0.0, False)])
    def test_as_a_loss_rises_the_steps_after_it_are_observed_in_full(
        self, monkeypatch, slope, is_full
    ):
        """Well above those with which the training began, and once."""
        training = Training(monkeypatch)
        training.train(105, plain_ms=1, full_ms=10)
        full = []
        for step in range(400):
            noise = 0.2 * (step % 2)
            training.budget.note_loss(step, 10 + noise + slope * step)
            if step >= 105 and step % 50 and not training.budget.thins(Mode.TRAIN, step):
                full.append(step)
            if step >= 105:
                training.train(1, plain_ms=1, full_ms=10)

        assert (32 if is_full else 0) == len(full)

    def test_as_a_loss_is_not_finite_the_steps_after_it_are_observed_in_full(self, monkeypatch):
        training = Training(monkeypatch)
        training.train(105, plain_ms=1, full_ms=10)
        training.budget.note_loss(104, float("nan"))

        full = [step for step in range(105, 130) if not training.budget.thins(Mode.TRAIN, step)]
        assert [*range(105, 115)] == full

    def test_evaluations_that_come_next_are_observed_in_full_too(self, monkeypatch):
        """Training may be over where something is asked for."""
        training = Training(monkeypatch)
        training.train(105, plain_ms=1, full_ms=10)
        thins = [training.budget.thins(Mode.EVAL, step) for step in range(15)]
        training.budget.observe_next_in_full("checkpoint")
        thins += [training.budget.thins(Mode.EVAL, step) for step in range(15, 19)]

        assert [True, False, False, True, True] == thins[-5:]

    def test_what_is_asked_for_now_and_then_is_granted_a_few_times(self, monkeypatch):
        """As in meta-learning, where each task of some dozens of steps has an optimizer."""
        training = Training(monkeypatch)
        training.train(105, plain_ms=1, full_ms=10)
        granted = []
        for _ in range(40):
            training.train(32, plain_ms=1, full_ms=10)
            granted.append(training.budget.observe_next_in_full("another optimizer"))

        assert 6 <= sum(granted) <= 8

    def test_requested_collections_are_kept(self):
        budget = Budget(0.03, as_collections(["gradients:statistics:every=2", "/fc/:raw"]))

        kept = [("gradient/a", "gradients"), ("fc.weight", "weights"), ("loss/x", "losses")]
        assert all(budget.keeps(*one) for one in kept)
        assert not budget.keeps("conv.weight", "weights")
        assert budget.may_keep("weights")

    def test_else_only_losses_and_what_the_script_logs(self):
        budget = Budget(0.03)

        kinds = ["losses", "scalars", "tensors", "metrics", "weights", "loop", "outputs"]
        assert ["losses", "scalars", "tensors", "metrics"] == [*filter(budget.may_keep, kinds)]


class TestParse:
    @pytest.mark.parametrize("text", ["3", "0", "0%", "101%", "-1%", "a lot", "", "nan", "1e-2"])
    def test_what_is_no_share_is_refused(self, text):
        with pytest.raises(ConfigError, match="more than 0% and at most 100%, such as 3%"):
            parse_budget(text)
