"""The exceptions of smdebug, each also the one of Stepwatch that means the same."""

from __future__ import annotations

from smdebug.core.modes import ModeKeys as modes  # noqa: N813 - smdebug's name
from stepwatch import errors


class SMDebugError(errors.StepwatchError):
    """Anything that is raised on purpose under a name of smdebug."""


class SMDebugCustomerError(SMDebugError):
    """Something only the user can put right."""


class SMDebugTypeError(SMDebugError, TypeError):
    """An argument of the wrong type."""


class SMDebugRuntimeError(SMDebugError, RuntimeError):
    """Something that cannot be done now."""


class SMDebugNotImplementedError(SMDebugError, NotImplementedError):
    """Something that is not there."""


class SMDebugValueError(SMDebugError, errors.ConfigError):
    """A value that cannot be meant."""


class InvalidCollectionConfiguration(SMDebugError, errors.ConfigError):
    """A collection that can hold no tensor.

    Args:
        c_name: Its name.
    """

    def __init__(self, c_name: str) -> None:
        super().__init__(c_name)
        self.c_name = c_name

    def __str__(self) -> str:
        return (
            f"collection {self.c_name!r} is not built in and has neither include_regex nor "
            "tensor_names, so it would hold nothing; give it one of them"
        )


class NoMoreData(SMDebugError, errors.StepUnavailable):
    """The training ended before this step.

    Args:
        step: The step that was asked for, counted in ``mode``.
        mode: Its mode.
        last_step: The last one that there is.
    """

    def __init__(self, step: int, mode: modes, last_step: int | None = None) -> None:
        super().__init__(step, mode, last_step)
        self.step = step
        self.mode = mode
        self.last_step = last_step
        there = "no step was saved" if last_step is None else f"the last step is {last_step}"
        self.msg = f"no step {step} of mode {_name(mode)}: the training ended and {there}"

    def __str__(self) -> str:
        return self.msg


class StepUnavailable(SMDebugError, errors.StepUnavailable):
    """The step was not saved, and will not be.

    Args:
        step: The step that was asked for, counted in ``mode``.
        mode: Its mode.
    """

    def __init__(self, step: int, mode: modes) -> None:
        super().__init__(step, mode)
        self.step = step
        self.mode = mode

    def __str__(self) -> str:
        return (
            f"step {self.step} of mode {_name(self.mode)} was not saved; steps() tells which were"
        )


class MissingStep(StepUnavailable, NoMoreData):
    """A value was asked for at a step that was not saved.

    Looking up single steps is caught by ``except NoMoreData`` as well as by
    ``except StepUnavailable``; waiting for a step raises one or the other.
    """

    def __init__(self, step: int, mode: modes, last_step: int | None = None) -> None:
        NoMoreData.__init__(self, step, mode, last_step)
        self.msg = StepUnavailable.__str__(self)


class StepNotYetAvailable(SMDebugError, errors.StepUnavailable):
    """The step may still be saved.

    Args:
        step: The step that was asked for, counted in ``mode``.
        mode: Its mode.
    """

    def __init__(self, step: int, mode: modes) -> None:
        super().__init__(step, mode)
        self.step = step
        self.mode = mode

    def __str__(self) -> str:
        return (
            f"step {self.step} of mode {_name(self.mode)} is not there yet; "
            "the training goes on, wait_for_steps() waits"
        )


class TensorUnavailableForStep(SMDebugError, errors.TensorUnavailable):
    """A tensor has no value at a step.

    Args:
        tname: The tensor, or the reduction, that was asked for.
        step: The step, counted in ``mode``.
        mode: Its mode.
        has_reductions: Whether reductions of it were saved at the step.
    """

    def __init__(
        self, tname: str, step: int, mode: modes = modes.GLOBAL, has_reductions: bool = False
    ) -> None:
        super().__init__(tname, step, mode, has_reductions)
        self.tname = tname
        self.step = step
        self.mode = mode
        self.has_reductions = has_reductions

    def __str__(self) -> str:
        text = f"no value of {self.tname} at step {self.step} of mode {_name(self.mode)} was saved"
        return f"{text}; its reductions were" if self.has_reductions else text


class ShapeUnavailableForStep(SMDebugError, errors.TensorUnavailable):
    """The shape of a tensor at a step is not known.

    Args:
        tname: The tensor.
        step: The step, counted in ``mode``.
        mode: Its mode.
    """

    def __init__(self, tname: str, step: int, mode: modes = modes.GLOBAL) -> None:
        super().__init__(tname, step, mode)
        self.tname = tname
        self.step = step
        self.mode = mode

    def __str__(self) -> str:
        return f"no shape of {self.tname} at step {self.step} of mode {_name(self.mode)} was saved"


class TensorUnavailable(SMDebugError, errors.TensorUnavailable):
    """No tensor of this name.

    Args:
        tname: The name.
    """

    def __init__(self, tname: str) -> None:
        super().__init__(tname)
        self.tname = tname

    def __str__(self) -> str:
        return f"no tensor {self.tname!r} was saved; tensor_names() tells which were"


class InvalidWorker(SMDebugError, LookupError):
    """No such worker saved anything there.

    Args:
        worker: The name that was asked for.
    """

    def __init__(self, worker: str) -> None:
        super().__init__(worker)
        self.worker = worker

    def __str__(self) -> str:
        return f"no worker {self.worker!r}; workers() tells which there are"


class MissingCollectionFiles(SMDebugError):
    """The training ended, and not every worker said what its collections hold."""

    def __init__(self) -> None:
        super().__init__()

    def __str__(self) -> str:
        return "the training ended before every worker wrote its collections file"


class IndexReaderException(SMDebugError):
    """An index file cannot be read.

    Args:
        message: Which, and why.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NoMoreProfilerData(SMDebugError):
    """The training ended before this time.

    Args:
        timestamp: The time that was asked for.
    """

    def __init__(self, timestamp: float) -> None:
        super().__init__(timestamp)
        self.timestamp = timestamp
        self.msg = f"nothing was profiled at {timestamp} or later: the training ended"

    def __str__(self) -> str:
        return self.msg


class RuleEvaluationConditionMet(SMDebugError):
    """A rule found what it looks for.

    Args:
        rule_name: The rule.
        step: Where.
        end_of_rule: Whether the rule has nothing more to look for.
    """

    def __init__(self, rule_name: str, step: int, end_of_rule: bool = False) -> None:
        super().__init__(rule_name, step, end_of_rule)
        self.rule_name = rule_name
        self.step = step
        self.end_of_rule = end_of_rule

    def __str__(self) -> str:
        return f"rule {self.rule_name} met its condition at step {self.step}"


class InsufficientInformationForRuleInvocation(SMDebugError):
    """A rule lacks what it needs.

    Args:
        rule_name: The rule.
        message: What is missing.
    """

    def __init__(self, rule_name: str, message: str) -> None:
        super().__init__(rule_name, message)
        self.rule_name = rule_name
        self.message = message

    def __str__(self) -> str:
        return f"rule {self.rule_name} cannot be asked: {self.message}"


def _name(mode: object) -> object:
    return getattr(mode, "name", mode)
