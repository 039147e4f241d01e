"""The exceptions of smdebug, each also the one of Stepwatch that means the same."""

from __future__ import annotations

from dataclasses import dataclass, fields

from stepwatch import errors

from .core.modes import ModeKeys as modes  # noqa: N813 - smdebug's name


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
    """An invalid value."""


class _Fields(SMDebugError):
    """An error of which the fields are the ``args``, so that it can be pickled."""

    def __post_init__(self) -> None:
        self.args = tuple(getattr(self, one.name) for one in fields(self))  # type: ignore[arg-type]


@dataclass(eq=False, repr=False)
class InvalidCollectionConfiguration(_Fields, errors.ConfigError):
    """A collection of this name that can hold no tensor."""

    c_name: str

    def __str__(self) -> str:
        return (
            f"collection {self.c_name!r} is not built in and has neither include_regex nor "
            "tensor_names, so it would hold nothing; give it one of them"
        )


@dataclass(eq=False, repr=False)
class NoMoreData(_Fields, errors.StepUnavailable):
    """The training ended before this step, which is counted in its mode."""

    step: int
    mode: modes
    last_step: int | None = None

    @property
    def msg(self) -> str:
        """The text."""
        return str(self)

    def __str__(self) -> str:
        last = self.last_step
        there = "no step was saved" if last is None else f"the last step is {last}"
        return f"no step {self.step} of mode {_name(self.mode)}: the training ended and {there}"


@dataclass(eq=False, repr=False)
class StepUnavailable(_Fields, errors.StepUnavailable):
    """The step, which is counted in its mode, was not saved, and will not be."""

    step: int
    mode: modes

    def __str__(self) -> str:
        return (
            f"step {self.step} of mode {_name(self.mode)} was not saved; steps() tells which were"
        )


class MissingStep(StepUnavailable, NoMoreData):
    """A value was requested at a step that was not saved.

    A read of a single step is caught by ``except NoMoreData`` as well as by
    ``except StepUnavailable``; waiting for a step raises one or the other.
    """

    def __init__(self, step: int, mode: modes, last_step: int | None = None) -> None:
        NoMoreData.__init__(self, step, mode, last_step)


@dataclass(eq=False, repr=False)
class StepNotYetAvailable(_Fields, errors.StepUnavailable):
    """The step, which is counted in its mode, may still be saved."""

    step: int
    mode: modes

    def __str__(self) -> str:
        return (
            f"step {self.step} of mode {_name(self.mode)} is not there yet; "
            "the training goes on, wait_for_steps() waits"
        )


@dataclass(eq=False, repr=False)
class TensorUnavailableForStep(_Fields, errors.TensorUnavailable):
    """A tensor, or a reduction, has no value at a step, which is counted in its mode."""

    tname: str
    step: int
    mode: modes = modes.GLOBAL
    has_reductions: bool = False

    def __str__(self) -> str:
        text = f"no value of {self.tname} at step {self.step} of mode {_name(self.mode)} was saved"
        return f"{text}; its reductions were" if self.has_reductions else text


@dataclass(eq=False, repr=False)
class ShapeUnavailableForStep(_Fields, errors.TensorUnavailable):
    """The shape of a tensor at a step, which is counted in its mode, is not known."""

    tname: str
    step: int
    mode: modes = modes.GLOBAL

    def __str__(self) -> str:
        return f"no shape of {self.tname} at step {self.step} of mode {_name(self.mode)} was saved"


@dataclass(eq=False, repr=False)
class TensorUnavailable(_Fields, errors.TensorUnavailable):
    """No tensor of this name."""

    tname: str

    def __str__(self) -> str:
        return f"no tensor {self.tname!r} was saved; tensor_names() tells which were"


@dataclass(eq=False, repr=False)
class InvalidWorker(_Fields, LookupError):
    """No worker of this name saved anything there."""

    worker: str

    def __str__(self) -> str:
        return f"no worker {self.worker!r}; workers() tells which there are"


class MissingCollectionFiles(SMDebugError):
    """The training ended, and not every worker wrote its collections."""

    def __str__(self) -> str:
        return "the training ended before every worker wrote its collections file"


@dataclass(eq=False, repr=False)
class IndexReaderException(_Fields):
    """An index file cannot be read; the message says which, and why."""

    message: str


@dataclass(eq=False, repr=False)
class NoMoreProfilerData(_Fields):
    """The training ended before this time."""

    timestamp: float

    @property
    def msg(self) -> str:
        """The text."""
        return str(self)

    def __str__(self) -> str:
        return f"nothing was profiled at {self.timestamp} or later: the training ended"


@dataclass(eq=False, repr=False)
class RuleEvaluationConditionMet(_Fields):
    """The condition of a rule is met; with ``end_of_rule`` nothing is left to evaluate."""

    rule_name: str
    step: int
    end_of_rule: bool = False

    def __str__(self) -> str:
        return f"rule {self.rule_name} met its condition at step {self.step}"


@dataclass(eq=False, repr=False)
class InsufficientInformationForRuleInvocation(_Fields):
    """A rule lacks what it needs, as the message says."""

    rule_name: str
    message: str

    def __str__(self) -> str:
        return f"rule {self.rule_name} cannot be asked: {self.message}"


def _name(mode: object) -> object:
    return getattr(mode, "name", mode)
