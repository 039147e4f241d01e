"""The models of a script, the names of their parts, and the optimizers that hold parameters.

All of them are found as the script uses them: nobody hands them to us.
"""

from __future__ import annotations

import gc
import os
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, ref

import numpy as np
import torch

from ...model.record import TensorInfo
from ...numerics.statistics import NAN, NEGINF, NUM_FIELDS
from ..observations import LossNames
from .internals import may_have_optimizers
from .tensors import (
    OwnParameters,
    TrackedParameter,
    class_of,
    dtype_name,
    local_shard,
    read_tensors,
)

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


def is_of_keras(kind: type) -> bool:
    """Return whether a class of modules is one of layers of Keras."""
    return hasattr(kind, "_track_variables")


def parameters_of(module: torch.nn.Module) -> Iterator[torch.nn.Parameter]:
    """Yield the parameters of a module; of a layer of Keras that has no list of them yet, none.

    Such a layer makes its list once it is asked. While Keras asks it for shapes there would be
    stand-ins in it, and these would stay there.
    """
    is_asked = not is_of_keras(type(module)) or hasattr(module, "_torch_params")
    return module.parameters() if is_asked else iter(())


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
        self._ever_named: set[int] = set()
        self.version = self._num_adopted = 0

    @property
    def roots(self) -> list[torch.nn.Module]:
        """The models, unwrapped, in the order in which they first ran."""
        return [module for root, *_ in self._roots if (module := root()) is not None]

    def of(self, module: torch.nn.Module) -> str | None:
        number = id(module)
        if number not in self._modules:
            return None
        reference, name = self._modules[number]
        return name if reference() is module else None

    def adopt(self, module: torch.nn.Module, root: torch.nn.Module, *, trained: bool) -> None:
        """A module runs inside of a model and has no name: give it one if it should have.

        It was put into the model after that was named; or it is no part of it, as layers in a plain
        list are: the model does not know them, so nobody hands them to an optimizer.

        Args:
            module: What runs.
            trained: Whether it runs to be trained.
        """
        part = unwrap(module)
        if self.of(part) is not None:
            return
        if any(part is known for known in root.modules()):
            self.add(root)
            return
        may_be = trained and part.training and self._num_adopted < MOST_ADOPTED
        if may_be and any(parameter.requires_grad for parameter in parameters_of(part)):
            self._num_adopted += 1
            self.add(part, plain=False)
            self.set_trained(part)

    def is_plain(self, root: torch.nn.Module) -> bool:
        """Return whether this is the model whose names are its own paths."""
        for reference, _, prefix in self._roots:
            if not prefix:
                return reference() is unwrap(root)
        return False

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
        self._ever_named.update(self.parameters)

    def was_replaced(self, parameter: torch.Tensor) -> bool:
        """Return whether a parameter that is still held was part of a model, which has another."""
        return id(parameter) in self._ever_named and id(parameter) not in self.parameters

    def add_owners(self, parameters: Iterable[torch.Tensor]) -> None:
        """Name the models that hold these parameters, though they were not seen to run.

        Inside a compiled function no hook sees a module. Those that seemed to run to be asked are
        trained after all.
        """
        # Modules hold nothing else as a parameter: plain tensors of a script are in none.
        held = {id(one) for one in parameters if isinstance(one, torch.nn.Parameter)}
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
        yielded: set[int] = set()
        for root in self.trained:
            for _, parameter in self._own.of(root):
                name = self.parameters.get(id(parameter))
                if name is not None and id(parameter) not in yielded:
                    yielded.add(id(parameter))
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


def model_state(names: Names) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the parameters and buffers of the models that are trained, as ``model/<name>``."""
    for model, prefix in names.trained_with_prefix():
        for path, value in chain(model.named_parameters(), model.named_buffers()):
            yield f"model/{prefix}{uncompiled(path)}", value


TORCH = os.path.join(os.path.dirname(torch.__file__), "")  # with the slash: not torchvision


class TorchLossNames(LossNames):
    """Names the losses of torch."""

    def __init__(self) -> None:
        super().__init__(TORCH)


class Optimizers:
    """Every optimizer that lives: in the order in which they first stepped, then all others.

    Where a script steps several it is always in this order, so it is the same whenever the script
    is run. In which order they are found is up to the garbage collector.

    Those that are made meanwhile are noted. All objects are scanned once where some may have been
    made before. What is found so may never step: it is left over, from an earlier cell of a
    notebook.

    Args:
        is_ours: Which optimizers count.
    """

    def __init__(self, is_ours: Callable[[torch.optim.Optimizer], bool] = lambda _: True) -> None:
        self._is_ours = is_ours
        self._known: list[ref[torch.optim.Optimizer]] = []
        self._stepped: WeakSet[torch.optim.Optimizer] = WeakSet()
        # How often gradients had been computed when each stepped last.
        self._backwards: WeakKeyDictionary[torch.optim.Optimizer, int] = WeakKeyDictionary()
        #: Those that stepped after another one did, without gradients of their own.
        self.together: WeakSet[torch.optim.Optimizer] = WeakSet()
        self._made: list[ref[torch.optim.Optimizer]] = []
        self._may_miss = True  # some may have been made unseen
        #: Grows whenever another one is found or steps for the first time.
        self.version = 0

    def __iter__(self) -> Iterator[torch.optim.Optimizer]:
        return (optimizer for known in self._known if (optimizer := known()) is not None)

    def has_stepped(self, optimizer: torch.optim.Optimizer) -> bool:
        """Return whether an optimizer has stepped, or is about to."""
        return optimizer in self._stepped

    @property
    def stepped(self) -> list[torch.optim.Optimizer]:
        """Those that stepped or are about to, at least once."""
        return [optimizer for optimizer in self if optimizer in self._stepped]

    def steps(self, optimizer: torch.optim.Optimizer) -> None:
        """This one is about to step: know it from here on, and whatever others there are."""
        if optimizer not in self._stepped:
            self.scan()
            others = [known for known in self if known is not optimizer]
            others.insert(len(self.stepped), optimizer)
            self._known = list(map(ref, others))
            self._stepped.add(optimizer)
            self.version += 1

    def ends_step(self, optimizer: torch.optim.Optimizer, num_backwards: int) -> None:
        """This one has stepped, perhaps with gradients that its closure computed.

        Args:
            num_backwards: How often gradients were computed so far.
        """
        self._backwards[optimizer] = num_backwards
        same = {one for one, count in self._backwards.items() if count == num_backwards}
        if len(same) > 1 and not self.together >= same:
            self.together |= same
            self.version += 1

    def made(self, optimizer: torch.optim.Optimizer) -> None:
        """Note that an optimizer was made."""
        self._made.append(ref(optimizer))

    def may_miss(self) -> None:
        """Note that up to here optimizers may have been made unseen."""
        self._may_miss = may_have_optimizers()

    def scan(self) -> None:
        """Find optimizers that were made since."""
        if not (self._made or self._may_miss):
            return
        found = [one for made in self._made if (one := made()) is not None]
        if self._may_miss:
            # type(), not isinstance(): proxies may run code of their own when asked.
            everything = gc.get_objects()  # which takes 100 ms
            found += [one for one in everything if issubclass(type(one), torch.optim.Optimizer)]
        self._made, self._may_miss = [], False
        self._known = [known for known in self._known if known() is not None]
        known = {id(optimizer) for optimizer in self}
        for one in found:
            is_new = id(one) not in known and hasattr(one, "param_groups")
            if is_new and self._is_ours(one):
                known.add(id(one))
                self._known.append(ref(one))
                self.version += 1

    def may_hold(self, model: torch.nn.Module) -> bool:
        """Return whether a model is one to be trained: an optimizer holds of it, or none lives."""
        self.scan()
        held = {id(p) for each in self for group in each.param_groups for p in group["params"]}
        return not held or any(id(parameter) in held for parameter in model.parameters())

    def numbered_groups(
        self, optimizer: torch.optim.Optimizer
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the groups of an optimizer, counted over all optimizers that step."""
        first = 0
        for other in self:
            if other is optimizer:
                break
            first += len(other.param_groups) if other in self._stepped else 0
        return enumerate(optimizer.param_groups, first)


class Parameters:
    """Which parameters there are and who holds them, worked out again when that changes."""

    def __init__(self, names: Names, optimizers: Optimizers) -> None:
        self._names = names
        self._optimizers = optimizers
        self._structure: object = None
        self._of: WeakKeyDictionary[torch.optim.Optimizer, list[TrackedParameter]] = (
            WeakKeyDictionary()
        )
        self._free: list[TrackedParameter] = []
        self._by_hand = False

    def of(self, optimizer: torch.optim.Optimizer) -> list[TrackedParameter]:
        self._update()
        return _current(self._of.get(optimizer, []))

    def free(self) -> list[TrackedParameter]:
        self._update()
        # What no optimizer holds may be made anew at each step, as an average is.
        known = {id(one.parameter) for one in self._free}
        if known and known.difference(id(one) for _, one in self._names.named_parameters()):
            self._rebuild()
        return _current(self._free)

    @property
    def are_all_held(self) -> bool:
        """Whether there was none, when last looked at, that no optimizer holds."""
        return not self._free

    def are_thawed(self) -> bool:
        """Return whether one that no optimizer holds was frozen when last looked at, and is not."""
        return bool(self._free) and any(
            one.parameter.requires_grad and not one.weight.trainable for one in self._free
        )

    def are_updated_by_hand(self) -> bool:
        """Return whether no optimizer holds any parameter of the trained models."""
        self._update()
        if self._by_hand:
            self._optimizers.scan()
            self._update()
        return self._by_hand

    def _update(self) -> None:
        if self._now() != self._structure:
            self._rebuild()
            self._structure = self._now()

    def _now(self) -> object:
        found: list[object] = [self._names.version, self._optimizers.version]
        for optimizer in self._optimizers:
            found += [None]
            for group in optimizer.param_groups:
                found += id(group["params"]), len(group["params"])
        return found

    def _rebuild(self) -> None:
        num_groups = Counter(map(id, _parameters(self._optimizers.together)))
        for optimizer in self._optimizers:
            num_groups |= Counter(map(id, _parameters([optimizer])))
        self._names.refresh()
        self._names.add_owners(_parameters(self._optimizers.stepped))
        self._of = WeakKeyDictionary()
        for number, optimizer in enumerate(self._optimizers):
            self._of[optimizer] = [
                _track(
                    self._names.parameters.setdefault(
                        id(parameter), f"optimizer/{number}/{group_index}/{index}"
                    ),
                    parameter,
                    num_groups[id(parameter)],
                )
                for group_index, group in enumerate(optimizer.param_groups)
                for index, parameter in enumerate(group["params"])
                if not self._names.was_replaced(parameter)
            ]
        named = list(self._names.named_parameters())
        self._free = [
            _track(name, parameter, 0)
            for name, parameter in named
            if id(parameter) not in num_groups
        ]
        self._by_hand = 0 < len(self._free) == len(named)


def _parameters(optimizers: Iterable[torch.optim.Optimizer]) -> list[torch.Tensor]:
    """Return what these hold, once for each group that holds it."""
    # By identity: an optimizer inside of another shares its groups.
    groups = {id(group): group for each in optimizers for group in each.param_groups}
    return [parameter for group in groups.values() for parameter in group["params"]]


def _track(name: str, parameter: torch.Tensor, groups: int) -> TrackedParameter:
    # A lazy parameter has no shape before its first forward.
    lazy = isinstance(parameter, torch.nn.UninitializedParameter)
    shape, dtype = () if lazy else tuple(parameter.shape), dtype_name(parameter.dtype)
    weight = TensorInfo(name, "weights", dtype, shape, parameter.requires_grad, groups)
    return TrackedParameter(
        parameter, weight, TensorInfo(f"gradient/{name}", "gradients", dtype, shape, None, None)
    )


def _current(tracked: list[TrackedParameter]) -> list[TrackedParameter]:
    """Return the same, with what may change of a parameter in place as it is now."""
    for index, one in enumerate(tracked):
        weight, parameter = one.weight, one.parameter
        if type(parameter) is not torch.nn.Parameter and isinstance(
            parameter, torch.nn.UninitializedParameter
        ):
            continue
        if parameter.requires_grad is not weight.trainable or parameter.shape != weight.shape:
            tracked[index] = _track(weight.name, parameter, weight.optimizer_groups or 0)
    return tracked


#: Larger tensors take longer to sum up than a small step may; the next bias has fewer.
_MOST_ELEMENTS = 4096


class FirstGradients:
    """The gradient of the first parameter that each optimizer holds and that is not large.

    A backward pass ends at the beginning of a model: where a gradient is not finite, those of what
    comes before it in the model are not either, so the first one speaks for all.
    """

    def __init__(self) -> None:
        # In which group, and where there. Not the parameter: whoever swaps tensors may find no
        # weak reference to it.
        self._first: WeakKeyDictionary[torch.optim.Optimizer, tuple[int, int] | None] = (
            WeakKeyDictionary()
        )
        self._row = np.empty((1, NUM_FIELDS))
        self._counts = self._row[0, NAN : NEGINF + 1]
        self._rows = self._row.__array_struct__
        # The optimizer that was asked for last, and the place in it.
        self._last: tuple[ref[torch.optim.Optimizer], tuple[int, int] | None] | None = None

    def is_finite(self, optimizer: torch.optim.Optimizer) -> bool:
        """Return whether it is finite; true where it is not known without waiting."""
        place = self.place(optimizer)
        if place is None:
            return True
        try:
            gradient = optimizer.param_groups[place[0]]["params"][place[1]].grad
        except IndexError:  # the script took parameters away
            return True
        if type(gradient) is not torch.Tensor or not gradient.is_cpu or gradient.is_sparse:
            return True
        if read_tensors((gradient,), self._rows, 0):
            return not any(self._counts.tolist())
        return bool(gradient.isfinite().all())

    def place(self, optimizer: torch.optim.Optimizer) -> tuple[int, int] | None:
        """Return in which group the parameter is, and where there; ``None`` if all are large."""
        if self._last is None or self._last[0]() is not optimizer:
            if optimizer not in self._first:
                self._first[optimizer] = self._find(optimizer)
            self._last = ref(optimizer), self._first[optimizer]
        return self._last[1]

    @staticmethod
    def _find(optimizer: torch.optim.Optimizer) -> tuple[int, int] | None:
        small = (
            (number, index)
            for number, group in enumerate(optimizer.param_groups)
            for index, one in enumerate(group["params"])
            if one.requires_grad and one.numel() <= _MOST_ELEMENTS and not one.is_complex()
        )
        return next(small, None)


GradientMark = tuple[int, int]


# To see that a script updated a parameter, so many of its elements are looked at.
_COPIED = 8


class AccumulatedGradients:
    """The gradients that nobody zeroed since their parameters were updated.

    A gradient's address and version say whether it is the one that it was; both cost no reading of
    its values.

    Args:
        tracked: The parameters of an optimizer that has just stepped.
    """

    def __init__(self, tracked: list[TrackedParameter]) -> None:
        self._tracked = tracked
        self._kept = self._marks_now(range(len(tracked)))
        self._backwards = 0

    def before_backward(self) -> None:
        """Gradients are about to be added to: those that were zeroed or replaced are let go."""
        now = self._marks_now(self._kept)
        self._kept = {index: mark for index, mark in now.items() if mark == self._kept[index]}
        # Zeroing through .data leaves no mark; one gradient that is not zero speaks for all.
        if self._backwards == 0 and not any(map(self._is_not_zero, self._kept)):
            self._kept = {}

    def after_backward(self) -> None:
        """Gradients were added to: those that are still kept have a new mark."""
        self._backwards += 1
        self._kept = self._marks_now(self._kept)

    def count(self) -> int:
        """Return how many gradients hold what was there before the optimizer's last step."""
        return len(self._kept) if self._backwards else 0

    def _marks_now(self, indexes: Iterable[int]) -> dict[int, GradientMark]:
        marks = ((index, gradient_mark(self._tracked[index].parameter)) for index in indexes)
        return {index: mark for index, mark in marks if mark is not None}

    def _is_not_zero(self, index: int) -> bool:
        return has_gradient(self._tracked[index].parameter)


class GradientsByHand:
    """The gradients by which a script updates parameters itself, though nobody zeroed them before.

    Of such parameters nobody says which are updated together: of two networks each has its turn,
    and what the backward pass of one leaves in the other is zeroed before the turn of that. So a
    gradient is followed from the update of its own parameter to the next one.
    """

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}  # by the id of the parameter
        self._turns: list[set[int]] = [set(), set()]  # what the last updates were of
        #: Whether there was a backward pass before the last.
        self.is_known = False
        #: Whether two parts of the parameters are updated in turn, as of a game.
        self.takes_turns = False

    def before_backward(self) -> None:
        """Gradients are about to be added to: find those that hold what was used already."""
        self.is_known = bool(self._held)
        updated = {key for key, held in self._held.items() if held.is_updated()}
        if updated:
            before, last = self._turns
            self.takes_turns = bool(last and before & updated) and not last & (before | updated)
            self._turns = [last, updated]
        for key, held in self._held.items():
            stays = held.mark is not None and held.mark == gradient_mark(held.parameter)
            is_used = stays and (held.is_stale or key in updated)
            # zeroing through .data leaves no mark
            held.is_stale = is_used and has_gradient(held.parameter)

    def after_backward(self, tracked: list[TrackedParameter]) -> None:
        """Gradients were added to.

        Args:
            tracked: The parameters that a script is about to update.
        """
        stale = {key for key, held in self._held.items() if held.is_stale}
        self._held = {
            id(one.parameter): _Held(one.parameter, is_stale=id(one.parameter) in stale)
            for one in tracked
        }

    def count(self) -> int:
        """Return how many parameters were updated by what was used already, since ``backward``."""
        return sum(held.is_stale and held.is_updated() for held in self._held.values())


class _Held:
    """A parameter and its gradient, as a backward pass left them."""

    def __init__(self, parameter: torch.Tensor, *, is_stale: bool) -> None:
        #: Whether the gradient holds what the parameter was updated by before.
        self.is_stale = is_stale
        self.parameter, self.mark = parameter, gradient_mark(parameter)
        self._version, self._elements = parameter._version, _some(parameter).clone()

    def is_updated(self) -> bool:
        """Return whether the parameter has changed since; through ``.data`` leaves no version."""
        changed = self._version != self.parameter._version
        return changed or not torch.equal(self._elements, _some(self.parameter))


def _some(parameter: torch.Tensor) -> torch.Tensor:
    """Return some elements of a parameter."""
    return local_shard(parameter).tensor.detach().reshape(-1)[:_COPIED]


def gradient_mark(parameter: torch.Tensor) -> GradientMark | None:
    gradient = parameter.grad
    if gradient is None:
        return None
    # A tensor that is spread over processes has its values in another.
    local = gradient if type(gradient) is torch.Tensor else local_shard(gradient).tensor
    if type(local) is torch.Tensor and local.layout is torch.strided:
        return local.data_ptr(), local._version
    return None


def has_gradient(parameter: torch.Tensor) -> bool:
    """Return whether a gradient is there and not zero."""
    gradient = parameter.grad
    return gradient is not None and bool(local_shard(gradient).tensor.any())
