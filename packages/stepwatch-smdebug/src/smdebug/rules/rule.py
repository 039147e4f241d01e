"""A rule: code that evaluates every step of a run and reports whether something is wrong."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ..analysis.utils import no_refresh
from ..core.logger import get_logger
from ..exceptions import RuleEvaluationConditionMet
from ..trials.trial import Trial
from .action import Actions
from .req_tensors import RequiredTensors


class Rule(ABC):
    """The base of custom rules, which have an ``invoke_at_step``.

    A rule may be given its parameters as texts, as job configurations hold them, so it turns
    them into what it needs.

    Args:
        base_trial: The trial that it evaluates.
        action_str: What to do when its condition is met, as JSON.
        other_trials: Those that it compares with.

    Example:
        >>> class LossIsNan(Rule):
        ...     def invoke_at_step(self, step):
        ...         loss = self.base_trial.tensor("MSELoss_output_0")
        ...         return bool(np.isnan(loss.value(step)))
    """

    def __init__(
        self,
        base_trial: Trial,
        action_str: str | None = "",
        other_trials: Iterable[Trial] | None = None,
    ) -> None:
        self.base_trial = base_trial
        self.other_trials = None if other_trials is None else list(other_trials)
        self.trials = [base_trial, *(self.other_trials or ())]
        self.req_tensors = RequiredTensors(base_trial, self.other_trials)
        self.logger = get_logger()
        self.rule_name = type(self).__name__
        #: For the rule to fill; nothing else does.
        self.report: dict[str, Any] = {
            "RuleTriggered": 0,
            "Violations": 0,
            "Details": {},
            "Datapoints": 0,
            "RuleParameters": "",
        }
        self._actions = Actions(action_str, self.rule_name)

    def set_required_tensors(self, step: int) -> None:  # noqa: B027 - optional
        """Add to ``req_tensors`` what the rule needs at a global step; by default nothing."""

    @abstractmethod
    def invoke_at_step(self, step: int) -> object:
        """Evaluate a global step and return something true if the condition is met."""

    def invoke(self, step: int) -> None:
        """Wait for a global step and evaluate it.

        Meanwhile the trials show the same, whatever is written.

        Raises:
            RuleEvaluationConditionMet: The condition is met.
            StepUnavailable: The step was passed over.
            NoMoreData: The training ended before it.
        """
        self.base_trial.wait_for_steps([step])
        with no_refresh(self.trials):
            self.req_tensors.clear()
            self.set_required_tensors(step)
            self.req_tensors.fetch()
            is_met = self.invoke_at_step(step)
        if is_met:
            self._actions.invoke()
            raise RuleEvaluationConditionMet(self.rule_name, step)
