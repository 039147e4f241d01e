"""The hook for PyTorch: what users hold, and the hooks of torch that emit events."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, WeakKeyDictionary, ref

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_module_registration_hook,
)
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.hooks import RemovableHandle

from ...capture.output import HOOK_OUTPUT, Output, OutputOptions
from ...capture.recorder import Listener, Recorder
from ...errors import TrainingStopped
from ...model.collection import Policy
from ...model.steps import Mode
from ..base import Hook, abbreviate, coverage_line
from .graphs import GraphSlots
from .internals import (
    Loss,
    dynamo_skip_frame,
    eager_only,
    global_forward_hooks,
    global_forward_pre_hooks,
    has_compiled_graphs,
)
from .intervene.control import TorchControl
from .models import Names
from .observe import Observer
from .patches import Patches, unpatched_importers
from .process import distributed_rank, share_threads
from .tracker import Tracker

if TYPE_CHECKING:
    from typing_extensions import Unpack

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def with_closure(
    args: tuple[Any, ...], named: Mapping[str, Any], after: Callable[[], object]
) -> Arguments | None:
    """Return the arguments of an optimizer's step, changed to tell when its closure returned.

    Args:
        args: The optimizer, and what it was given by place.
        named: What it was given by name.
        after: Called each time that the closure returned.

    Returns:
        What to call the step with; ``None`` if there is no closure.
    """
    closure = args[1] if len(args) > 1 else named.get("closure")
    if not callable(closure):
        return None

    @functools.wraps(closure)
    def call(*given: Any, **given_named: Any) -> Any:
        result = closure(*given, **given_named)
        after()
        return result

    if len(args) > 1:
        return (args[0], call, *args[2:]), dict(named)
    return args, {**named, "closure": call}


def coverage(names: Names, observer: Observer, slots: GraphSlots) -> str:
    """Return the coverage line of what was observed so far.

    A parameter is captured if its weight is, and its gradient if there was one. A module is
    captured if every tensor of what it returned is.

    Args:
        names: What there is.
        observer: What was seen of it.
        slots: What compiled graphs have for it.
    """
    parameters = {}
    for name, _ in names.named_parameters():
        gradient = observer.refused.get(f"gradient/{name}")
        why = observer.refused.get(name) or (gradient and f"gradient of {gradient}")
        parameters[name] = why or (None if name in observer.observed else "not reached")
    outputs = {
        name: slots.problems.get(module)
        or (observer.returned[name] if name in observer.returned else _why_unobserved(module))
        for name, module in names.callable_modules().items()
    }
    line = coverage_line(parameters, outputs)
    blind = unpatched_importers()
    if blind:
        line += f", no attention of {abbreviate(blind)} (imported before the hook)"
    if slots.num_attention:
        line += ", no attention of changing shapes inside compiled graphs on accelerators"
    return line


def _why_unobserved(module: torch.nn.Module) -> str:
    if isinstance(module, torch.jit.ScriptModule):
        return "inside a scripted module"
    return "not called in this step"


class ModuleHooks:
    """Hooks on every module, which can be off for what is inside of one while that runs.

    Torch calls a module faster where there is no hook at all.

    Args:
        before: Called before each module with the module and its positional arguments.
        after: Called after each with the module, both kinds of arguments, and what it returned.
    """

    def __init__(self, before: Callable[..., None], after: Callable[..., None]) -> None:
        self._before = register_module_forward_pre_hook(before)
        self._after = register_module_forward_hook(after, with_kwargs=True, always_call=True)
        self._hooks: dict[int, Callable[..., None]] = {
            self._before.id: before,
            self._after.id: after,
        }
        # The module that runs without, and the hooks of its own that it had before.
        self._root: tuple[torch.nn.Module, dict[int, Callable[..., Any]]] | None = None
        # The modules before which alone a hook is called; the script may delete them meanwhile.
        self._watched: list[ReferenceType[torch.nn.Module]] = []
        # Kept, for who added a hook meanwhile removes it there.
        self._views: WeakKeyDictionary[torch.nn.Module, _WatchedHooks] = WeakKeyDictionary()

    def remove(self) -> None:
        self.resume()
        self._before.remove()
        self._after.remove()

    def _can_pause(self, root: torch.nn.Module) -> bool:
        alone = len(global_forward_pre_hooks) == len(global_forward_hooks) == 1
        # What was compiled with the hooks would be compiled again without them.
        is_paused = self._root is not None or self._watched
        is_free = alone and not is_paused and not has_compiled_graphs()
        return is_free and _is_called_as_usual(root)

    def watch_only(
        self, roots: Sequence[torch.nn.Module], others: Sequence[torch.nn.Module] = ()
    ) -> bool:
        """Call one hook, before each of these, and no other until ``resume``; return whether so.

        Args:
            roots: The models that ran.
            others: Models that may run; those are left out before which no hook can be called.
        """
        if not all(map(self._can_pause, roots)):
            return False
        self._watched = []
        for root in (*roots, *filter(_is_called_as_usual, others)):
            self._watch(root)
        global_forward_pre_hooks.clear()
        global_forward_hooks.clear()
        return True

    def watch_also(self, other: torch.nn.Module) -> None:
        """Call the hook before one more model, where it is called before some alone."""
        if self._watched and _is_called_as_usual(other):
            self._watch(other)

    def _watch(self, root: torch.nn.Module) -> None:
        number = self._before.id
        own: Any = root._forward_pre_hooks
        watched = self._views.get(root)
        if own is watched:
            return
        if watched is None or watched.own is not own:
            watched = self._views[root] = _WatchedHooks(own, number, self._hooks[number])
        watched.is_on = True
        root.__dict__["_forward_pre_hooks"] = watched
        self._watched.append(ref(root))

    def pause_inside(self, root: torch.nn.Module) -> bool:
        """Call no hooks until this module, which is about to run, returns or raises.

        Returns:
            Whether it will be noted that it has.
        """
        if not self._can_pause(root):
            return not self._watched
        own = root._forward_hooks
        self._root = root, own
        # Another dictionary: torch may go through that one when this is undone.
        number = self._after.id
        root.__dict__["_forward_hooks"] = OrderedDict(own)
        root._forward_hooks[number] = _Returned(self)
        root._forward_hooks_always_called[number] = True
        global_forward_pre_hooks.clear()
        global_forward_hooks.clear()
        return True

    def resume(self) -> None:
        """Call the hooks again, if they are not called."""
        if self._watched:
            for watched in self._watched:
                if (module := watched()) is not None:
                    self._views[module].is_on = False
                    module.__dict__["_forward_pre_hooks"] = self._views[module].own
            self._watched = []
        elif self._root is not None:
            (root, own), self._root = self._root, None
            added = root._forward_hooks.keys() - own.keys() - {self._after.id}
            own.update((number, root._forward_hooks[number]) for number in added)
            root.__dict__["_forward_hooks"] = own
            root._forward_hooks_always_called.pop(self._after.id, None)
        else:
            return
        global_forward_pre_hooks[self._before.id] = self._hooks[self._before.id]
        global_forward_hooks[self._after.id] = self._hooks[self._after.id]

    def returned(self, module: torch.nn.Module, *given: Any) -> None:
        """The module inside of which no hooks were called has returned, or raised."""
        self.resume()
        self._hooks[self._after.id](module, *given)


def _is_called_as_usual(module: torch.nn.Module) -> bool:
    """Return whether torch calls the hooks of a module as it is called."""
    is_usual = type(module).__call__ is torch.nn.Module.__call__
    return is_usual and not isinstance(module, torch.jit.ScriptModule)


class _WatchedHooks(MutableMapping[int, Any]):
    """The hooks of a module, and one of ours after them, which no copy and no pickle has.

    A module that is called asks whether there are any, and for ``items``: only there is ours. Who
    goes through the hooks otherwise, such as the compiler of ``torch.jit``, finds the module's own.

    Args:
        own: Those of the module; what is added and removed here is so there.
        number: The number of ours.
        hook: Ours.
    """

    def __init__(self, own: OrderedDict[int, Any], number: int, hook: Callable[..., Any]) -> None:
        self.own, self._number, self._hook = own, number, hook
        #: Whether ours is called: who copied a module may hold this longer.
        self.is_on = False

    def __getitem__(self, number: int) -> Any:
        return self._hook if number == self._number else self.own[number]

    def __setitem__(self, number: int, hook: Any) -> None:
        self.own[number] = hook

    def __delitem__(self, number: int) -> None:
        del self.own[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self.own)

    def __len__(self) -> int:
        return len(self.own) + self.is_on

    def items(self) -> Any:
        ours = [(self._number, self._hook)] if self.is_on else []
        return [*self.own.items(), *ours]

    def move_to_end(self, number: int, *, last: bool = True) -> None:
        self.own.move_to_end(number, last=last)

    def __reduce__(self) -> tuple[Any, ...]:
        return OrderedDict, (), None, None, iter(self.own.items())


class _Returned:
    """The hook that a module has while it runs; whoever copies the module then gets another."""

    def __init__(self, hooks: ModuleHooks) -> None:
        self._hooks = hooks

    def __call__(self, module: torch.nn.Module, *given: Any) -> None:
        self._hooks.returned(module, *given)

    def __reduce__(self) -> tuple[object, ...]:
        return functools.partial, (sys.audit, "stepwatch")  # does nothing, whatever it is given


def register_global_hooks(
    tracker: Tracker, control: TorchControl, after_step: Callable[[], None]
) -> list[RemovableHandle | ModuleHooks]:
    """Let torch tell a tracker of everything that runs.

    Args:
        control: Acts on the training before and after the steps of optimizers.
        after_step: Called after each step of an optimizer; it may raise.
    """
    source = tracker.events.source
    notify_before_optimizer = source("before_optimizer")
    notify_after_closure = source("after_closure")
    notify_after_optimizer = source("after_optimizer")
    notify_after_forward = source("after_forward")
    record, compiling = tracker.graphs.slots.probe.record, torch.compiler.is_compiling
    exporting = torch.compiler.is_exporting

    def before_optimizer(optimizer: torch.optim.Optimizer, args: Any, named: Any) -> Any:
        given = None
        if len(args) == 1 and not named:  # no closure, as with most
            notify_before_optimizer(optimizer)
        else:
            given = with_closure(args, named, lambda: notify_after_closure(optimizer))
            with nullcontext() if given is None else tracker.observer.without_gradients():
                notify_before_optimizer(optimizer)
        if control.bad_updates is not None:
            tracker.settle()
            control.before_update(optimizer, args, named)
        return given

    def after_optimizer(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if control.bad_updates is not None:
            control.after_update(optimizer)
        notify_after_optimizer(optimizer)
        if control.has_work:
            tracker.settle()
            control.after_step()
            after_step()

    # A function of its own, so that a compiler sees constants and what it is to trace.
    def after_forward(module: torch.nn.Module, inputs: Any, *rest: Any) -> None:
        if not compiling():
            # Of a module that raised torch gives no keywords.
            keywords, output = rest if len(rest) == 2 else ({}, *rest)
            notify_after_forward(module, (inputs, keywords), output)
        elif not exporting():
            record(type(module).__name__ if isinstance(module, Loss) else "output", rest[-1])

    modules = ModuleHooks(eager_only(source("before_forward")), dynamo_skip_frame(after_forward))
    tracker.pause_inside, tracker.resume_hooks = modules.pause_inside, modules.resume
    tracker.watch_only, tracker.watch_also = modules.watch_only, modules.watch_also
    return [
        modules,
        register_optimizer_step_pre_hook(eager_only(before_optimizer)),
        register_optimizer_step_post_hook(eager_only(after_optimizer)),
        register_module_module_registration_hook(eager_only(source("module_registered"))),
    ]


def reset_compiled_graphs() -> bool:
    """Let what was compiled be compiled again, with the hooks in it; return whether there is any.

    A graph holds the hooks that were there when it was compiled, and no others.
    """
    if not has_compiled_graphs():
        return False
    torch.compiler.reset()
    return True


class TorchHook(Hook):
    """Captures what happens in a PyTorch training run.

    It looks from outside: nothing is put into the model, so copies, pickles and compiled graphs
    of it are as they would be without. Weights are those that the step's forward used, gradients
    those that its optimizer used.

    Args:
        model: The model to observe; by default every model that runs.
        run: Directory or URL to write to; it must not hold a run yet.
        policy: What to save beyond statistics of everything at every step: a ``SavePolicy``, one
            for each collection by name, or texts such as ``"gradients:raw:every=100"``.
        output: How the run is written.
        options: Fields of ``output`` by their names, such as ``format="smdebug"``,
            ``tensorboard="board"``, ``black_box_mb=0`` or ``snapshot_every=100``.
        listeners: Evaluate every step at once, such as ``rules.LiveWatch``.
        hold: A TRAIN step that is over is handed on when the next one begins to run, so that what
            is saved after ``optimizer.step()`` belongs to it; ``False`` hands it on at once.
        say: Takes the coverage line; prints it to standard error by default.
        strict: Raise our own failures into training, for tests.

    Raises:
        RunExists: ``run`` already holds a run.
        StoreError: ``run`` cannot be written to.

    Example:
        ``with TorchHook(model, run="runs/first"):`` around the training loop; or make one
        before it and ``close()`` it after. What is never closed is so when Python ends.
    """

    framework = "torch"

    def __init__(
        self,
        model: torch.nn.Module | None = None,
        *,
        run: str | os.PathLike[str] | Recorder,
        policy: Policy = None,
        output: Output = HOOK_OUTPUT,
        listeners: Sequence[Listener] = (),
        command: Sequence[str] = (),
        hold: bool = True,
        say: Callable[[str], None] | None = None,
        strict: bool = False,
        on_begin: Callable[[Hook], None] = lambda _: None,
        **options: Unpack[OutputOptions],
    ) -> None:
        super().__init__(
            run,
            policy=policy,
            output=output,
            listeners=listeners,
            command=command,
            say=say,
            strict=strict,
            on_begin=on_begin,
            rank=distributed_rank(),
            **options,
        )
        tracker = Tracker(self.recorder, model, self.stepped, hold=hold, strict=strict)
        self._tracker = tracker
        self.control: TorchControl = TorchControl(
            self.recorder,
            tracker.names,
            tracker.optimizers,
            tracker.steps,
            tracker.observer,
            is_capturing=lambda: tracker.active,
            say=self._say,
            strict=strict,
        )
        #: Ends the training in a way of its own; returns whether it can.
        self.ends_training: Callable[[BaseException], bool] = cannot_end
        self._handles: list[RemovableHandle | ModuleHooks] = []
        self._attached = False
        self._patches: Patches | None = None
        self.attach()

    def set_mode(self, mode: Mode | str | None) -> None:
        super().set_mode(mode)
        self._tracker.steps.mode = self._mode

    def save_scalar(self, name: str, value: float | torch.Tensor | npt.NDArray[np.generic]) -> None:
        """Save one number with the step that is being observed, as ``scalar/<name>``."""
        self._tracker.save(f"scalar/{name}", value, "scalars")

    def save_tensor(self, name: str, value: torch.Tensor | npt.NDArray[np.generic]) -> None:
        """Save a tensor with the step that is being observed, as ``tensor/<name>``.

        Its statistics are saved; its full value as well where the policy of the collection
        ``tensors`` asks for raw values.
        """
        self._tracker.save(f"tensor/{name}", value, "tensors")

    def observe(
        self,
        name: str,
        kind: str,
        value: Any,
        mode: Mode | None = None,
        *,
        trainable: bool | None = None,
    ) -> None:
        if mode in (None, Mode.TRAIN) and self._tracker.saves(name, kind, value):
            return
        if isinstance(value, torch.Tensor):
            self._tracker.save(name, value, kind, mode)
        else:
            super().observe(name, kind, np.asarray(value), mode, trainable=trainable)

    def attach(self) -> None:
        """Take hold of torch; done when the hook is made, and possible again after ``detach``."""
        if self._handles:
            return
        tracker = self._tracker
        if not self._attached and reset_compiled_graphs():
            self._say("what was compiled before is compiled again, to be seen")
        self._attached = True
        self._handles = register_global_hooks(tracker, self.control, self.end_if_requested)
        self._patches = Patches(
            tracker.events,
            tracker.graphs.slots.probe,
            tracker.drawn,
            tracker.rows.ahead,
            with_activations=self.recorder.plan.wants("activity"),
        )
        # Torch says that our hooks also see the module that compile wraps around a model. They
        # know, and a script's output must stay as it was.
        warnings.filterwarnings("ignore", r"Using `torch\.compile\(module\)` when there are global")
        share_threads(shared=True)
        tracker.attach()
        self.active = True

    def detach(self) -> None:
        """Let go of torch; nothing is captured until ``attach``."""
        if not self._tracker.active:  # it failed, or was detached before
            self.failure = self._tracker.failure
        self._tracker.detach()
        self.active = False
        share_threads(shared=False)
        while self._handles:
            self._handles.pop().remove()
        if self._patches is not None:
            self._patches.remove()
            self._patches = None

    @property
    def captures(self) -> bool:
        """Whether it is attached, not paused, and did not fail."""
        return self.active and self._tracker.active

    @property
    def has_begun(self) -> bool:
        """Whether anything was observed of a TRAIN step that is not handed on."""
        return self._tracker.has_begun

    def hold_steps(self, *, hold: bool) -> None:
        """Say whether a TRAIN step that is over is held until something runs, from here on."""
        self._tracker.steps.hold = hold

    def hears_loggers(self, *, hears: bool) -> None:
        """Say whether scalars are saved that the script logs, from here on."""
        self._tracker.logged.is_on = hears

    def accumulates(self, num_micro_batches: int) -> None:
        """Say of how many micro-batches gradients are to be accumulated for each step."""
        self._tracker.accumulates(num_micro_batches)

    def pause(self) -> None:
        super().pause()
        self._tracker.pause()

    def resume(self) -> None:
        super().resume()
        if not self._tracker.failure:
            self._tracker.resume()

    def finish(self) -> None:
        self._tracker.close()

    def describe_coverage(self) -> str:
        tracker = self._tracker
        return coverage(tracker.names, tracker.observer, tracker.graphs.slots)

    def source_places(self) -> dict[str, str]:
        return self._tracker.sources.places()

    def end_training(self, end: BaseException) -> None:
        if self.ends_training(end):
            self._stopped = end if isinstance(end, TrainingStopped) else None
        else:
            super().end_training(end)


def cannot_end(end: BaseException) -> bool:  # noqa: ARG001
    """Return that a training has no other way to be ended than to raise."""
    return False
