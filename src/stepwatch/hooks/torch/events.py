"""What torch does, as events: hooks and wrappers emit them, and who observes subscribes.

Events of torch, emitted by ``hook`` and ``patches`` through ``Events.source``, which lets no
failure of ours into training:

- ``before_forward`` (module, inputs); ``after_forward`` (module, given, output), where an output
  of ``None`` may mean that the module raised;
- ``before_loss`` (name, inputs, keywords); ``after_loss`` (name, value, inputs, keywords);
- ``before_backward`` (roots); ``after_backward`` (), also after a failure;
- ``differentiated`` (outputs, inputs, derivatives, makes_graph=): by ``torch.autograd.grad``, and
  whether with a graph of its own;
- ``before_optimizer``, ``after_closure``, ``after_optimizer`` (optimizer): around its step, and
  each time that its closure returned;
- ``before_scaled_step`` (scaler), ``after_scaled_step`` (optimizer), which may have been skipped;
- ``zero_grad`` (owner); ``scheduler_step`` (scheduler, is_new); ``loader_wait`` (seconds);
- ``wrapped`` (wrapper): a ``DistributedDataParallel`` was made; ``reducer_prepared`` (reducer):
  it will average the gradients of the next backward pass;
- ``all_reduced`` (tensor): the script asked for its sum, mean or the like over the processes;
- ``module_registered`` (owner, name, part), ``optimizer_made`` (optimizer): a model is being put
  together;
- ``initialized`` (tensor): by a function of ``torch.nn.init``;
- ``norm_clipped`` (max_norm, norm before); ``before_value_clipping`` (parameters),
  ``value_clipped`` (parameters, clip_value);
- ``logged`` (scalars): names and values that the script logs;
- ``attention`` (rows, given, is_causal=, scale=): ``rows(*given, ...)`` is what is observed of it;
- ``activation`` (kind, tensor): what a ReLU returned, what a tanh or sigmoid was given.

What saves and loads checkpoints emits those of ``checkpoint_calls``.

Events of the step to which these belong, emitted by ``tracker``:

- ``model_begins`` (step, model, inputs), ``module_begins`` (module);
- ``loss`` (step, name, value, call); ``composed_loss`` (step, name, value), which is what
  ``backward()`` is called on where no function of torch computed it, and no known one is written
  out;
- ``backward_ends`` (); ``update_begins``, ``update_ends`` (step, optimizer);
- ``step_ends`` (step), of mode TRAIN; ``step_by_hand_ends`` (step) in its place where no optimizer
  holds the model; ``pauses`` (): nothing is observed for a while.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from threading import get_ident
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import torch
from torch import nn

from ...capture.budget import Budget
from ...capture.guard import give_up
from ...model.collection import LOSS_FUNCTIONS
from ...numerics.elements import kernel
from .internals import (
    UNKNOWN,
    compiler_callback,
    current_graph_task_id,
    dynamo_skip_frame,
    tracing_state,
)

if TYPE_CHECKING:
    from ..._kernel import StepMatcher

Subscriber = Callable[..., object]

#: What runs while gradients are computed is computed anew for them, and was observed before.
_NOT_IN_BACKWARD = frozenset(
    {"activation", "attention"}
    | {f"{when}_{what}" for when in ("before", "after") for what in ("forward", "loss", "backward")}
)


# Where the target stands, if it is not the second argument; a triplet has none.
_LENGTHS_POSITION, _BLANK_POSITION = 3, 4
_TARGETS = {
    "cosine_embedding_loss": 2,
    "margin_ranking_loss": 2,
    "triplet_margin_loss": -1,
    "triplet_margin_with_distance_loss": -1,
}
_IGNORE_INDEX_POSITION, _IGNORE_INDEX = 4, -100
_LOG_INPUT_POSITION = 2  # of poisson_nll_loss
# Of the losses of classes.
_POSITIVE_WEIGHT_POSITION = 6  # of binary_cross_entropy_with_logits
_WEIGHT_POSITION, _REDUCTION_POSITION, _OLD_REDUCTIONS = 2, 6, {"size_average": 3, "reduce": 5}


@dataclass(frozen=True, slots=True)
class LossCall:
    """A call of a loss.

    Args:
        name: The function of ``torch.nn.functional``, or the class of the module.
        args: Its positional arguments.
        keywords: Its other arguments.
        module: The module, if one computed it.
        is_written_out: No function of torch was called, the script does what that does.
    """

    name: str
    args: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    module: nn.Module | None = None
    is_written_out: bool = False

    @property
    def function(self) -> str:
        """The function that computes it, also where a module of torch does; else its name."""
        if self.module is None:
            return self.name
        # mypy takes the __hash__ of the instances for that of the class.
        return _function_of(type(self.module)) or self.name  # type: ignore[arg-type]

    @property
    def prediction(self) -> object:
        """The first argument: logits, probabilities, or whatever is compared with the target."""
        return self.keywords.get("input", self._argument(0))

    @property
    def target(self) -> object:
        """The target, ``None`` if there is none."""
        return self.keywords.get("target", self._argument(_TARGETS.get(self.function, 1)))

    @property
    def ignore_index(self) -> int:
        """The class of which nothing is asked."""
        if self.module is not None:
            return int(getattr(self.module, "ignore_index", _IGNORE_INDEX))
        given = self.keywords.get("ignore_index", self._argument(_IGNORE_INDEX_POSITION))
        return _IGNORE_INDEX if given is None else int(given)

    @property
    def blank(self) -> int:
        """The class of a CTC loss that stands for no label."""
        if self.module is not None:
            return int(getattr(self.module, "blank", 0))
        given = self.keywords.get("blank", self._argument(_BLANK_POSITION))
        return 0 if given is None else int(given)

    @property
    def target_lengths(self) -> object:
        """How many targets each sample of a CTC loss has."""
        return self.keywords.get("target_lengths", self._argument(_LENGTHS_POSITION))

    @property
    def reduction(self) -> str:
        """How a loss of classes makes one number of many: ``mean``, ``sum`` or ``none``.

        Empty where the arguments of old that ``reduction`` replaced say it.
        """
        if self.module is not None:
            return str(getattr(self.module, "reduction", ""))
        for name, position in _OLD_REDUCTIONS.items():
            if self.keywords.get(name, self._argument(position)) is not None:
                return ""
        return str(self.keywords.get("reduction", self._argument(_REDUCTION_POSITION)) or "mean")

    @property
    def takes_logarithms(self) -> bool:
        """Whether a loss of counts takes the logarithm of what is expected."""
        if self.module is not None:
            return bool(getattr(self.module, "log_input", True))
        given = self.keywords.get("log_input", self._argument(_LOG_INPUT_POSITION))
        return given is None or bool(given)

    @property
    def class_weights(self) -> object:
        """The weights that a loss of classes gives to them, ``None`` if it gives none."""
        if self.module is not None:
            return getattr(self.module, "weight", None)
        return self.keywords.get("weight", self._argument(_WEIGHT_POSITION))

    @property
    def positive_weight(self) -> object:
        """The weight that a loss of two classes gives to the class 1, ``None`` if it gives none."""
        if self.module is not None:
            return getattr(self.module, "pos_weight", None)
        return self.keywords.get("pos_weight", self._argument(_POSITIVE_WEIGHT_POSITION))

    def _argument(self, index: int) -> Any:
        return self.args[index] if 0 <= index < len(self.args) else None


@cache
def _function_of(kind: type) -> str | None:
    bases = (base.__name__ for base in kind.__mro__)
    return next((LOSS_FUNCTIONS[base] for base in bases if base in LOSS_FUNCTIONS), None)


class Detail(IntEnum):
    """How much is observed: everything, losses only, or losses of a step like those before."""

    FULL, LOSSES, USUAL = range(3)


class EventKind(IntEnum):
    """What the kernel calls the events of a step that it follows, see ``_kernel.StepMatcher``.

    What is ``BESIDE`` changes nothing of a step; with any ``OTHER`` event it is not followed.
    """

    FORWARD, LOSS, BACKWARD, BEFORE_OPTIMIZER, AFTER_OPTIMIZER, BESIDE, OTHER = range(7)


_KINDS = {
    "before_forward": EventKind.FORWARD,
    "after_loss": EventKind.LOSS,
    "before_backward": EventKind.BACKWARD,
    "before_optimizer": EventKind.BEFORE_OPTIMIZER,
    "after_optimizer": EventKind.AFTER_OPTIMIZER,
    "scheduler_step": EventKind.BESIDE,
}


class HookGuard:
    """What is guarded, and observes only its own process and thread."""

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        #: What ended capturing, if it failed.
        self.failure = ""
        self.active = True
        #: Whether this is a fork of the process that it was made in.
        self.is_fork = False
        #: The thread that it was made in.
        self.thread = get_ident()
        #: Follows steps that go like those before, where the kernel is there.
        self.matcher = _new_matcher()
        _guards.add(self)

    def is_observing_here(self) -> bool:
        """Return whether what runs now is to be observed."""
        is_here = self.active and not self.is_fork and get_ident() == self.thread
        return is_here and not tracing_state()

    def is_same_process(self) -> bool:
        """Return whether this is the process that we were made in, and no fork of it."""
        return not self.is_fork

    def detach(self) -> None:
        """Stop; called after the first failure."""
        self.active = False


_guards: WeakSet[HookGuard] = WeakSet()


def _new_matcher() -> StepMatcher | None:
    api = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if not hasattr(kernel, "StepMatcher") or api is None or compiler_callback() is UNKNOWN:
        return None
    return kernel.StepMatcher(
        *(torch.Tensor, torch.is_grad_enabled, tracing_state, current_graph_task_id),
        *(sys._getframe, api),
    )


def _note_fork() -> None:
    for guard in _guards:
        guard.is_fork = True
        if guard.matcher is not None:
            guard.matcher.take()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


class Events:
    """Calls subscribers, in the order in which they subscribed.

    Args:
        guard: Says whether anything is observed, and is detached by the first failure.
        budget: Adds up what the subscribers of torch's events take.
    """

    def __init__(self, guard: HookGuard, budget: Budget) -> None:
        self._guard, self._budget = guard, budget
        self._subscribers: defaultdict[str, list[Subscriber]] = defaultdict(list)
        self._of_losses: defaultdict[str, list[Subscriber]] = defaultdict(list)
        self._of_usual: defaultdict[str, list[Subscriber]] = defaultdict(list)
        #: Whose subscribers are called where torch emits.
        self.detail = Detail.FULL

    def subscribe(self, event: str, *subscribers: Subscriber) -> None:
        """Have functions called with what an event carries."""
        self._subscribers[event] += subscribers

    def subscribe_at(self, detail: Detail, event: str, subscriber: Subscriber) -> None:
        """Have a function called with what an event of torch carries where ``detail`` is less."""
        table = self._of_losses if detail is Detail.LOSSES else self._of_usual
        table[event].append(subscriber)

    @property
    def has_single_subscribers(self) -> bool:
        """Whether in steps like those before each event that can be followed has one subscriber."""
        followed = (event for event, kind in _KINDS.items() if kind < EventKind.BESIDE)
        return all(len(self._of_usual[event]) == 1 for event in followed)

    def subscribers(self, event: str) -> list[Subscriber]:
        """Return who subscribed; the list itself, for what is emitted for every module."""
        return self._subscribers[event]

    def emit(self, event: str, *carried: object) -> None:
        """Call the subscribers of an event."""
        for subscriber in self._subscribers[event]:
            subscriber(*carried)

    def source(self, event: str) -> Callable[..., None]:
        """Return what torch is to call for an event.

        It calls the subscribers where anything is observed, and does not raise: the first failure
        detaches the guard, as ``capture.guard.guarded`` does. No compiler looks into it; what it
        traces must not call it.
        """
        tables = self._subscribers, self._of_losses, self._of_usual
        by_detail = [table[event] for table in tables]
        events, guard, budget = self, self._guard, self._budget
        # While a compiled model runs, the compiler would compile the subscribers' frames.
        is_known = compiler_callback() is not UNKNOWN
        in_backward, is_timed = event not in _NOT_IN_BACKWARD, budget.share is not None

        # One frame, for some of these are called for each module that runs.
        def emit(*carried: Any, **named: Any) -> None:
            subscribers = by_detail[events.detail]
            if not subscribers:
                return
            if is_known and compiler_callback() not in (None, False):
                disabled(*carried, **named)
                return
            began = perf_counter() if is_timed else 0.0
            try:
                # As ``is_observing_here``, and what torch is asked for comes last.
                if (
                    guard.active
                    and not guard.is_fork
                    and get_ident() == guard.thread
                    and not tracing_state()
                    and (in_backward or current_graph_task_id() == -1)
                ):
                    for subscriber in subscribers:
                        subscriber(*carried, **named)
            except Exception:
                if guard.strict:
                    raise
                give_up(guard, event)
            if is_timed:
                budget.spent_s += perf_counter() - began

        disabled: Any = torch.compiler.disable(emit)  # type: ignore[no-untyped-call]
        if guard.matcher is None or not is_known:
            return dynamo_skip_frame(emit) if is_known else disabled
        kind = _KINDS.get(event, EventKind.OTHER)
        return kernel.EventSource(
            kind, by_detail[Detail.USUAL], dynamo_skip_frame(emit), guard.matcher
        )
