"""The hook of smdebug for PyTorch.

One hook stays on a registered model, before its forward; those on its parts, its parameters and
the losses are there only during a step that is saved. A copy of a model, or what is read back from
its pickle, has hooks that do nothing.

Inputs and outputs of modules have the names that smdebug gives them. It names only plain tensors,
alone or in tuples and lists, and numbers those of one module within a step. What it leaves out gets
names that leave its numbers as they are: values of mappings and dataclasses and keyword arguments
have their key, ``net_output_logits``; parameters and other subclasses of tensors have their class,
``proj_input_Parameter_0``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.modules.loss import _Loss
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.hooks import RemovableHandle

from stepwatch.capture.guard import guarded
from stepwatch.capture.open_step import OpenStep
from stepwatch.capture.profiling import Phases
from stepwatch.errors import ConfigError
from stepwatch.hooks.patching import PatchSet
from stepwatch.hooks.torch.collectors.profiling import ProfileCollector
from stepwatch.hooks.torch.device import DeviceBatch
from stepwatch.hooks.torch.internals import (
    dynamo_skip_frame,
    eager_only,
    in_backward,
    loader_iterator,
)
from stepwatch.hooks.torch.models import uncompiled
from stepwatch.hooks.torch.observe import on_host
from stepwatch.hooks.torch.patches import loader_wrapper
from stepwatch.hooks.torch.process import distributed_rank
from stepwatch.hooks.torch.tensors import (
    dense,
    dtype_name,
    is_sparse_or_complex,
    plain,
    sparse_complex_row,
    to_numpy,
    unsupported,
)
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import Row

from ..plan import DebuggerPlan, HookConfig
from . import base
from .base import SavedArrays, put_array

HookFunction = TypeVar("HookFunction", bound=Callable[..., None])
Array = npt.NDArray[np.generic]
Value = torch.Tensor | Array

# What a module is called in the wrapper that the compiler makes for it.
_COMPILED = "_orig_mod"


class _Inert:
    """A hook that is nothing in copies and pickles of what it hangs on."""

    # Torch warns of hooks that a pickled tensor loses unless they say that they do not mind.
    __torch_unserializable__ = True

    def __reduce__(self) -> tuple[Callable[[], Callable[..., None]], tuple[()]]:
        return _leftover, ()


def _leftover() -> Callable[..., None]:
    return nothing


def nothing(*_: object, **__: object) -> None:
    """Do nothing: a hook in a copy of a model."""


def _dynamo_disable(function: HookFunction) -> HookFunction:
    """Return a function that a compiler calls and does not trace.

    What this imports, the first optimizer imports anyway.
    """
    torch.compiler.assume_constant_result(_may_break)  # type: ignore[no-untyped-call]
    disabled: HookFunction = torch.compiler.disable(function)  # type: ignore[no-untyped-call]
    return disabled


def _may_break() -> bool:
    """Return whether the graph that is being compiled may end where a disabled function is called.

    A compiler calls this while it compiles, and takes the answer for a constant.
    """
    try:
        from torch._dynamo.symbolic_convert import InstructionTranslator

        compiling = InstructionTranslator.current_tx()
        whole = compiling.one_graph or compiling.error_on_graph_break
    except (ImportError, AttributeError):  # another version of torch
        return False
    return not whole


class _BeforeRoot(_Inert):
    def __init__(self, hook: SmdebugTorchHook) -> None:
        # A model that is compiled after it was registered still counts its steps.
        self._observe = _dynamo_disable(hook.before_root)

    def __call__(self, module: torch.nn.Module, _: object) -> None:
        if not torch.compiler.is_compiling() or _may_break():
            self._observe(module)


class _AfterForward(_Inert):
    def __init__(self, hook: SmdebugTorchHook, name: str, kind: str) -> None:
        self._hook, self._name, self._kind = hook, name, kind

    def __call__(
        self, _: torch.nn.Module, inputs: object, named: dict[str, Any], output: object
    ) -> None:
        if not torch.compiler.is_compiling():
            self._hook.after_forward(self._name, self._kind, inputs, named, output)


class _AfterWhole(_AfterForward):
    """After a model or a loss, whose inside a compiler traces."""

    def __init__(self, hook: SmdebugTorchHook, name: str, kind: str) -> None:
        super().__init__(hook, name, kind)
        self._observe = _dynamo_disable(hook.after_forward)

    def __call__(
        self, _: torch.nn.Module, inputs: object, named: dict[str, Any], output: object
    ) -> None:
        if not torch.compiler.is_compiling() or _may_break():
            self._observe(self._name, self._kind, inputs, named, output)


class _AfterGradient(_Inert):
    def __init__(self, hook: SmdebugTorchHook, name: str) -> None:
        self._hook, self._name = hook, name

    def __call__(self, gradient: torch.Tensor) -> None:
        if not torch.compiler.is_compiling():
            self._hook.after_gradient(self._name, gradient)


class ModuleHooks:
    """The hooks on what was registered.

    With ``register_first`` there is also one before any module that runs.
    """

    def __init__(self, hook: SmdebugTorchHook, *, register_first: bool = False) -> None:
        self._hook = hook
        self._registers_first = register_first
        self._hooks_any = False
        #: The models that were registered.
        self.roots: list[torch.nn.Module] = []
        self._losses: list[torch.nn.Module] = []
        self._lasting: list[RemovableHandle] = []
        self._passing: list[RemovableHandle] = []
        self._installed = False
        if register_first:
            self.hook_any_module()

    def knows(self, module: torch.nn.Module) -> bool:
        """Return whether a module, or a part of it, is registered or part of what is."""
        known = {id(part) for root in self.roots for part in root.modules()}
        return any(id(part) in known for part in module.modules())

    def names(self) -> dict[torch.nn.Module, str]:
        """Return the names of everything that is registered."""
        named = {module: name for root in self.roots for name, module in named_parts(root)}
        return named | {loss: class_name(loss) for loss in self._losses}

    def add_root(self, root: torch.nn.Module) -> None:
        """Observe a model and its parts from here on.

        Raises:
            ConfigError: It is no module, or one that takes no hooks; or it, or a part of it, is
                registered already.
        """
        if isinstance(root, torch.jit.ScriptModule):
            raise ConfigError("a scripted module takes no hooks; register one that calls it")
        if not isinstance(root, torch.nn.Module):
            raise ConfigError(f"a torch.nn.Module can be registered, got {type(root).__name__}")
        if self.knows(root):
            raise ConfigError(f"{class_name(root)}, or a part of it, is registered already")
        self.roots.append(root)
        self._lasting.append(root.register_forward_pre_hook(_BeforeRoot(self._hook)))
        if self._installed:
            self._install_on(root)

    def add_loss(self, loss: torch.nn.Module) -> None:
        """Observe a loss from here on; one that is known is observed once.

        Raises:
            ConfigError: It is no loss of ``torch.nn``.
        """
        if not isinstance(loss, _Loss):
            raise ConfigError(
                f"a loss of torch.nn can be registered, got {type(loss).__name__}; what another "
                "one returns can be given to record_tensor_value"
            )
        if any(one is loss for one in self._losses):
            return
        self._losses.append(loss)
        if self._installed:
            self._install_on_loss(loss)

    def install(self) -> None:
        """Put hooks on everything, unless they are there."""
        if self._installed:
            return
        self._installed = True
        for root in self.roots:
            self._install_on(root)
        for loss in self._losses:
            self._install_on_loss(loss)
        if self._registers_first:
            self.hook_any_module()

    def remove(self) -> None:
        """Take off what ``install`` put on."""
        self._installed = False
        self._hooks_any = False
        while self._passing:
            self._passing.pop().remove()

    def remove_all(self) -> None:
        self.remove()
        while self._lasting:
            self._lasting.pop().remove()

    def _install_on(self, root: torch.nn.Module) -> None:
        hook, losses = self._hook, {id(loss) for loss in self._losses}
        for name, module in named_parts(root):
            # Inside of what is compiled, hooks are not called and only compiled once more.
            hidden = module is not root and is_compiled(root)
            takes_none = isinstance(module, torch.jit.ScriptModule)
            if id(module) not in losses and not hidden and not takes_none:
                of = _AfterWhole if module is root else _AfterForward
                after = of(hook, name, "outputs")
                self._passing.append(module.register_forward_hook(after, with_kwargs=True))
        for name, parameter in named_parameters(root):
            if parameter.requires_grad:
                observer = _AfterGradient(hook, f"gradient/{name}")
                handle = parameter.register_hook(observer)  # type: ignore[no-untyped-call]
                self._passing.append(handle)

    def _install_on_loss(self, loss: torch.nn.Module) -> None:
        after = _AfterWhole(self._hook, class_name(loss), "losses")
        self._passing.append(loss.register_forward_hook(after, with_kwargs=True))

    def hook_any_module(self) -> None:
        """Put a hook before any module that runs, at steps that are saved and before the first."""
        if self._hooks_any:
            return
        self._hooks_any = self._registers_first = True

        def before(module: torch.nn.Module, _: object) -> None:
            if not torch.compiler.is_compiling():
                self._hook.before_any(module)

        self._passing.append(register_module_forward_pre_hook(before))


def named_parts(root: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield a model and its parts with their names: paths, and the class of the model itself."""
    yield class_name(root), root
    for path, module in root.named_modules():
        # A wrapper of the compiler has the name of what it wraps.
        if module is not root and path.rpartition(".")[2] != _COMPILED:
            yield uncompiled(path), module


def named_parameters(root: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Parameter]]:
    """Yield the parameters of a model with their names, which begin with the class of the model."""
    first = class_name(root)
    for path, parameter in root.named_parameters():
        yield f"{first}_{uncompiled(path)}", parameter


def is_compiled(module: torch.nn.Module) -> bool:
    """Return whether a module is the wrapper that the compiler makes for one."""
    return isinstance(getattr(module, _COMPILED, None), torch.nn.Module)


def class_name(module: torch.nn.Module) -> str:
    """Return the class of a module; of one that is compiled that of the module inside."""
    inner = getattr(module, _COMPILED, None)
    named = inner if isinstance(inner, torch.nn.Module) else module
    name: str = named._get_name()  # type: ignore[no-untyped-call]
    return name


# Something that holds itself would never end.
_DEEPEST = 8


class TensorNumbers:
    """Numbers the tensors that go into modules, or come out, within one step.

    Example:
        >>> numbers, one = TensorNumbers(), torch.zeros(1)
        >>> [name for name, _ in numbers.named("act_input", (one, [one, None]))]
        ['act_input_0', 'act_input_1']
        >>> [name for name, _ in numbers.named("act_input", {"mask": one})]
        ['act_input_mask']
        >>> [name for name, _ in numbers.named("act_input", one)]
        ['act_input_2']
    """

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def restart(self) -> None:
        """Begin at 0 again; a step begins."""
        self._next.clear()

    def named(self, base: str, value: object) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield every tensor in a value with its name, which begins with ``base``."""
        if type(value) is torch.Tensor:  # as nearly all are
            yield self._numbered(base), value
        elif value is not None:
            yield from self._inside(base, value, _DEEPEST)

    def keyed(self, base: str, values: Mapping[str, object]) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield every tensor in the values of a mapping, each with its key in its name."""
        yield from self._keyed(base, values, _DEEPEST)

    def _inside(self, base: str, value: object, deep: int) -> Iterator[tuple[str, torch.Tensor]]:
        if isinstance(value, torch.Tensor):
            plain = type(value) is torch.Tensor
            yield self._numbered(base if plain else f"{base}_{type(value).__name__}"), value
        elif deep == 0:
            return
        elif isinstance(value, Mapping):
            yield from self._keyed(base, value, deep - 1)
        elif isinstance(value, (tuple, list)):
            for inner in value:
                yield from self._inside(base, inner, deep - 1)
        elif is_dataclass(value):
            values = {one.name: getattr(value, one.name, None) for one in fields(value)}
            yield from self._keyed(base, values, deep - 1)

    def _keyed(
        self, base: str, values: Mapping[str, object], deep: int
    ) -> Iterator[tuple[str, torch.Tensor]]:
        for key, value in values.items():
            inner = f"{base}_{key}"
            if type(value) is torch.Tensor:
                number = self._count(inner)
                yield (f"{inner}_{number}" if number else inner), value
            else:
                yield from self._inside(inner, value, deep)

    def _numbered(self, base: str) -> str:
        return f"{base}_{self._count(base)}"

    def _count(self, base: str) -> int:
        number = self._next.get(base, 0)
        self._next[base] = number + 1
        return number


class SavedTensors(SavedArrays):
    """Puts tensors, dense or sparse, of any device into the open step."""

    def __init__(self, plan: DebuggerPlan) -> None:
        super().__init__(plan)
        self._on_device = DeviceBatch()

    def begin(self, step: OpenStep, mode: Mode, mode_step: int) -> None:
        super().begin(step, mode, mode_step)
        self._on_device = DeviceBatch()

    def put(
        self,
        step: OpenStep,
        name: str,
        kind: str,
        value: Value,
        raw: bool,
        trainable: bool | None,
    ) -> None:
        if isinstance(value, torch.Tensor):
            self._put_tensor(step, name, kind, value, raw, trainable)
        else:
            super().put(step, name, kind, value, raw, None)

    def finish(self) -> None:
        """Bring statistics that are still on an accelerator to the host; the step ends."""
        if self._step is not None:
            self._on_device.collect()
        super().finish()

    def _put_tensor(
        self,
        step: OpenStep,
        name: str,
        kind: str,
        tensor: torch.Tensor,
        raw: bool,
        trainable: bool | None,
    ) -> None:
        tensor = plain(tensor)
        why = unsupported(tensor)
        if why is not None:
            self.refuse(name, why)
            return
        info = self.info(name, kind, dtype_name(tensor.dtype), tensor.shape, trainable)
        if tensor.layout is not torch.strided and not raw:
            step.claim(info)[:] = sparse_complex_row(tensor)
            return
        if is_sparse_or_complex(tensor):
            tensor = dense(tensor)
        if on_host(tensor) or tensor.is_complex():
            put_array(step, info, to_numpy(tensor), raw=raw)
        else:
            self._put_from_device(step, info, tensor, raw=raw)

    def _put_from_device(
        self, step: OpenStep, info: TensorInfo, tensor: torch.Tensor, *, raw: bool
    ) -> None:
        step.claim(info)
        if raw:
            step.raw[info.name] = to_numpy(tensor)
        self._on_device.add(tensor, partial(_fill, step, info.name))


def _fill(step: OpenStep, name: str, row: Row) -> None:
    step.statistics_of(step.row_of(name))[:] = row


class TorchPhases:
    """Notes the phases of a step (loaders, gradients, optimizers), until ``remove``."""

    def __init__(self, phases: Phases) -> None:
        self._phases = phases
        self._replaced = PatchSet()
        loader = loader_wrapper(self.on_loader_wait)
        if (iterator := loader_iterator()) is not None:
            self._replaced.put(iterator, "__next__", loader)
        self._replaced.put(torch.autograd, "backward", self._around)
        self._handles = [
            register_optimizer_step_pre_hook(eager_only(self._turns("optimizer"))),
            register_optimizer_step_post_hook(eager_only(self._turns("other"))),
        ]

    def remove(self) -> None:
        self._replaced.remove()
        while self._handles:
            self._handles.pop().remove()

    def on_loader_wait(self, seconds: float) -> None:
        self._phases.waited(seconds)

    def _turns(self, phase: str) -> Callable[..., None]:
        def turn(*_: object) -> None:
            self._phases.turn(phase)

        return turn

    def _around(self, original: Any) -> Any:
        def backward(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or in_backward():
                return original(*args, **kwargs)
            self._phases.turn("backward")
            try:
                return original(*args, **kwargs)
            finally:
                self._phases.turn("other")

        return dynamo_skip_frame(backward)


class SmdebugTorchHook(base.SmdebugHook):
    """Captures of a PyTorch training run what a hook configuration asks for.

    Weights are saved as the forward of a step found them, gradients as the last backward of a
    step computed them, before they are accumulated.

    Args:
        config: See ``SmdebugHook``, as for further ``options``.
        rank: By default what torch's libraries say.
        register_first: Register the first model with parameters that runs, and losses that run.
    """

    framework = "torch"
    register_call = "register_module(model)"
    not_run_hint = "if it is compiled as one graph, register what torch.compile returns"

    def __init__(
        self,
        config: HookConfig | Callable[[], HookConfig],
        *,
        rank: tuple[int, int] | None = None,
        register_first: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(config, rank=rank or distributed_rank(), **options)
        self._io = TensorNumbers()
        self._profiled: tuple[ProfileCollector, TorchPhases] | None = None
        self._first_update: RemovableHandle | None = None
        #: What is registered.
        self.modules = ModuleHooks(self, register_first=register_first)

    def register_module(self, module: torch.nn.Module) -> None:
        """Save of this model; each of its forwards is a step.

        Raises:
            ConfigError: It is no module, or it, or a part of it, is registered already.
        """
        if self.active:
            self.modules.add_root(module)

    def register_loss(self, loss: torch.nn.Module) -> None:
        """Save what this loss is given and returns.

        Raises:
            ConfigError: It is no loss of ``torch.nn``.
        """
        if self.active:
            self.modules.add_loss(loss)

    @guarded
    def record_output(self, name: str, tensor: torch.Tensor) -> None:
        """Save a tensor as if a module of this name had returned it, ``<name>_output_<i>``."""
        if self.is_due:
            with self._lock:
                self.save(self._io.named(f"{name}_output", tensor), "outputs")

    # What torch calls

    @guarded
    def before_any(self, module: torch.nn.Module) -> None:
        """Some module is about to run; register it if it is a loss, or the first model."""
        if isinstance(module, _Loss):
            self.register_loss(module)
        elif not self.modules.roots and any(True for _ in module.parameters()):
            self.register_module(module)
            self.before_root(module)  # the hook that was put on it just now is not called yet

    @guarded
    def after_forward(
        self, name: str, kind: str, inputs: object, named: Mapping[str, Any], output: object
    ) -> None:
        if not self.is_due:
            return
        with self._lock:
            io = self._io
            self.save(io.named(f"{name}_input", inputs), "inputs")
            if named:
                self.save(io.keyed(f"{name}_input", named), "inputs")
            self.save(io.named(f"{name}_output", output), kind)

    @guarded
    def after_gradient(self, name: str, gradient: torch.Tensor) -> None:
        """The gradient of a parameter was computed, and is about to be accumulated."""
        if self.is_due:
            with self._lock:
                self.save([(name, gradient)], "gradients")

    def before_root(self, root: torch.nn.Module) -> None:
        super().before_root(root)
        self._profile()

    @guarded
    def _profile(self) -> None:
        if self.recorder is None or self._steps is None or self._steps.when is None:
            return
        profiler = self.recorder.profiler
        if profiler.config is None:
            return
        if self._profiled is None:
            self._profiled = ProfileCollector(self.recorder), TorchPhases(profiler.phases)
            self._profiled[0].listen()
        profiler.phases.turn("forward")
        self._profiled[0].begin_step(*self._steps.when[:2])

    def _updated(self, *_: object) -> None:
        """An optimizer has stepped for the first time, which ends a step for most scripts."""
        if self.is_due:
            self._forget_updates()
            with self._lock:
                self.keep_first()

    def _forget_updates(self) -> None:
        if self._first_update is not None:
            self._first_update.remove()
            self._first_update = None

    # What torch defines

    def root_names(self) -> Sequence[str]:
        return [class_name(root) for root in self.modules.roots]

    def start_observing(self, root: torch.nn.Module) -> None:
        self._io.restart()
        self.modules.install()
        if self._keeps_first and self._first_update is None:
            self._first_update = register_optimizer_step_post_hook(eager_only(self._updated))
        self.save_parameters(
            (name, parameter, parameter.requires_grad) for name, parameter in named_parameters(root)
        )

    def stop_observing(self) -> None:
        self.modules.remove()

    def let_go(self) -> None:
        self.modules.remove_all()
        self._forget_updates()
        if self._profiled is not None:
            profiled, phases = self._profiled
            profiled.pause()
            phases.remove()
            self._profiled = None

    def saved_by(self, plan: DebuggerPlan) -> SavedTensors:
        return SavedTensors(plan)

    def copy_of(self, value: Value) -> Value:
        """Return a copy that lies where the value lies."""
        if isinstance(value, torch.Tensor):
            with torch.no_grad():
                return value.detach().clone()
        return np.array(value)


#: What ``hook_config_launch`` attaches when the framework is imported.
HOOK = SmdebugTorchHook
