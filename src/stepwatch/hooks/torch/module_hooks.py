"""Hooks on the modules that were registered, there only while something is to be saved.

What stays on a model is one hook before its forward; those on its parts, its parameters and the
losses are put on for a step that is saved and taken off again. A copy of a model, or what is read
back from its pickle, has hooks that do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

import torch
from torch.nn.modules.loss import _Loss
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils.hooks import RemovableHandle

from ...errors import ConfigError
from .names import uncompiled

Told = TypeVar("Told", bound=Callable[..., None])

# What a module is called in the wrapper that the compiler makes for it.
_COMPILED = "_orig_mod"


class Sees(Protocol):
    """Who is told what torch does."""

    def before_root(self, root: torch.nn.Module) -> None:
        """A registered model is about to run."""

    def before_any(self, module: torch.nn.Module) -> None:
        """Some module is about to run; told only while models are looked for."""

    def after_forward(
        self, name: str, kind: str, inputs: object, named: Mapping[str, Any], output: object
    ) -> None:
        """A module of this name returned."""

    def after_gradient(self, name: str, gradient: torch.Tensor) -> None:
        """The gradient of a parameter was computed, and is about to be accumulated."""


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


def _unseen(function: Told) -> Told:
    """Return a function that a compiler calls and does not look into.

    What this imports, the first optimizer imports anyway.
    """
    torch.compiler.assume_constant_result(_may_break)  # type: ignore[no-untyped-call]
    unseen: Told = torch.compiler.disable(function)  # type: ignore[no-untyped-call]
    return unseen


def _may_break() -> bool:
    """Return whether the graph that is being compiled may end where an unseen function is called.

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
    def __init__(self, sees: Sees) -> None:
        # A model that is compiled after it was registered still counts its steps.
        self._told = _unseen(sees.before_root)

    def __call__(self, module: torch.nn.Module, _: object) -> None:
        if not torch.compiler.is_compiling() or _may_break():
            self._told(module)


class _AfterForward(_Inert):
    def __init__(self, sees: Sees, name: str, kind: str) -> None:
        self._sees, self._name, self._kind = sees, name, kind

    def __call__(
        self, _: torch.nn.Module, inputs: object, named: dict[str, Any], output: object
    ) -> None:
        if not torch.compiler.is_compiling():
            self._sees.after_forward(self._name, self._kind, inputs, named, output)


class _AfterWhole(_AfterForward):
    """After a model or a loss, of which a compiler sees what is inside."""

    def __init__(self, sees: Sees, name: str, kind: str) -> None:
        super().__init__(sees, name, kind)
        self._told = _unseen(sees.after_forward)

    def __call__(
        self, _: torch.nn.Module, inputs: object, named: dict[str, Any], output: object
    ) -> None:
        if not torch.compiler.is_compiling() or _may_break():
            self._told(self._name, self._kind, inputs, named, output)


class _AfterGradient(_Inert):
    def __init__(self, sees: Sees, name: str) -> None:
        self._sees, self._name = sees, name

    def __call__(self, gradient: torch.Tensor) -> None:
        if not torch.compiler.is_compiling():
            self._sees.after_gradient(self._name, gradient)


class ModuleHooks:
    """The hooks on what was registered.

    Args:
        sees: Who is told.
        looking: Tell of any module that runs, so that models need not be registered.
    """

    def __init__(self, sees: Sees, *, looking: bool = False) -> None:
        self._sees = sees
        self._looking = looking
        self._looks = False
        self._roots: list[torch.nn.Module] = []
        self._losses: list[torch.nn.Module] = []
        self._lasting: list[RemovableHandle] = []
        self._passing: list[RemovableHandle] = []
        self._installed = False
        if looking:
            self.look()

    @property
    def roots(self) -> list[torch.nn.Module]:
        """The models that were registered."""
        return self._roots

    def knows(self, module: torch.nn.Module) -> bool:
        """Return whether a module, or a part of it, is registered or part of what is."""
        known = {id(part) for root in self._roots for part in root.modules()}
        return any(id(part) in known for part in module.modules())

    def names(self) -> dict[torch.nn.Module, str]:
        """Return the names of everything that is registered."""
        named = {module: name for root in self._roots for name, module in named_parts(root)}
        return named | {loss: class_name(loss) for loss in self._losses}

    def add_root(self, root: torch.nn.Module) -> None:
        """Tell of a model and its parts from here on.

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
        self._roots.append(root)
        self._lasting.append(root.register_forward_pre_hook(_BeforeRoot(self._sees)))
        if self._installed:
            self._install_on(root)

    def add_loss(self, loss: torch.nn.Module) -> None:
        """Tell of a loss from here on; one that is known is told of once.

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
        for root in self._roots:
            self._install_on(root)
        for loss in self._losses:
            self._install_on_loss(loss)
        if self._looking:
            self.look()

    def remove(self) -> None:
        """Take off what ``install`` put on."""
        self._installed = False
        self._looks = False
        while self._passing:
            self._passing.pop().remove()

    def remove_all(self) -> None:
        """Take off everything."""
        self.remove()
        while self._lasting:
            self._lasting.pop().remove()

    def _install_on(self, root: torch.nn.Module) -> None:
        sees, losses = self._sees, {id(loss) for loss in self._losses}
        for name, module in named_parts(root):
            # Inside of what is compiled, hooks are not called and only compiled once more.
            hidden = module is not root and is_compiled(root)
            takes_none = isinstance(module, torch.jit.ScriptModule)
            if id(module) not in losses and not hidden and not takes_none:
                of = _AfterWhole if module is root else _AfterForward
                after = of(sees, name, "outputs")
                self._passing.append(module.register_forward_hook(after, with_kwargs=True))
        for name, parameter in named_parameters(root):
            if parameter.requires_grad:
                told = _AfterGradient(sees, f"gradient/{name}")
                handle = parameter.register_hook(told)  # type: ignore[no-untyped-call]
                self._passing.append(handle)

    def _install_on_loss(self, loss: torch.nn.Module) -> None:
        after = _AfterWhole(self._sees, class_name(loss), "losses")
        self._passing.append(loss.register_forward_hook(after, with_kwargs=True))

    def look(self) -> None:
        """Tell of any module that runs, at steps that are saved and before the first."""
        if self._looks:
            return
        self._looks = self._looking = True

        def before(module: torch.nn.Module, _: object) -> None:
            if not torch.compiler.is_compiling():
                self._sees.before_any(module)

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
