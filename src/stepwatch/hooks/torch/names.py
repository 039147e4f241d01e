"""The names of modules and parameters, found as the script uses its models."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import torch

_CONTAINERS = (torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.ParameterList)
_WRAPPERS = ("DistributedDataParallel", "DataParallel", "OptimizedModule")


def unwrap(module: torch.nn.Module) -> torch.nn.Module:
    """Return the model inside of DDP, DataParallel and compile wrappers."""
    while type(module).__name__ in _WRAPPERS:
        inner = getattr(module, "module", None) or getattr(module, "_orig_mod", None)
        if not isinstance(inner, torch.nn.Module):
            break
        module = inner
    return module


class Names:
    """Names of the modules and parameters of every model that ran.

    The first model's names are its own paths; those of a further model begin with its class,
    ``Discriminator.conv1.weight``.
    """

    def __init__(self) -> None:
        # By identity: parameters define equality elementwise.
        self.modules: dict[int, str] = {}
        self.parameters: dict[int, str] = {}
        self._roots: list[tuple[weakref.ref[torch.nn.Module], str]] = []
        self.version = 0

    @property
    def roots(self) -> list[torch.nn.Module]:
        """The models, unwrapped, in the order in which they first ran."""
        return [module for root, _ in self._roots if (module := root()) is not None]

    def add(self, root: torch.nn.Module) -> None:
        """Name everything in a model, anew if it is known already."""
        model = unwrap(root)
        if not any(model is known for known in self.roots):
            self._roots.append((weakref.ref(model), self._new_prefix(model)))
        self.modules.clear()
        self.parameters.clear()
        for reference, prefix in self._roots:
            known = reference()
            if known is not None:
                self._name(known, prefix)
        self.version += 1

    def _name(self, model: torch.nn.Module, prefix: str) -> None:
        for path, module in model.named_modules():
            name = prefix + path.replace("_orig_mod.", "") if path else type(model).__name__
            self.modules.setdefault(id(module), name)
        for path, parameter in model.named_parameters():
            self.parameters.setdefault(id(parameter), prefix + path.replace("_orig_mod.", ""))

    def named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Yield every parameter of every model once, in the order of the models."""
        seen: set[int] = set()
        for root in self.roots:
            for parameter in root.parameters():
                name = self.parameters.get(id(parameter))
                if name is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield name, parameter

    def callable_modules(self) -> list[tuple[str, torch.nn.Module]]:
        """Return name and module of all that can have an output: no mere containers."""
        found: dict[int, tuple[str, torch.nn.Module]] = {}
        for root in self.roots:
            for module in root.modules():
                if id(module) in self.modules and not isinstance(module, _CONTAINERS):
                    found.setdefault(id(module), (self.modules[id(module)], module))
        return list(found.values())

    def _new_prefix(self, model: torch.nn.Module) -> str:
        if id(model) in self.modules or not self._roots:
            return ""  # a part of a known model, called alone; or the first model
        taken = {prefix for _, prefix in self._roots}
        plain = type(model).__name__
        numbered = (f"{plain}_{number}." for number in range(2, len(taken) + 3))
        return next(name for name in (f"{plain}.", *numbered) if name not in taken)
