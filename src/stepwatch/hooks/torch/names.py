"""The names of modules and parameters, found as the script uses its models."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator

import torch

from .sharded import OwnParameters, class_of

_CONTAINERS = (
    torch.nn.ModuleList,
    torch.nn.ModuleDict,
    torch.nn.ParameterList,
    # The projection of MultiheadAttention: it holds parameters and is never called.
    torch.nn.modules.linear.NonDynamicallyQuantizableLinear,
)
#: A model may make modules while it runs, which are soon gone.
MOST_ADOPTED = 64
_WRAPPERS = ("DistributedDataParallel", "DataParallel", "OptimizedModule")


def unwrap(module: torch.nn.Module) -> torch.nn.Module:
    """Return the model inside of DDP, DataParallel and compile wrappers."""
    while type(module).__name__ in _WRAPPERS:
        inner = getattr(module, "module", None) or getattr(module, "_orig_mod", None)
        if not isinstance(inner, torch.nn.Module):
            break
        module = inner
    return module


def uncompiled(path: str) -> str:
    """Return a path without the steps into what ``torch.compile`` wraps."""
    return ".".join(part for part in path.split(".") if part != "_orig_mod")


class Names:
    """Names of the modules and parameters of every model that ran.

    The first model's names are its own paths; those of a further model begin with its class,
    ``Discriminator.conv1.weight``.
    """

    def __init__(self) -> None:
        #: Names of parameters by identity, as of the last ``add`` or ``refresh``.
        self.parameters: dict[int, str] = {}
        # By identity, and it is checked: what is gone may leave its number to another.
        self._modules: dict[int, tuple[weakref.ref[torch.nn.Module], str]] = {}
        self._roots: list[tuple[weakref.ref[torch.nn.Module], str, str]] = []
        self._trained: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()
        self._own = OwnParameters()
        self.version = self._num_adopted = 0

    @property
    def roots(self) -> list[torch.nn.Module]:
        """The models, unwrapped, in the order in which they first ran."""
        return [module for root, *_ in self._roots if (module := root()) is not None]

    def of(self, module: torch.nn.Module) -> str | None:
        """Return the name of a module, ``None`` if it has none."""
        known = self._modules.get(id(module))
        return known[1] if known is not None and known[0]() is module else None

    def meet(self, module: torch.nn.Module, root: torch.nn.Module, *, trained: bool) -> None:
        """A module runs inside of a model and has no name: give it one if it should have.

        It was put into the model after that was named; or it is no part of it, as layers in a plain
        list are: the model does not know them, so nobody hands them to an optimizer.

        Args:
            module: What runs.
            root: The model.
            trained: Whether it runs to be trained.
        """
        part = unwrap(module)
        if self.of(part) is not None:
            return
        if any(part is known for known in root.modules()):
            self.add(root)
            return
        may_be = trained and part.training and self._num_adopted < MOST_ADOPTED
        if may_be and any(parameter.requires_grad for parameter in part.parameters()):
            self._num_adopted += 1
            self.add(part, plain=False)
            self.set_trained(part)

    def is_plain(self, root: torch.nn.Module) -> bool:
        """Return whether this is the model whose names are its own paths."""
        plain = (reference() for reference, _, prefix in self._roots if not prefix)
        return next(plain, None) is unwrap(root)

    def add(self, root: torch.nn.Module, *, plain: bool = True) -> None:
        """Name everything in a model, anew if it is known already.

        Args:
            root: The model, wrapped or not.
            plain: Whether its names may be its own paths; those of a teacher that runs before
                the model that is trained should not.
        """
        model = unwrap(root)
        if not any(model is known for known in self.roots):
            self._roots.append((weakref.ref(model), *self._new_name(model, plain=plain)))
        self.refresh()
        self.version += 1

    def refresh(self) -> None:
        """Name everything anew: parts and parameters may have been replaced."""
        self._modules.clear()
        self.parameters.clear()
        for reference, name, prefix in self._roots:
            known = reference()
            if known is not None:
                self._name(known, name, prefix)

    def add_owners(self, parameters: Iterable[torch.Tensor]) -> None:
        """Name the models that hold these parameters, though they were not seen to run.

        Inside a compiled function no hook sees a module. Those that seemed to run to be asked are
        trained after all.
        """
        held = {id(parameter) for parameter in parameters}
        for root in self.roots:
            if any(id(parameter) in held for parameter in root.parameters()):
                self.set_trained(root)
        missing = held - self.parameters.keys()
        if not missing:
            return
        # type(), not isinstance(): proxies may run code of their own when asked.
        modules = [m for m in gc.get_objects() if issubclass(type(m), torch.nn.Module)]
        owners = [
            module
            for module in modules
            if "_parameters" in module.__dict__
            and any(id(parameter) in missing for parameter in module.parameters())
        ]
        inner = {id(part) for owner in owners for part in owner.modules() if part is not owner}
        for owner in owners:
            if id(owner) not in inner:
                self.add(owner)
                self.set_trained(owner)

    def set_trained(self, root: torch.nn.Module) -> None:
        """Note that a model runs to be trained: what it holds is meant to learn."""
        if unwrap(root) not in self._trained:
            self._trained.add(unwrap(root))
            self.version += 1

    def is_trained(self, root: torch.nn.Module) -> bool:
        """Return whether a model runs to be trained."""
        return unwrap(root) in self._trained

    @property
    def trained(self) -> list[torch.nn.Module]:
        """The models that run to be trained, not only to be asked, as a teacher is."""
        return [root for root in self.roots if root in self._trained]

    def trained_with_prefix(self) -> list[tuple[torch.nn.Module, str]]:
        """Return the models that run to be trained, and how the names of their parts begin."""
        return [
            (model, prefix)
            for root, _, prefix in self._roots
            if (model := root()) is not None and model in self._trained
        ]

    def _name(self, model: torch.nn.Module, name: str, prefix: str) -> None:
        for path, module in model.named_modules():
            if type(module).__name__ not in _WRAPPERS:  # what is inside has its name
                inner = prefix + uncompiled(path)
                self._modules.setdefault(id(module), (weakref.ref(module), inner if path else name))
        for path, parameter in self._own.of(model):
            self.parameters.setdefault(id(parameter), prefix + uncompiled(path))

    def named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Yield every parameter of the trained models once, in the order of the models."""
        seen: set[int] = set()
        for root in self.trained:
            for _, parameter in self._own.of(root):
                name = self.parameters.get(id(parameter))
                if name is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield name, parameter

    def callable_modules(self) -> dict[str, torch.nn.Module]:
        """Return all modules that can have an output, no mere containers, by name."""
        return {
            name: module
            for root in self.trained
            for module in root.modules()
            if (name := self.of(module)) is not None and not isinstance(module, _CONTAINERS)
        }

    def _new_name(self, model: torch.nn.Module, *, plain: bool) -> tuple[str, str]:
        """Return what a new model is called, and what the names of its parts begin with."""
        taken = {name for _, name, _ in self._roots}
        kind = class_of(model).__name__
        numbered = (f"{kind}_{number}" for number in range(2, len(taken) + 3))
        name = next(one for one in (kind, *numbered) if one not in taken)
        # A part of a known model, called alone, has its names already.
        is_part = self.of(model) is not None
        is_first = plain and all(prefix for *_, prefix in self._roots)
        return name, "" if is_first or is_part else f"{name}."
