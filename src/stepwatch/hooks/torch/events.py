"""What torch does, as events: hooks and wrappers emit them, and who observes subscribes.

Events of torch, emitted by ``hook`` and ``patches`` through ``Events.source``, which lets no
failure of ours into training:

- ``before_forward`` (module, inputs); ``after_forward`` (module, given, output), where an output
  of ``None`` may mean that the module raised;
- ``before_loss`` (name, inputs, keywords); ``after_loss`` (name, value, inputs, keywords);
- ``before_backward`` (roots); ``after_backward`` (), also after a failure;
- ``before_optimizer``, ``after_closure``, ``after_optimizer`` (optimizer): around its step, and
  each time that its closure returned;
- ``before_scaled_step`` (scaler), ``after_scaled_step`` (optimizer), which may have been skipped;
- ``zero_grad`` (); ``scheduler_step`` (scheduler, is_new); ``loader_wait`` (seconds);
- ``norm_clipped`` (max_norm, norm before); ``before_value_clipping`` (parameters),
  ``value_clipped`` (parameters, clip_value);
- ``attention`` (rows, given, is_causal=, scale=): ``rows(*given, ...)`` is what is observed of it;
- ``activation`` (kind, tensor): what a ReLU returned, what a tanh or sigmoid was given.

Events of the step to which these belong, emitted by ``tracker``:

- ``model_begins`` (step, model, inputs), ``module_begins`` (module);
- ``loss`` (step, name, value, call); ``composed_loss`` (step, name, value), which is what
  ``backward()`` is called on where no function of torch computed it;
- ``backward_ends`` (); ``update_begins``, ``update_ends`` (step, optimizer);
- ``step_ends`` (step), of mode TRAIN; ``pauses`` (): nothing is observed for a while.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from types import MethodType
from typing import Any

from torch import nn

from ...capture.budget import Budget
from ...capture.guard import guarded
from ...model.collection import LOSS_FUNCTIONS
from .internals import current_graph_task_id, tracing_state

Subscriber = Callable[..., object]

#: What runs while gradients are computed is computed anew for them, and was observed before.
_NOT_IN_BACKWARD = frozenset(
    {"activation", "attention"}
    | {f"{when}_{what}" for when in ("before", "after") for what in ("forward", "loss", "backward")}
)


# Where the target stands, if it is not the second argument; a triplet has none.
_TARGETS = {
    "cosine_embedding_loss": 2,
    "margin_ranking_loss": 2,
    "triplet_margin_loss": -1,
    "triplet_margin_with_distance_loss": -1,
}
_IGNORE_INDEX_POSITION, _IGNORE_INDEX = 4, -100


@dataclass(frozen=True, slots=True)
class LossCall:
    """A call of a loss.

    Args:
        name: The function of ``torch.nn.functional``, or the class of the module.
        args: Its positional arguments.
        keywords: Its other arguments.
        module: The module, if one computed it.
    """

    name: str
    args: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    module: nn.Module | None = None

    @property
    def function(self) -> str:
        """The function that computes it, also where a module of torch does; else its name."""
        if self.module is None:
            return self.name
        bases = (kind.__name__ for kind in type(self.module).__mro__)
        return next((LOSS_FUNCTIONS[base] for base in bases if base in LOSS_FUNCTIONS), self.name)

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

    def _argument(self, index: int) -> Any:
        return self.args[index] if 0 <= index < len(self.args) else None


class HookGuard:
    """What is guarded, and observes only its own process and thread."""

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        #: What ended capturing, if it failed.
        self.failure = ""
        self.active = True
        self._process, self._thread = os.getpid(), threading.get_ident()

    def is_observing_here(self) -> bool:
        """Return whether what runs now is to be observed."""
        # In one expression, as it is evaluated twice for each module that runs.
        return (
            self.active
            and os.getpid() == self._process
            and threading.get_ident() == self._thread
            and not tracing_state()
        )

    def is_same_process(self) -> bool:
        """Return whether this is the process that we were made in, and no fork of it."""
        return os.getpid() == self._process

    def detach(self) -> None:
        """Stop; called after the first failure."""
        self.active = False


class Events:
    """Calls subscribers, in the order in which they subscribed.

    Args:
        guard: Says whether anything is observed, and is detached by the first failure.
        budget: Is told what the subscribers of torch's events take.
    """

    def __init__(self, guard: HookGuard, budget: Budget) -> None:
        self._guard, self._budget = guard, budget
        self._subscribers: defaultdict[str, list[Subscriber]] = defaultdict(list)

    def subscribe(self, event: str, *subscribers: Subscriber) -> None:
        """Have functions called with what an event carries."""
        self._subscribers[event] += subscribers

    def subscribers(self, event: str) -> list[Subscriber]:
        """Return who subscribed; the list itself, for what is emitted for every module."""
        return self._subscribers[event]

    def emit(self, event: str, *carried: object) -> None:
        """Call the subscribers of an event."""
        for subscriber in self._subscribers[event]:
            subscriber(*carried)

    def source(self, event: str) -> Callable[..., None]:
        """Return what torch is to call for an event.

        It calls the subscribers where anything is observed, and does not raise.
        """
        subscribers, guard = self._subscribers[event], self._guard
        in_backward = event not in _NOT_IN_BACKWARD

        def emit(guard: HookGuard, *carried: Any, **named: Any) -> None:
            if guard.is_observing_here() and (in_backward or current_graph_task_id() == -1):
                for subscriber in subscribers:
                    subscriber(*carried, **named)

        def emit_timed(guard: HookGuard, *carried: Any, **named: Any) -> None:
            began = perf_counter()
            emit(guard, *carried, **named)
            budget.spent_s += perf_counter() - began

        budget = self._budget
        call = emit if budget.share is None else emit_timed
        call.__qualname__ = event  # by this a failure is logged
        return MethodType(guarded(call), guard)  # costs no frame of its own, unlike a closure
