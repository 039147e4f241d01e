"""Runs recorded steps of a training again, in the script that it came from.

The script begins as it did. When its model first runs to be trained, what the black box holds
takes the place of what the script made: the state of models and optimizers, the states of the
random generators, the batches, and the targets of losses. Hooks of the script itself write to
memory meanwhile. After the last step the script is stopped.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any
from weakref import WeakSet

import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ....capture.plan import NOTHING, RAW, STATISTICS
from ....errors import StepUnavailable, TrainingStopped
from ....formats.blackbox import Frame
from ....model.record import StepRecord
from ....model.steps import Mode
from ....store import Store
from ....trial.recording import Recording
from ...patching import PatchSet
from ..hook import TorchHook
from ..internals import (
    Loss,
    eager_only,
    in_backward,
    replace_code,
    request_forward_kwargs,
    requests_forward_kwargs,
)
from ..models import model_state
from ..patches import functional_losses
from .restore import Restorer, set_option, substitute_recorded
from .snapshot import set_random_states


class LossTargets:
    """Lets somebody exchange what the losses of ``torch.nn.functional`` are given.

    Args:
        exchanged: ``exchanged(name, args, kwargs)`` returns the arguments that a loss is to get.
    """

    def __init__(self, exchanged: Callable[[str, Any, Any], tuple[Any, Any]]) -> None:
        self._exchanged = exchanged
        self._depth = 0
        self._undo: list[Callable[[], None]] = []

    def attach(self) -> None:
        for name, function in functional_losses():
            self._undo.append(replace_code(function, self._maker(name)))

    def detach(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _maker(self, name: str) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            def loss(*args: Any, **kwargs: Any) -> Any:
                if torch.compiler.is_compiling() or self._depth:
                    return original(*args, **kwargs)
                self._depth += 1
                try:
                    args, kwargs = self._exchanged(name, args, kwargs)
                    return original(*args, **kwargs)
                finally:
                    self._depth -= 1

            return loss

        return make


_HOOK_MODULES = ("stepwatch", "stepwatch.hooks.torch", "stepwatch.hooks.torch.hook")


class StubHook(TorchHook):
    """A hook that a script has made itself, which writes to memory instead."""

    def __init__(self, model: torch.nn.Module | None = None, **options: Any) -> None:
        elsewhere = {"run": f"memory://{uuid.uuid4().hex}", "tensorboard": None}
        unboxed = {"black_box_mb": 0, "snapshot_every": 0}
        super().__init__(model, **{**options, **elsewhere, **unboxed, "say": lambda _: None})


def stub_script_hooks() -> Callable[[], None]:
    """Give a script that imports ``TorchHook`` the stand-in; return what undoes it."""
    homes = [sys.modules[home] for home in _HOOK_MODULES]
    for home in homes:
        home.TorchHook = StubHook  # type: ignore[attr-defined]

    def undo() -> None:
        for home in homes:
            home.TorchHook = TorchHook  # type: ignore[attr-defined]

    return undo


Options = Mapping[int, Mapping[int, Mapping[str, Any]]]
_DONE = "the step was run again"


class ReplayHook(TorchHook):
    """Gives a script the steps of a recording, and captures the last of them whole.

    It stops the script by ``TrainingStopped``: after the last step, or when the script turns out
    to be another than the one that was recorded; ``refusal`` then says why.

    Args:
        recording: The steps.
        options: Of the optimizers, by step, counted within TRAIN, number of the parameter group and
            name: what the script's schedule would have made of them.
        deterministic: Let torch use deterministic algorithms only.
        keep_all: Keep all of the steps, and not only the last.
        levels: What is kept of tensors beside statistics, as ``capture.plan`` has it; by default
            the full values of all.
        num_evaluations: Keep EVAL steps as well, and run on until there were so many.
    """

    #: What else the run has shown.
    facts: Mapping[str, Any] = MappingProxyType({})

    def __init__(
        self,
        recording: Recording,
        options: Options,
        *,
        deterministic: bool = False,
        keep_all: bool = False,
        levels: Mapping[str, int] | None = None,
        num_evaluations: int = 0,
    ) -> None:
        self._recording = recording
        self._num_evaluations = num_evaluations
        self._options = options
        self._restorer = Restorer(recording.snapshot)
        self._forwards = recording.forwards
        self._num_forwards = self._num_losses = 0  # the latter since the last forward
        self._num_before = self._num_over = 0  # TRAIN steps, before the first forward and since
        self._given: Frame | None = None  # to the model that is about to run
        self._optimizers: WeakSet[torch.optim.Optimizer] = WeakSet()  # whose state is restored
        self._feed_id = 0
        self._stepping: torch.optim.Optimizer | None = None  # the one that stepped last
        count = len(recording.steps) if keep_all else 1
        self._kept = _LastSteps(count, levels, evaluates=num_evaluations > 0)
        self._own_handles: list[Any] = []
        self._targets = LossTargets(self._targets_of_function)
        self._starts = PatchSet()
        #: Why the steps could not be run again; empty if they could.
        self.refusal = ""
        super().__init__(
            run=f"memory://replay-{uuid.uuid4().hex}",
            listeners=[self._kept],
            hold=False,
            say=lambda _: None,
            strict=True,
            black_box_mb=0,
        )
        self.recorder.plan = self._kept
        if deterministic:
            torch.use_deterministic_algorithms(mode=True)

    @property
    def record(self) -> StepRecord | None:
        """The last step."""
        return self._kept.records.get(self._kept.wanted)

    @property
    def records(self) -> list[StepRecord]:
        """All steps that were kept, in order."""
        return [self._kept.records[step] for step in sorted(self._kept.records)]

    @property
    def evaluations(self) -> list[StepRecord]:
        """All EVAL steps that were kept, in order."""
        return self._kept.evaluations

    @property
    def over(self) -> bool:
        """Whether the last step was run, or will not be."""
        return bool(self.refusal) or self._num_over == len(self._recording.steps)

    def attach(self) -> None:
        """Take hold of torch, so that what was recorded is there when the hook looks."""
        before = register_module_forward_pre_hook(eager_only(self._before_forward))
        feed = register_module_forward_pre_hook(eager_only(self._feed))
        self._feed_id = feed.id
        optimizers = register_optimizer_step_pre_hook(eager_only(self._before_optimizer))
        super().attach()
        # When the hook has given the model its names.
        restore = register_module_forward_pre_hook(eager_only(self._restore))
        self._own_handles = [before, feed, optimizers, restore]
        self._targets.attach()
        for module in (sys.modules["torch.multiprocessing.spawn"], torch.multiprocessing):
            self._starts.put(module, "start_processes", lambda _: self._refuse_processes)
        self._undo_stand_in = stub_script_hooks()

    def detach(self) -> None:
        self._undo_stand_in()
        self._starts.remove()
        self._targets.detach()  # first: they lie around what the hook put there
        super().detach()
        while self._own_handles:
            self._own_handles.pop().remove()

    def stepped(self, mode: Mode) -> None:
        if mode is not Mode.TRAIN or self.over:
            return
        if not self._num_forwards:
            self._num_before += 1
            return
        with self._refusing():
            if self._num_over == 0:
                self._restorer.check_complete()
            self._num_over += 1
            recorded = sum(map(len, self._recording.steps[: self._num_over]))
            if self._num_forwards < recorded:
                raise StepUnavailable(
                    f"the script ran models {self._num_forwards} times in {self._num_over} steps; "
                    f"recorded were {recorded} times"
                )
        # Evaluations may follow: then the next step of TRAIN is where it ends.
        if self.over and len(self.evaluations) >= self._num_evaluations:
            self.stop(_DONE)

    # What torch calls

    def _before_forward(self, module: torch.nn.Module, _: Any) -> None:
        """A module is about to run; if it is a model to be trained, or a loss, ask for all inputs.

        Torch gives keyword inputs to a global hook only if the module has its number in a list.
        """
        if self._is_trained(module) or (isinstance(module, Loss) and self._is_counted_loss()):
            request_forward_kwargs(module, self._feed_id)

    def _feed(self, module: torch.nn.Module, args: Any, kwargs: Any = None) -> Any:
        if not requests_forward_kwargs(module, self._feed_id):
            return None
        with self._refusing():
            if isinstance(module, Loss):
                return self._with_targets(type(module).__name__, args, kwargs)
            return self._with_batch(module, args, kwargs)

    def _restore(self, module: torch.nn.Module, _: Any) -> None:
        """A model is about to run, and has its names: give it its state, and random numbers."""
        if self._given is None or module is not self._tracker.root:
            return
        with self._refusing():
            self._restorer.restore_models(model_state(self._tracker.names))
            if self._tracker.steps.in_optimizer:  # which is this step's, and has not begun its own
                self._restore_optimizer(self._stepping)
        meta: Any = self._given.meta
        set_random_states(meta["random"], self._given.arrays)
        self._given = None

    def _before_optimizer(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """An optimizer is about to step: its state is restored once, its options in every step."""
        self._stepping = optimizer
        if not self._num_forwards or self.over:
            return
        known = self._tracker.optimizers
        if optimizer not in self._optimizers:
            with self._refusing():
                self._restorer.restore_late_buffers(model_state(self._tracker.names))
                self._restore_optimizer(optimizer)
        num_steps = self._num_over + self._tracker.steps.has_stepped(optimizer)
        if num_steps > 0:
            recorded = self._options.get(self._recording.first + num_steps, {})
            for number, group in known.numbered_groups(optimizer):
                for name, value in recorded.get(number, {}).items():
                    set_option(group, name, value)

    def _targets_of_function(self, name: str, args: Any, kwargs: Any) -> Any:
        if not self._is_counted_loss():
            return args, kwargs
        with self._refusing():
            return self._with_targets(name, args, kwargs)

    def _refuse_processes(self, *_: Any, **__: Any) -> None:
        with self._refusing():
            raise StepUnavailable(
                "the script starts the processes that train itself, by torch.multiprocessing; only "
                "those that a launcher starts are run again"
            )

    # How

    def _restore_optimizer(self, optimizer: torch.optim.Optimizer | None) -> None:
        """Give an optimizer its state, unless it has it."""
        if optimizer is None or optimizer in self._optimizers:
            return
        self._optimizers.add(optimizer)
        known = self._tracker.optimizers
        known.steps(optimizer)
        self._restorer.restore_optimizer(optimizer, known)

    def _is_trained(self, module: torch.nn.Module) -> bool:
        """Return whether a module is the model that is about to run, to be trained."""
        tracker = self._tracker
        if tracker.root not in (None, module) or isinstance(module, Loss) or in_backward():
            return False
        return tracker.is_model(module) and tracker.steps.mode_of(module) is Mode.TRAIN

    def _is_counted_loss(self) -> bool:
        """Return whether a loss that is about to be called is one that would be recorded."""
        is_outermost = self._tracker.loss_depth == 0 and not in_backward()
        return is_outermost and self._num_forwards > 0 and not self.over and torch.is_grad_enabled()

    def _with_batch(self, model: torch.nn.Module, args: Any, kwargs: Any) -> Any:
        """Return what a model was given when it ran at this place."""
        kind = type(model).__name__
        if self.over:  # the script caught what was to end it
            raise TrainingStopped(self.refusal or _DONE)
        if self._num_forwards == len(self._forwards):
            if self._tracker.steps.is_over:  # but for an optimizer that did not step
                raise TrainingStopped(_DONE)
            raise StepUnavailable(f"the script runs {kind} once more than it was recorded")
        if not self._num_forwards:
            if self._tracker.steps.in_optimizer and not _runs_closure_first(self._stepping):
                raise StepUnavailable(
                    f"{type(self._stepping).__name__} runs {kind} within its own step, by a "
                    "closure: when the batch is known it is too late to put back what the "
                    "optimizer remembers"
                )
            self._kept.wanted = self._num_before + len(self._recording.steps) - 1
        frame = self._forwards[self._num_forwards].begin
        if frame.meta["model"] != kind:
            was = frame.meta["model"]
            raise StepUnavailable(f"the script runs {kind} where {was} was recorded")
        self._given = frame
        self._num_forwards += 1
        self._num_losses = 0
        torch.set_num_threads(int(frame.meta.get("threads", torch.get_num_threads())))
        return _with_recorded(frame, args, "batch/args"), _with_recorded(
            frame, kwargs, "batch/kwargs"
        )

    def _with_targets(self, name: str, args: Any, kwargs: Any) -> Any:
        """Return what a loss was given when it was called at this place."""
        losses = self._forwards[self._num_forwards - 1].losses
        if self._num_losses == len(losses):
            return args, kwargs
        frame = losses[self._num_losses]
        self._num_losses += 1
        if frame.meta["loss"] != name:
            was = frame.meta["loss"]
            raise StepUnavailable(f"the script calls {name} where {was} was recorded")
        path = f"loss/{name}"
        return _with_recorded(frame, args, path), _with_recorded(frame, kwargs, path)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Stop the script where it is not the one that was recorded."""
        try:
            yield
        except StepUnavailable as error:
            self.refusal = str(error)
            raise TrainingStopped(self.refusal) from None


def _runs_closure_first(optimizer: torch.optim.Optimizer | None) -> bool:
    """Return whether an optimizer does nothing before its closure is over: all of torch but one."""
    kind = type(optimizer)
    return kind.__module__.startswith("torch.optim.") and kind is not torch.optim.LBFGS


def _with_recorded(frame: Frame, value: Any, path: str) -> Any:
    return substitute_recorded(value, frame.arrays, path)


class _LastSteps:
    """Keeps steps, of which everything is wanted; it is a plan and a listener.

    Args:
        count: How many, of which the last one is ``wanted``.
        levels: What is kept of tensors beside statistics, and the full values of outputs; ``None``
            for the full values of all.
        evaluates: Keep the EVAL steps among them and after them as well.
    """

    def __init__(
        self, count: int, levels: Mapping[str, int] | None = None, *, evaluates: bool = False
    ) -> None:
        self._count, self._levels, self._evaluates = count, levels, evaluates
        #: Which one is the last, counted within TRAIN; known when the first one begins.
        self.wanted = -1
        self.records: dict[int, StepRecord] = {}
        self.evaluations: list[StepRecord] = []

    def level(self, tensor: str, kind: str, mode: Mode, mode_step: int) -> int:
        """Return what is saved of a tensor: everything or nothing."""
        # What runs between the steps of two optimizers is observed as of the next step first.
        is_it = mode is Mode.TRAIN and self.wants("", mode_step)
        if not is_it and not (mode is Mode.EVAL and self._evaluates):
            return NOTHING
        if self._levels is None:
            return STATISTICS | RAW
        return STATISTICS | self._levels.get(tensor, 0) | (RAW if kind == "outputs" else 0)

    def wants(self, kind: str, mode_step: int | None = None) -> bool:
        """Return whether anything may be saved now."""
        del kind
        return mode_step is None or 0 <= self.wanted < mode_step + self._count

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Nothing needs to be known."""

    def on_step(self, record: StepRecord) -> None:
        is_it = self.wanted - self._count < record.mode_step <= self.wanted
        if record.mode is Mode.TRAIN and is_it:
            self.records[record.mode_step] = record
        elif record.mode is Mode.EVAL and self._evaluates:
            self.evaluations.append(record)

    def finish(self) -> None:
        """The steps are kept as they are."""


def make(recording: Recording, task: Any, change: object) -> ReplayHook:
    """Return the hook for a task of ``cli.replays``."""
    del change
    return ReplayHook(recording, task.options, deterministic=task.deterministic)
