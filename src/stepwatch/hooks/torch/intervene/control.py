"""What may be done to a PyTorch training between two of its steps, such as a checkpoint."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import torch

from ....capture.control import Control, Remainder, SkipDecision
from ....capture.guard import guarded
from ....capture.plan import PlanOverlay, drop_expired
from ....capture.recorder import Recorder
from ....errors import ConfigError
from ....model.collection import Collection
from ....model.finding import Finding
from ....model.steps import Mode
from ....store import Store
from ..events import HookGuard
from ..models import Names, Optimizers
from ..observe import Observer
from ..steps import Steps
from ..tensors import is_distributed
from .states import RollbackStates, StepDependents, models_of
from .updates import UpdateSkipper

Function = TypeVar("Function", bound=Callable[[Finding], object])

_of_scripts: list[Callable[[Finding], object]] = []


def on_checkpoint(function: Function) -> Function:
    """Have a function called when an action makes a checkpoint, instead of Stepwatch's own.

    It is called in the training thread, between two steps, with the finding. Where no hook
    watches, nothing calls it. The last one that is given counts.

    Example:
        >>> @on_checkpoint
        ... def save(finding):
        ...     print(f"saving at step {finding.step}")
    """
    _of_scripts[:] = [function]
    return function


def script_checkpoint() -> Callable[[Finding], object] | None:
    """Return the function that the script has given, if it has."""
    return _of_scripts[0] if _of_scripts else None


def copied_state(names: Names, optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, Any]:
    """Return the state of models and optimizers, with copies of all tensors on the CPU.

    Raises:
        ConfigError: A parameter is spread over several processes.
    """
    models = models_of(names, optimizers)
    if any(is_distributed(p) for model in models.values() for p in model.parameters()):
        raise ConfigError(
            "parameters are spread over several processes; give on_checkpoint a function that "
            "saves them"
        )
    return {
        "models": {name: _copied(model.state_dict()) for name, model in models.items()},
        "optimizers": [_copied(optimizer.state_dict()) for optimizer in optimizers],
    }


def store_checkpoint(store: Store, key: str, state: dict[str, Any]) -> str:
    """Write a checkpoint as ``torch.load`` reads it, and return where."""
    file = io.BytesIO()
    torch.save(state, file)
    store.put(key, file.getbuffer())
    return f"saved as {key} in the run"


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {name: _copied(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_copied, value))
    return copy.deepcopy(value)


# Settings of learning rate in a group, and of what sets them.
_RATES = ("lr", "initial_lr", "max_lr", "min_lr")
_BASES = ("base_lrs", "max_lrs")


class TorchControl(Control, HookGuard):
    """Does what is asked for once a TRAIN step is over.

    Args:
        steps: Says which step is over.
        is_capturing: Returns whether capturing has not ended.
    """

    def __init__(
        self,
        recorder: Recorder,
        names: Names,
        optimizers: Optimizers,
        steps: Steps,
        observer: Observer,
        *,
        is_capturing: Callable[[], bool],
        say: Callable[[str], None],
        strict: bool,
    ) -> None:
        Control.__init__(self)
        HookGuard.__init__(self, strict=strict)
        self._recorder, self._steps, self._observer = recorder, steps, observer
        self._names, self._optimizers = names, optimizers
        self._is_capturing, self._say = is_capturing, say
        self._evaluated = -1
        self._followers = StepDependents()
        self._states: RollbackStates | None = None
        #: Judges updates, which are left out where they are bad.
        self.bad_updates: UpdateSkipper | None = None

    def detach(self) -> None:
        """Do no more than end the training, if that is asked for."""
        self._states = self.bad_updates = None

    def judged(self, step: int) -> None:
        self._evaluated = step

    # Called by the hook

    @property
    def has_work(self) -> bool:
        """Whether ``after_step`` has anything to do, and the training may have to end by it."""
        return bool(
            self.has_requests
            or self._states is not None
            or self.bad_updates is not None
            or isinstance(self._recorder.plan, PlanOverlay)
        )

    @guarded
    def before_update(
        self, optimizer: torch.optim.Optimizer, args: Sequence[object], named: Mapping[str, object]
    ) -> None:
        """An optimizer is about to step, and was observed."""
        if self.bad_updates is None or not self.is_observing_here() or not self._is_capturing():
            return
        number, _ = self._recorder.counter.peek(Mode.TRAIN)
        try:
            skipped = self.bad_updates.before(optimizer, args, named, number)
        except ConfigError as error:
            self.bad_updates = None
            self._say(f"no batch is skipped from here on: {error}")
            return
        step = self._recorder.open_step(Mode.TRAIN)
        if skipped and "optimizer/skipped" not in step:
            self._observer.scalar(step, "optimizer/skipped", 1.0, "optimizer")

    @guarded
    def after_update(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer has stepped, and was not observed yet."""
        if self.bad_updates is not None and self.is_observing_here():
            self.bad_updates.after(optimizer)

    @guarded
    def after_step(self) -> None:
        """An optimizer has stepped; do what was asked for if a step is over by that."""
        if not self.is_observing_here():
            return
        if not self._is_capturing():  # it cannot tell any more
            self.answer()
            return
        last = self._steps.last_trained
        if last is None:
            return
        judged = self._evaluated  # before: what was found by then has been asked for
        self.answer()
        self._recorder.plan = drop_expired(self._recorder.plan, last[1] + 1)
        if self.bad_updates is not None:
            self.bad_updates.after_step(self._names.trained)
        if self._states is not None:
            self._states.after_step(*last, judged)

    # What can be asked for

    def capture_more(self, collections: Sequence[Collection], steps: int) -> str:
        _, last = self._last_trained()
        plan = PlanOverlay(self._recorder.plan, collections, first=last + 1, last=last + 1 + steps)
        self._recorder.plan = plan
        return f"saving more in TRAIN steps {last + 1} to {last + steps}"

    def profile(self, steps: int) -> str:
        number, _ = self._last_trained()
        self._recorder.profiler.trace(number + 1, steps)
        return f"recording every operation of steps {number + 1} to {number + steps}"

    def checkpoint(self, finding: Finding) -> str | Remainder:
        step, mode_step = self._last_trained()
        function = script_checkpoint()
        if function is not None:
            function(finding)
            return f"called the function of the script after step {step}"
        state = copied_state(self._names, self._optimizers.stepped)
        state |= {"step": step, "mode_step": mode_step, "finding": finding.to_dict()}
        key = f"checkpoints/{self._recorder.worker}-{step:012d}.pt"
        return partial(store_checkpoint, self._recorder.store, key, state)

    def scale_learning_rates(self, factor: float) -> str:
        step, _ = self._last_trained()
        # First what may fail: what is reported to have failed should have changed nothing.
        self._followers.refresh(self._optimizers)
        bases = [vars(one).get(name) for one in self._followers for name in _BASES]
        changes = []
        for optimizer in self._optimizers.stepped:
            for group in optimizer.param_groups:
                before = float(group.get("lr", 0))
                for name in _RATES:
                    if name in group:
                        group[name] = _scaled(group[name], factor)
                changes.append(f"{before:.4g} to {float(group.get('lr', 0)):.4g}")
        for rates in bases:
            if isinstance(rates, list):
                rates[:] = [rate * factor for rate in rates]
        return f"learning rate from {', '.join(changes) or 'none'} after step {step}"

    def keep_states(self, every: int, trusted_after: int) -> None:
        self._states = RollbackStates(
            every,
            trusted_after,
            names=self._names,
            optimizers=self._optimizers,
            followers=self._followers,
            say=self._say,
        )

    def restore(self, step: int) -> str:
        if self._states is None:
            raise ConfigError("no states are kept to go back to")
        last, _ = self._last_trained()
        done = self._states.restore(step, last)
        self.restored_at = self._states.restored_at
        return done

    def skip_batches(self, spike: float | None, skips: SkipDecision) -> None:
        self.bad_updates = UpdateSkipper(spike, skips)

    def _last_trained(self) -> tuple[int, int]:
        last = self._steps.last_trained if self._is_capturing() else None
        if last is None:
            raise ConfigError("capturing has ended, so it is not known when a step is over")
        return last


def _scaled(rate: float | torch.Tensor, factor: float) -> float | torch.Tensor:
    # A rate that is a tensor stays the object that a compiled optimizer holds.
    return rate.mul_(factor) if isinstance(rate, torch.Tensor) else rate * factor
