"""Custom rules of old run as they are: over a finished run, and while it is written."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from smdebug.exceptions import (
    NoMoreData,
    NoMoreProfilerData,
    RuleEvaluationConditionMet,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.rules import RequiredTensors, RequiredTensorsForTrial, Rule, invoke_rule
from smdebug.rules.rule import Rule as RuleOfTheModule
from smdebug.rules.rule_invoker import invoke_rule as invoke_rule_of_the_module
from smdebug.trials import create_trial
from stepwatch.formats.smdebug.collections import Reduction, SavedCollection, Stored
from tests.support import ROOT
from tests.support.compat.debugger_runs import Written, finished

#: The mean magnitude of the gradient rises from step to step.
STEPS = {
    step: {
        "gradient/w": np.float32([step, -step]),
        "w": np.float32([1, 1 if step < 30 else 2]),
        "loss/l": 1.0 / (step + 1),
    }
    for step in range(0, 50, 10)
}


class CustomGradientRule(RuleOfTheModule):
    """The rule of AWS's documentation: parameters come as texts, and no action is handed on."""

    def __init__(self, base_trial, threshold=10.0):
        super().__init__(base_trial)
        self.threshold = float(threshold)
        self.seen = []

    def invoke_at_step(self, step):
        self.seen.append(step)
        for tname in self.base_trial.tensor_names(collection="gradients"):
            t = self.base_trial.tensor(tname)
            abs_mean = t.reduction_value(step, "mean", abs=True)
            if abs_mean > self.threshold:
                return True
        return False


class VanishingGradientRule(Rule):
    """The rule of smdebug's guide."""

    def __init__(self, base_trial, threshold=0.0000001):
        super().__init__(base_trial, other_trials=None)
        self.threshold = float(threshold)

    def invoke_at_step(self, step):
        for tensorname in self.base_trial.tensors(collection="gradients"):
            abs_mean = self.base_trial.tensor(tensorname).reduction_value(step, "mean", abs=True)
            return bool(abs_mean < self.threshold)
        return False


class UnchangedRule(Rule):
    """A rule that names what it needs, and looks back."""

    def __init__(self, base_trial, name, action_str=""):
        super().__init__(base_trial, action_str)
        self.name = name
        self.met = []

    def set_required_tensors(self, step):
        steps = self.base_trial.tensor(self.name).prev_steps(step, 2)
        self.req_tensors.add(name=self.name, steps=steps)

    def invoke_at_step(self, step):
        (tensor,) = self.req_tensors.get()
        values = [tensor.value(one) for one in self.req_tensors.get_tensor_steps(self.name)]
        is_met = len(values) == 2 and np.array_equal(*values)
        if is_met:
            self.met.append(step)
        return is_met


class DifferentRunsRule(Rule):
    """A rule that compares with other trials."""

    def __init__(self, base_trial, other_trials):
        super().__init__(base_trial, other_trials=other_trials)
        self.differs = []

    def set_required_tensors(self, step):
        for trial in self.trials:
            self.req_tensors.add("^w$", [step], trial, should_match_regex=True)

    def invoke_at_step(self, step):
        here, there = ([t.value(step) for t in self.req_tensors.get(one)] for one in self.trials)
        if not np.array_equal(here, there):
            self.differs.append(step)


class Recording(Rule):
    """A rule that does what it is told at a step, and notes which it saw."""

    def __init__(self, base_trial, at=None):
        super().__init__(base_trial)
        self.at = at or {}
        self.seen = []

    def invoke_at_step(self, step):
        self.seen.append(step)
        told = self.at.get(step)
        if isinstance(told, Exception):
            raise told
        return told


def until_no_more_data(rule, **how):
    """Show a finished run to a rule; it ends as it always did."""
    with pytest.raises(NoMoreData):
        invoke_rule(rule, **how)
    return rule


@pytest.fixture(params=["smdebug", "native"])
def trial(request, tmp_path):
    """A finished run of steps 0, 10, … 40."""
    return create_trial(finished(tmp_path, STEPS, format=request.param))


class TestOldRules:
    def test_the_custom_gradient_rule(self, trial):
        """With a parameter as text; the step is the first above the threshold."""
        with pytest.raises(RuleEvaluationConditionMet) as met:
            invoke_rule(CustomGradientRule(trial, threshold="20.0"), raise_eval_cond=True)

        assert ("CustomGradientRule", 30, False) == (
            met.value.rule_name,
            met.value.step,
            met.value.end_of_rule,
        )

    def test_the_rule_of_the_guide(self, trial):
        """Its gradient vanishes at step 0."""
        with pytest.raises(RuleEvaluationConditionMet) as met:
            invoke_rule(VanishingGradientRule(trial, "0.5"), raise_eval_cond=True)

        assert 0 == met.value.step

    def test_a_rule_that_looks_back(self, trial):
        """The weight changes at step 30 only."""
        assert [10, 20, 40] == until_no_more_data(UnchangedRule(trial, "w")).met

    def test_a_rule_with_other_trials(self, trial, tmp_path):
        """Both trials are waited for, and compared step by step."""
        changed = {step: {**arrays, "w": np.float32([1, 1])} for step, arrays in STEPS.items()}
        other = create_trial(finished(tmp_path / "other", changed), name="other")
        rule = until_no_more_data(DifferentRunsRule(trial, [other]))

        assert [30, 40] == rule.differs

    def test_a_rule_over_reductions(self, tmp_path):
        """Where nothing else was saved, it needs nothing else, also if it names what it needs."""
        stored = Stored(reductions=(Reduction("mean", True),))
        gradients = [SavedCollection("gradients", ("^gradient",))]
        trial = create_trial(finished(tmp_path, STEPS, stored=stored, collections=gradients))
        rule = CustomGradientRule(trial, "35")
        rule.set_required_tensors = lambda step: rule.req_tensors.add("gradient/w", [step])

        with pytest.raises(RuleEvaluationConditionMet, match="step 40"):
            invoke_rule(rule, raise_eval_cond=True)

    def test_names_and_reports(self, trial):
        """What rules and those who run them read."""
        rule = CustomGradientRule(trial)

        assert ("CustomGradientRule", [trial], None, 0) == (
            rule.rule_name,
            rule.trials,
            rule.other_trials,
            rule.report["Violations"],
        )

    def test_a_rule_must_say_what_it_does(self, trial):
        """As an abstract class does."""
        with pytest.raises(TypeError, match="invoke_at_step"):
            Rule(trial)


class TestInvokeRule:
    def test_one_function_under_both_names(self):
        """The module that holds it is imported too."""
        assert invoke_rule is invoke_rule_of_the_module

    def test_only_saved_steps_are_shown(self, trial):
        """In order, and the end of the data ends it as in smdebug."""
        assert [0, 10, 20, 30, 40] == until_no_more_data(Recording(trial)).seen

    @pytest.mark.parametrize(
        ("start", "end", "expected"),
        [(0, 30, [0, 10, 20]), (5, 31, [10, 20, 30]), (None, 1, [0]), (20, 20, [])],
    )
    def test_a_window(self, trial, start, end, expected):
        """The end is out, and a window that is passed through raises nothing."""
        rule = Recording(trial)
        invoke_rule(rule, start_step=start, end_step=end)

        assert expected == rule.seen

    def test_a_window_beyond_the_end(self, trial):
        """The data ends before it."""
        with pytest.raises(NoMoreData) as caught:
            invoke_rule(Recording(trial), end_step=1000)

        assert (41, 40) == (caught.value.step, caught.value.last_step)

    def test_a_condition_does_not_end_it(self, trial):
        """Unless that is asked for."""
        assert [0, 10, 20, 30, 40] == until_no_more_data(Recording(trial, {10: True})).seen

    @pytest.mark.parametrize(
        "error",
        [
            TensorUnavailable("t"),
            TensorUnavailableForStep("t", 10),
            StepUnavailable(10, None),
        ],
    )
    def test_what_is_missing_is_passed_over(self, trial, error):
        """The step is not looked at, the next one is."""
        assert [0, 10, 20, 30, 40] == until_no_more_data(Recording(trial, {10: error})).seen

    @pytest.mark.parametrize(
        "error",
        [RuleEvaluationConditionMet("r", 10, end_of_rule=True), NoMoreProfilerData(1.0)],
    )
    def test_a_rule_may_end_it(self, trial, error):
        """By what it raises."""
        rule = Recording(trial, {10: error})
        invoke_rule(rule)

        assert [0, 10] == rule.seen

    def test_a_fault_of_the_rule_is_not_hidden(self, trial):
        """Whatever else it raises."""
        with pytest.raises(ZeroDivisionError):
            invoke_rule(Recording(trial, {10: ZeroDivisionError()}))

    def test_the_trial_stands_still_while_a_rule_looks(self, tmp_path):
        """What it sees at a step does not change under it."""
        run = Written(tmp_path)
        run.step(0, STEPS[0])
        trial = create_trial(run.url)
        seen = []

        class Writing(Rule):
            def invoke_at_step(self, step):
                run.step(10, STEPS[10])
                seen.append(self.base_trial.steps())

        invoke_rule(Writing(trial), end_step=1)

        assert ([[0]], [0, 10]) == (seen, trial.steps())

    def test_steps_that_come_while_it_runs(self, tmp_path):
        """The rule sees each in order, and the end."""
        run = Written(tmp_path)
        run.step(0, STEPS[0])
        todo = iter([10, 20, 30])

        class Writing(Recording):
            def invoke_at_step(self, step):
                super().invoke_at_step(step)
                following = next(todo, None)
                if following is None:
                    run.end()
                else:
                    run.step(following, STEPS[following])

        assert [0, 10, 20, 30] == until_no_more_data(Writing(create_trial(run.url))).seen


WRITER = """
import sys
import numpy as np
from tests.support.compat.debugger_runs import Written
run = Written(sys.argv[1])
print("begun", flush=True)
for step in range(0, 50, 10):
    sys.stdin.readline()
    run.step(step, {"gradient/w": np.float32([step, -step])})
run.end()
sys.stdin.read()
"""


class TestLive:
    @pytest.mark.slow
    def test_a_run_that_another_process_writes(self, tmp_path):
        """The rule waits for each step, sees all in order, and ends with the training."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "run")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        ) as training:  # fmt: skip
            assert "begun\n" == training.stdout.readline()
            trial = create_trial(str(tmp_path / "run"))

            class Asking(CustomGradientRule):
                def invoke_at_step(self, step):
                    go_on()
                    return super().invoke_at_step(step)

            def go_on():
                training.stdin.write("\n")
                training.stdin.flush()

            rule = Asking(trial, threshold="1000")
            go_on()
            until_no_more_data(rule)

        assert [0, 10, 20, 30, 40] == rule.seen


class TestRequiredTensors:
    def test_what_was_asked_for(self, trial):
        """Names, tensors and steps."""
        required = RequiredTensors(trial)
        required.add("w", [0, 10])
        required.add("w", [20])

        assert (["w"], ["w"], [0, 10, 20]) == (
            list(required.get_names()),
            [tensor.name for tensor in required.get()],
            required.get_tensor_steps("w"),
        )

    def test_a_list_of_steps_stays_the_callers(self, trial):
        """Tensors do not share it."""
        required, steps = RequiredTensorsForTrial(trial), [0]
        required.add(".*", steps, should_match_regex=True)
        required.add("w", [10])

        assert ([0], [0, 10], [0]) == (
            steps,
            required.get_tensor_steps("w"),
            required.get_tensor_steps("loss/l"),
        )

    def test_an_unknown_tensor(self, trial):
        """It is said at once."""
        with pytest.raises(TensorUnavailable, match="nosuch"):
            RequiredTensors(trial).add("nosuch", [0])

    def test_a_step_without_it(self, trial):
        """It is said when it is fetched."""
        required = RequiredTensors(trial)
        required.add("w", [5])

        with pytest.raises(StepUnavailable):
            required.fetch()

    def test_clear(self, trial):
        """Nothing is asked for any more."""
        required = RequiredTensors(trial)
        required.add("w", [5])
        required.clear()
        required.fetch()

        assert [] == list(required.get_names())
