"""Evaluates a rule at the steps of a run, one after the other."""

from __future__ import annotations

from bisect import bisect_left

from ..core.logger import get_logger
from ..exceptions import (
    NoMoreProfilerData,
    RuleEvaluationConditionMet,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from ..trials.trial import Trial
from .rule import Rule


def invoke_rule(
    rule_obj: Rule,
    start_step: int | None = 0,
    end_step: int | None = None,
    raise_eval_cond: bool = False,
) -> None:
    """Evaluate a rule at the steps of a run, in order, while it is written or years later.

    A step for which something is missing is passed over. Only saved steps are evaluated; where none
    is left the next one is waited for.

    Args:
        rule_obj: The rule.
        start_step: First global step.
        end_step: First global step that is left out; ``None`` to go on until the training ends.
        raise_eval_cond: Raise when the condition is met, and do not go on.

    Raises:
        NoMoreData: The training ended before ``end_step``. Without an ``end_step`` this is how
            it always ends.
        RuleEvaluationConditionMet: The condition is met, and ``raise_eval_cond`` is set.
    """
    logger = get_logger()
    logger.info("rule %s begins at step %s", type(rule_obj).__name__, start_step or 0)
    step = _next(rule_obj, start_step or 0)
    while end_step is None or step < end_step:
        try:
            rule_obj.invoke(step)
        except (TensorUnavailableForStep, StepUnavailable, TensorUnavailable) as error:
            logger.debug("step %d is passed over: %s", step, error)
        except RuleEvaluationConditionMet as fired:
            if raise_eval_cond:
                raise
            logger.info("%s", fired)
            if fired.end_of_rule:
                break
        except NoMoreProfilerData as error:
            logger.info("%s", error)
            break
        step = _next(rule_obj, step + 1)
    logger.info("rule %s ends before step %d", type(rule_obj).__name__, step)


def _next(rule: Rule, step: int) -> int:
    """Return the first complete step from ``step`` on; ``step`` itself where none is known."""
    if not isinstance(rule.base_trial, Trial):
        return step
    steps = rule.base_trial.steps()
    index = bisect_left(steps, step)
    return steps[index] if index < len(steps) else step
