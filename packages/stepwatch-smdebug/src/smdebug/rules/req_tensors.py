"""What a rule needs at a step, from its trial and from others."""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Sequence, ValuesView

from ..core.tensor import Tensor
from ..exceptions import TensorUnavailable
from ..trials.trial import Trial


class RequiredTensors:
    """What a rule needs at a step.

    Args:
        base_trial: The trial that the rule evaluates; the default of all methods.
        other_trials: Those that it compares with.
    """

    def __init__(self, base_trial: Trial, other_trials: Iterable[Trial] | None = None) -> None:
        self.base_trial = base_trial
        trials = [base_trial, *(other_trials or ())]
        self._of = {trial: RequiredTensorsForTrial(trial) for trial in trials}

    def add(
        self,
        name: str,
        steps: Sequence[int],
        trial: Trial | None = None,
        should_match_regex: bool = False,
    ) -> None:
        """Require a tensor at global steps; see ``RequiredTensorsForTrial.add``."""
        self._of[trial or self.base_trial].add(name, steps, should_match_regex)

    def get(self, trial: Trial | None = None) -> ValuesView[Tensor]:
        """Return the required tensors."""
        return self._of[trial or self.base_trial].get()

    def get_names(self, trial: Trial | None = None) -> KeysView[str]:
        """Return the names of the required tensors."""
        return self._of[trial or self.base_trial].get_names()

    def get_tensor_steps(self, name: str, trial: Trial | None = None) -> list[int]:
        """Return the steps at which a tensor is required."""
        return self._of[trial or self.base_trial].get_tensor_steps(name)

    def clear(self) -> None:
        """Require nothing."""
        for required in self._of.values():
            required.clear()

    def fetch(self) -> None:
        """Wait until all that is required is there."""
        for required in self._of.values():
            required.fetch()


class RequiredTensorsForTrial:
    """What a rule needs at a step from one trial."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.logger = trial.logger
        self._tensors: dict[str, Tensor] = {}
        self._steps: dict[str, list[int]] = {}

    def add(self, name: str, steps: Sequence[int], should_match_regex: bool = False) -> None:
        """Require a tensor.

        Args:
            name: Its name.
            steps: The global steps.
            should_match_regex: ``name`` is a regular expression, and all tensors that match it
                are required.

        Raises:
            TensorUnavailable: There is none of this name.
        """
        names = self.trial.tensor_names(regex=[name]) if should_match_regex else [name]
        for one in names:
            if not self.trial.has_tensor(one):
                raise TensorUnavailable(one)
            self._tensors[one] = self.trial.tensor(one)
            # Each tensor has a list of its own, whatever the caller does with its list.
            self._steps.setdefault(one, []).extend(steps)

    def get(self) -> ValuesView[Tensor]:
        """Return the required tensors."""
        return self._tensors.values()

    def get_names(self) -> KeysView[str]:
        """Return the names of the required tensors."""
        return self._steps.keys()

    def get_tensor_steps(self, name: str) -> list[int]:
        """Return the steps at which a tensor is required."""
        return self._steps[name]

    def clear(self) -> None:
        """Require nothing."""
        self._tensors.clear()
        self._steps.clear()

    def fetch(self) -> None:
        """Wait until all that is required is there. Values are read when they are used.

        Raises:
            TensorUnavailableForStep: A tensor was not saved at one of its steps, in any form.
            StepUnavailable: A step was passed over.
            NoMoreData: The training ended before it.
        """
        self.trial.wait_for_steps(
            sorted({step for steps in self._steps.values() for step in steps})
        )
        for name, steps in self._steps.items():
            for step in steps:
                self._tensors[name].workers(step)
