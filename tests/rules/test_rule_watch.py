"""The engine: episodes, scopes, statuses, and rules that fail."""

from __future__ import annotations

import itertools
import logging
import math
from dataclasses import replace

import numpy as np
import pytest

from stepwatch.judge.live import LiveWatch
from stepwatch.model.record import ScalarRow, ScalarSteps
from stepwatch.model.steps import Mode
from stepwatch.rules import Finding, Rule, StepView, Watch, watch
from stepwatch.store import open_store
from tests.support.rules.rule_records import info, record, step_of


class Above(Rule):
    """Yields a finding for each scalar above a limit."""

    name = "above"
    needs = ("scalars",)

    def __init__(self, limit=0.0):
        self.limit = limit

    def check(self, step):
        for tensor in step.tensors("scalars"):
            if tensor.statistics.mean > self.limit:
                yield Finding(
                    self.name, step.number, tensor.name, "too large", worker=tensor.worker
                )


def scalars(values, **settings):
    return [step_of({"scalars": {"x": value}}, n, **settings) for n, value in enumerate(values)]


def run(rule, steps, **scope):
    from stepwatch.rules import Scope, Watched

    engine = Watch([Watched(rule, Scope(**scope))])
    found = [finding for step in steps for finding in engine.evaluate(step)]
    return found + engine.finish(), engine


class Seen(Rule):
    """Notes the steps that it is given."""

    name = "seen"
    needs = ("losses",)

    def __init__(self):
        self.steps = []

    def check(self, step):
        self.steps.append(step.mode_step)
        return ()


def short_steps(count, *, gap_ns, loss=lambda step: 1.0, more=lambda step: {}):
    """Yield steps that end so soon after each other, with one loss each."""
    for step in range(count):
        tensors = {"losses": {"loss": loss(step)}, **more(step)}
        (one,) = step_of(tensors, step).records
        yield StepView([replace(one, time_ns=10**18 + step * gap_ns)])


class TestShortSteps:
    """Rules take no more than a few percent of the time, however short steps are."""

    @pytest.mark.parametrize(
        ("gap_ns", "given"), [(40_000_000, 1), (20_000_000, 2), (10_000_000, 4), (6_000_000, 7)]
    )
    def test_after_the_first_300_some_are_passed_over(self, gap_ns, given):
        """One in ``given`` is not."""
        rule = Seen()
        _, engine = run(rule, short_steps(500, gap_ns=gap_ns))

        assert [*range(300), *range(300 + (given - 1), 500, given)] == rule.steps
        assert len(rule.steps) == engine.statuses()[0].evaluations

    @pytest.mark.parametrize(
        ("seconds", "given"), [(5, 4), (19, 4), (24, 5), (49, 10), (60, 10), (100, 10)]
    )
    def test_in_a_long_training_more_are_passed_over_up_to_a_tenth_of_a_second(
        self, seconds, given
    ):
        """Two thousandths of the time so far; one in ``given`` is not."""
        rule = Seen()
        run(rule, short_steps(100 * seconds + 20, gap_ns=10_000_000))

        gaps = {after - before for before, after in itertools.pairwise(rule.steps[-3:])}
        assert {given} == gaps

    @pytest.mark.slow
    @pytest.mark.parametrize("gap_ns", [0, 1000, 750_000, 5_000_000])
    @pytest.mark.parametrize("at_once", [1, 7, 400])
    def test_steps_given_together_are_the_same_as_one_by_one(self, gap_ns, at_once):
        """Some are of EVAL, and some of these come between."""
        steps = [
            StepView([replace(step.records[0], mode=Mode.EVAL if number % 300 < 3 else Mode.TRAIN)])
            for number, step in enumerate(short_steps(2000, gap_ns=gap_ns))
        ]
        alone, together = Seen(), Seen()
        _, engine = run(alone, steps)
        from stepwatch.rules import Watched

        other = Watch([Watched(together)])
        layout = steps[0].records[0].layout
        rows = [
            ScalarRow(one.mode, layout, one.number, one.mode_step, one.time_ns, (1.0,))
            for one in steps
        ]
        for start in range(0, len(rows), at_once):
            for some in ScalarSteps.of("worker_0", rows[start : start + at_once]):
                other.evaluate_scalars(some)
        other.finish()

        assert alone.steps == together.steps
        assert engine.statuses() == other.statuses()

    @pytest.mark.parametrize("are_together", [False, True])
    def test_one_whose_loss_is_above_all_of_late_never_is(self, are_together):
        """As a spike; the loss itself scatters by a tenth."""
        rule, steps = Seen(), [*short_steps(2000, gap_ns=10_000)]
        losses = [2.0 if step == 1001 else 1.0 + 0.1 * math.sin(step) for step in range(2000)]
        layout = steps[0].records[0].layout
        rows = [
            ScalarRow(one.mode, layout, one.number, one.mode_step, one.time_ns, (loss,))
            for one, loss in zip(steps, losses, strict=True)
        ]
        engine = Watch([rule])
        for some in ScalarSteps.of("worker_0", rows):
            if are_together:
                engine.evaluate_scalars(some)
            else:
                for one in some.records():
                    engine.evaluate(StepView([one]))

        assert 1001 in rule.steps
        assert len(rule.steps) < 310

    def test_those_given_together_know_the_collections_of_the_run(self, tmp_path):
        """A live watch learns them when the run begins."""

        class Patterns(Seen):
            def check(self, step):
                self.steps.append(step.patterns)
                return ()

        rule, patterns = Patterns(), {"mine": ["loss"]}
        live = LiveWatch([rule])
        live.start(open_store(tmp_path), "worker_0", patterns)
        (one,) = step_of({"losses": {"loss": 1.0}}, 0).records
        rows = [ScalarRow(Mode.TRAIN, one.layout, at, at, at, (1.0,)) for at in range(3)]
        for some in ScalarSteps.of("worker_0", rows):
            live.on_scalars(some)

        assert [patterns] * 3 == rule.steps

    def test_those_with_the_metrics_of_the_step_before_are_as_well(self):
        """As the accuracy that Keras has at each step; what is logged at few steps is looked at."""
        metric = {"metrics": {"metric/accuracy": 0.5}}
        often, seldom = Seen(), Seen()
        run(often, short_steps(2000, gap_ns=10_000_000, more=lambda step: metric))
        run(
            seldom,
            short_steps(
                2000, gap_ns=10_000_000, more=lambda step: metric if step % 51 == 0 else {}
            ),
        )

        assert [*range(300), *range(303, 1000, 4)] == [one for one in often.steps if one < 1000]
        assert {*range(0, 2000, 51)} <= {*seldom.steps}
        assert len(seldom.steps) < 1200

    def test_one_with_more_than_losses_or_a_nan_never_is(self):
        rule = Seen()
        weights = {"weights": {"w": 1.0}}
        run(
            rule,
            short_steps(
                2000,
                gap_ns=1,
                loss=lambda step: math.nan if step == 1500 else 1.0,
                more=lambda step: weights if step in (1600, 1601) else {},
            ),
        )

        assert [1500, 1600, 1601] == [step for step in rule.steps if step > 1000]

    def test_steps_without_times_are_all_looked_at(self):
        """As of a run whose format keeps none."""
        rule = Seen()
        run(rule, short_steps(1500, gap_ns=0))

        assert [*range(1500)] == rule.steps


class TestEpisodes:
    def test_a_condition_that_goes_on_is_one_finding(self):
        found, engine = run(Above(), scalars([1] * 300))
        assert [0] == [finding.step for finding in found]
        assert "found again 299 times" in engine.statuses()[0].details

    def test_it_is_news_again_after_the_cooldown_counted_from_when_it_was_last_met(self):
        values = [1, 1] + [0] * 9 + [1] + [0] * 10 + [1]
        found, _ = run(Above(), scalars(values), cooldown_steps=10)
        assert [0, 22] == [finding.step for finding in found]

    def test_it_is_counted_in_the_steps_that_the_rule_evaluates(self):
        """Neither evaluations in between nor steps that were not observed make it news."""
        step = {"scalars": {"x": 1}}
        steps = [
            step_of(step if at % 50 == 0 else {"losses": {"loss": 1}}, at) for at in range(500)
        ]

        found, _ = run(Above(), steps, cooldown_steps=10)

        assert [0] == [finding.step for finding in found]

    def test_what_holds_in_training_and_evaluation_is_one_finding(self):
        """Steps of each mode are counted for themselves: an evaluation here and there ends none."""
        modes = [Mode.EVAL if at % 50 == 49 else Mode.TRAIN for at in range(300)]
        steps = [step_of({"scalars": {"x": 1}}, at, mode) for at, mode in enumerate(modes)]

        found, _ = run(Above(), steps, cooldown_steps=10)

        assert [0] == [finding.step for finding in found]

    def test_what_held_at_every_look_is_one_however_rare_looks_are(self):
        """It says since when; once it was away it may be news again."""

        class Held(Above):
            needs = ()
            consecutive = 2

            def check(self, step):
                for tensor in step.tensors("scalars"):
                    if self.persists(tensor.name, tensor.scalar > 0):
                        yield self.finding(step, tensor, "above 0")

        here = {"scalars": {}, "losses": {"loss": 1}}
        steps = [
            step_of({"scalars": {"x": float(not 80 <= at <= 95)}} if at % 10 == 0 else here, at)
            for at in range(140)
        ]
        found, _ = run(Held(), steps, cooldown_steps=5)

        assert [(10, 0), (110, 100)] == [(one.step, one.onset) for one in found]
        assert ["since step 0", "since step 100"] == [one.since for one in found]

    def test_the_onset_of_a_group_is_that_of_its_tensor(self):
        """Each of them began to hold at a step of its own."""

        class Each(Above):
            consecutive = 2

            def check(self, step):
                for group in step.groups("scalars"):
                    held = self.persist_each("all", group.names, group.quantity("mean") > 0)
                    for name in np.array(group.names)[held].tolist():
                        yield self.finding(step, name, "above 0")

        values = [(1, 0), (1, 0), (1, 1), (1, 1)]
        steps = [step_of({"scalars": {"x": x, "y": y}}, at) for at, (x, y) in enumerate(values)]
        found, _ = run(Each(), steps)

        assert [("x", 1, 0), ("y", 3, 2)] == [(one.tensor, one.step, one.onset) for one in found]

    def test_each_tensor_and_each_worker_has_its_own(self):
        both = {"scalars": {"x": 1, "y": 1}}
        records = [step_of(both, worker=w).records[0] for w in ("worker_0", "worker_1")]
        found, _ = run(Above(), [StepView(records)])
        expected = [(w, t) for w in ("worker_0", "worker_1") for t in ("x", "y")]
        assert expected == [(finding.worker, finding.tensor) for finding in found]

    def test_on_fire_stop_ends_the_rule_with_its_first_finding(self):
        found, engine = run(Above(), scalars([0, 1, 0, 1]), on_fire="stop", cooldown_steps=0)
        assert [1] == [finding.step for finding in found]
        assert ("IssuesFound", 2) == (
            engine.statuses()[0].status,
            engine.statuses()[0].evaluations,
        )

    def test_mode_worker_and_severity_are_filled_in(self):
        (finding,), _ = run(Above(), scalars([1], mode=Mode.EVAL), severity="error")
        assert ("EVAL", "worker_0", "error") == (finding.mode, finding.worker, finding.severity)


class TestScope:
    @pytest.mark.parametrize(
        ("scope", "steps"),
        [
            ({"start_step": 3}, [3, 4]),
            ({"end_step": 2}, [0, 1]),
            ({"mode": "TRAIN"}, [0, 1, 2, 3, 4]),
            ({"mode": "GLOBAL"}, [0, 1, 2, 3, 4]),
            ({"mode": "EVAL"}, []),
            ({"workers": ("worker_1",)}, []),
            ({"include_regex": "^x$"}, [0, 1, 2, 3, 4]),
            ({"include_regex": "y"}, []),
            ({"exclude_regex": "x"}, []),
        ],
    )
    def test_a_rule_is_shown_what_its_scope_holds(self, scope, steps):
        found, _ = run(Above(), scalars([1] * 5), cooldown_steps=0, **scope)
        assert steps == [finding.step for finding in found][: len(steps) or None]

    def test_own_collections_are_found_by_their_patterns(self):
        class Mine(Above):
            needs = ("mine",)

            def check(self, step):
                for tensor in step.tensors("mine"):
                    yield Finding(self.name, step.number, tensor.name, "seen")

        engine = Watch([Mine()], patterns={"mine": ["^x"]})
        assert ["x"] == [finding.tensor for finding in engine.evaluate(scalars([1])[0])]


class TestStatuses:
    def test_in_progress_until_the_end(self):
        engine = Watch([Above()])
        engine.evaluate(scalars([0])[0])
        assert "InProgress" == engine.statuses()[0].status
        engine.finish()
        assert "NoIssuesFound" == engine.statuses()[0].status
        assert [] == engine.finish()

    def test_stopped_when_the_watch_ends_first(self):
        engine = Watch([Above()])
        engine.evaluate(scalars([0])[0])
        engine.stop()
        assert ("Stopped", "last step 0") == (
            engine.statuses()[0].status,
            engine.statuses()[0].details,
        )

    @pytest.mark.parametrize(
        ("spec", "steps", "told"),
        [
            ("vanishing_gradient", [], "the run has no steps"),
            ("vanishing_gradient", scalars([1]), "a tensor of gradients"),
            ("vanishing_gradient", scalars([1]), "1 TRAIN step 0 with scalars (1)"),
            ("overfit:mode=EVAL", scalars([1]), "mode EVAL"),
            ("overfit", scalars([1]), "no tensor in losses was seen"),
            ("all_zero:tensor_regex=ffc", [step_of({"outputs": {"fc": 1}})], "did you mean fc?"),
            ("exploding_tensor:min_evaluations=2", scalars([1]), "min_evaluations=2"),
            ("untrained_parameter", [step_of({"weights": {"w": 1}})], "10 are needed"),
            ("loss_spike", [step_of({"losses": {"l": 1}})], "1 TRAIN steps had a loss"),
            ("grad_norm_spike", [step_of({"gradients": {"g": 1}})], "25 are warm-up"),
        ],
    )
    def test_a_rule_without_evidence_is_not_green_and_says_why(self, spec, steps, told):
        engine = Watch(spec)
        for step in steps:
            engine.evaluate(step)
        engine.finish()
        (status,) = engine.statuses()
        assert "NotEvaluated" == status.status
        assert told in status.details

    def test_a_rule_that_raises_ends_alone_and_is_logged_once(self, caplog):
        class Broken(Above):
            name = "broken"

            def check(self, step):
                raise ZeroDivisionError("first line\nsecond line")

        engine = Watch([Broken(), Above()])
        with caplog.at_level(logging.ERROR, "stepwatch"):
            found = [finding for step in scalars([1, 1]) for finding in engine.evaluate(step)]
        assert ["above"] == [finding.rule for finding in found]
        assert ("Error", "ZeroDivisionError: first line") == (
            engine.statuses()[0].status,
            engine.statuses()[0].details,
        )
        assert 1 == len(caplog.records)
        assert caplog.records[0].exc_info

    def test_a_class_with_name_needs_and_check_is_a_rule(self):
        class Bare:
            name = "bare"
            needs = ()

            def check(self, step):
                return [Finding("bare", step.number, "", "hello")]

        engine = Watch([Bare()])
        assert ["hello"] == [finding.message for finding in engine.evaluate(scalars([1])[0])]
        assert [] == engine.finish()


def test_watch_yields_findings_of_a_trial_and_then_of_the_end():
    class Trial:
        patterns = {}  # noqa: RUF012
        profile = None  # no rule asks for it

        def records(self, *, follow, waiting):
            assert (follow, waiting) == (True, True)
            yield from (step.records for step in scalars([0, 1]))

    class AtEnd(Above):
        def finish(self):
            yield Finding(self.name, 1, "", "the end", condition="end")

    assert ["too large", "the end"] == [finding.message for finding in watch(Trial(), [AtEnd()])]


def test_records_of_two_workers_are_told_apart():
    """The tensor view names its worker."""
    views = StepView([record([(info("x", "scalars"), 1)], worker=f"worker_{n}") for n in (0, 1)])
    found, _ = run(Above(), [views], workers=("worker_1",))
    assert ["worker_1"] == [finding.worker for finding in found]


class TestIdle:
    def test_a_rule_about_what_a_model_does_not_have_had_nothing_to_judge(self):
        """That is not the same as evidence that is missing."""
        engine = Watch("attention_instability; vanishing_gradient")
        engine.evaluate(step_of({"losses": {"L": [1.0]}}, 0))
        engine.finish()
        assert [("NotEvaluated", True), ("NotEvaluated", False)] == [
            (status.status, status.idle) for status in engine.statuses()
        ]

    def test_a_rule_may_say_so_itself(self):
        """Having seen steps."""
        engine = Watch("low_precision_loss")
        for number in range(20):
            engine.evaluate(step_of({"weights": {"w": [1.0]}, "updates": {"u": [1.0]}}, number))
        engine.finish()
        assert engine.statuses()[0].idle
