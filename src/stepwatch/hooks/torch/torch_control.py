"""What may be done to a PyTorch training, between two of its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch

from ...capture.control import Control, Rest, Skips
from ...capture.guard import guarded
from ...capture.more import More, without_past
from ...capture.recorder import Recorder
from ...collection import Collection
from ...errors import ConfigError
from ...finding import Finding
from ...steps import Mode
from .bad_updates import BadUpdates
from .checkpoints import copied_state, of_script, store_checkpoint
from .good_states import GoodStates
from .looking import Looking
from .tracker import Tracker
from .training_state import Followers

# Settings of learning rate in a group, and of what sets them.
_RATES = ("lr", "initial_lr", "max_lr", "min_lr")
_BASES = ("base_lrs", "max_lrs")


class TorchControl(Control, Looking):
    """Does what is asked for once a TRAIN step is over.

    Args:
        tracker: Who knows the models, the optimizers and the steps.
        recorder: Who takes the steps.
        say: Shows a line.
        strict: Raise our own failures into training.
    """

    def __init__(
        self, tracker: Tracker, recorder: Recorder, say: Callable[[str], None], *, strict: bool
    ) -> None:
        Control.__init__(self)
        Looking.__init__(self, strict=strict)
        self._tracker, self._recorder, self._say = tracker, recorder, say
        self._judged = -1
        self._followers = Followers()
        self._states: GoodStates | None = None
        self._bad_updates: BadUpdates | None = None

    def detach(self) -> None:
        """Do no more than end the training, if that is asked for."""
        self._states = self._bad_updates = None

    def judged(self, step: int) -> None:
        self._judged = step

    # Called by the hook

    @guarded
    def before_update(
        self, optimizer: torch.optim.Optimizer, args: Sequence[object], named: Mapping[str, object]
    ) -> None:
        """An optimizer is about to step, and was observed."""
        if self._bad_updates is None or not self._looking() or not self._tracker.active:
            return
        number, _ = self._recorder.counter.peek(Mode.TRAIN)
        try:
            skipped = self._bad_updates.before(optimizer, args, named, number)
        except ConfigError as error:
            self._bad_updates = None
            self._say(f"no batch is skipped from here on: {error}")
            return
        step = self._recorder.open_step(Mode.TRAIN)
        if skipped and "optimizer/skipped" not in step:
            self._tracker.observer.scalar(step, "optimizer/skipped", 1.0, "optimizer")

    @guarded
    def after_update(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer has stepped, and was not looked at yet."""
        if self._bad_updates is not None and self._looking():
            self._bad_updates.after(optimizer)

    @guarded
    def after_step(self) -> None:
        """An optimizer has stepped; do what was asked for if a step is over by that."""
        if not self._looking():
            return
        if not self._tracker.active:  # it cannot tell any more
            self.answer()
            return
        last = self._tracker.steps.last_trained
        if last is None:
            return
        judged = self._judged  # before: what was found by then has been asked for
        self.answer()
        self._recorder.plan = without_past(self._recorder.plan, last[1] + 1)
        if self._bad_updates is not None:
            self._bad_updates.after_step(self._tracker.names.trained)
        if self._states is not None:
            self._states.after_step(*last, judged)

    # What can be asked for

    def capture_more(self, collections: Sequence[Collection], steps: int) -> str:
        _, last = self._last_trained()
        plan = More(self._recorder.plan, collections, first=last + 1, last=last + 1 + steps)
        self._recorder.plan = plan
        return f"saving more in TRAIN steps {last + 1} to {last + steps}"

    def profile(self, steps: int) -> str:
        number, _ = self._last_trained()
        self._recorder.profiler.trace(number + 1, steps)
        return f"recording every operation of steps {number + 1} to {number + steps}"

    def checkpoint(self, finding: Finding) -> str | Rest:
        step, mode_step = self._last_trained()
        function = of_script()
        if function is not None:
            function(finding)
            return f"called the function of the script after step {step}"
        state = copied_state(self._tracker.names, self._tracker.optimizers.stepped)
        state |= {"step": step, "mode_step": mode_step, "finding": finding.to_dict()}
        key = f"checkpoints/{self._recorder.worker}-{step:012d}.pt"
        return partial(store_checkpoint, self._recorder.store, key, state)

    def scale_learning_rates(self, factor: float) -> str:
        step, _ = self._last_trained()
        # First what may fail: what was told to have failed should have changed nothing.
        self._followers.look(self._tracker.optimizers)
        bases = [vars(one).get(name) for one in self._followers for name in _BASES]
        told = []
        for optimizer in self._tracker.optimizers.stepped:
            for group in optimizer.param_groups:
                before = float(group.get("lr", 0))
                for name in _RATES:
                    if name in group:
                        group[name] = _scaled(group[name], factor)
                told.append(f"{before:.4g} to {float(group.get('lr', 0)):.4g}")
        for rates in bases:
            if isinstance(rates, list):
                rates[:] = [rate * factor for rate in rates]
        return f"learning rate from {', '.join(told) or 'none'} after step {step}"

    def keep_states(self, every: int, trusted_after: int) -> None:
        tracker = self._tracker
        self._states = GoodStates(
            every,
            trusted_after,
            names=tracker.names,
            optimizers=tracker.optimizers,
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

    def skip_batches(self, spike: float | None, skips: Skips) -> None:
        self._bad_updates = BadUpdates(spike, skips)

    def _last_trained(self) -> tuple[int, int]:
        last = self._tracker.steps.last_trained if self._tracker.active else None
        if last is None:
            raise ConfigError("capturing has ended, so it is not known when a step is over")
        return last


def _scaled(rate: float | torch.Tensor, factor: float) -> float | torch.Tensor:
    # A rate that is a tensor stays the object that a compiled optimizer holds.
    return rate.mul_(factor) if isinstance(rate, torch.Tensor) else rate * factor
