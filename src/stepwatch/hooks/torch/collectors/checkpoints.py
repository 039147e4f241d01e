"""Which weights a training saves, and what becomes of those that it loads until it trains on.

Of weights that are saved, digests are stored with the run; see ``formats.saved_weights``. What is
loaded is observed in two parts: when it is loaded, and in the first TRAIN step after that, in
which it turns out what is trained. Both together are one JSON document, a tensor of that step.

Weights are recognized as those of a file by the tensors that ``torch.load`` returned, until the
next TRAIN step is over. Of tensors the identity is remembered, and no weak reference: torch swaps
none to which there is one.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, ref

import numpy as np
import torch
from torch.nn.parameter import is_lazy
from torch.optim.lr_scheduler import LRScheduler

from ....capture.open_step import OpenStep
from ....capture.recorder import Recorder
from ....errors import StepwatchError
from ....formats.saved_weights import (
    FIRST_BATCHES,
    SavedWeights,
    batch_digest,
    content_of,
    saved_nearby,
)
from ....numerics.digest import digest
from ....runtime.background import Background
from ...data_helpers import FOLDS
from ..device import device_digest
from ..internals import is_mid_epoch, isolated_compute
from ..models import Names, Optimizers, uncompiled, unwrap
from ..observe import Observer, on_host
from ..tensors import dtype_name, evenly_spaced, plain, readable, to_numpy

COLLECTION, NAME = "checkpoints", "checkpoint/loaded"
#: Before the class of a module that was given its own parameters, the same ones again and again, or
#: others that are of no file.
LIVE, AGAIN, GIVEN = "checkpoint/live/", "checkpoint/again/", "checkpoint/given/"
#: How often that is; of so many loads, by so many weights.
MOST_AGAIN, _MOST_GIVEN, _FEW_COMPARED = 4, 16, 8
#: Of more bytes no digests are taken: that would take longer than a training should wait.
MOST_BYTES = 64 << 30
#: Of so many tensors, and so many elements of each, it is compared whether they are still there.
MOST_COMPARED, _COMPARED_ELEMENTS = 64, 4096
# Files and loads that are remembered until the training goes on.
_MOST_PENDING = 32
_MOST_EXAMPLES = 3
_DEPTH = 4
_STORE_TIMEOUT_S = 10.0


def weights_in(what: object, path: str = "") -> Iterator[tuple[str, Mapping[str, torch.Tensor]]]:
    """Yield the state dicts of modules in what was saved or loaded, with where they lie.

    A state dict is a mapping of names to tensors alone, one of them with an axis. The state of an
    optimizer is none.
    """
    if isinstance(what, torch.nn.Module):
        return
    if isinstance(what, Mapping):
        if _is_optimizer_state(what):
            return
        tensors = _as_weights(what)
        if tensors:
            yield path, tensors
            return
    if path.count("/") < _DEPTH:
        for key, inner in _inside(what):
            yield from weights_in(inner, f"{path}/{key}" if path else str(key))


def _inside(what: object) -> Iterable[tuple[object, object]]:
    if isinstance(what, Mapping):
        return list(what.items())
    return enumerate(what) if isinstance(what, (list, tuple)) and len(what) < 100 else ()


def _as_weights(what: Mapping[Any, Any]) -> dict[str, torch.Tensor]:
    named = {
        str(name): value
        for name, value in what.items()
        if not str(name).endswith(("_extra_state", "_metadata"))
    }
    values = named.values()
    if not named or not all(isinstance(value, torch.Tensor) for value in values):
        return {}
    has_axis = any(value.dim() and value.is_floating_point() for value in values)
    return named if has_axis and all(isinstance(name, str) for name in what) else {}


def _is_optimizer_state(what: Mapping[Any, Any]) -> bool:
    return "param_groups" in what and isinstance(what.get("state"), Mapping)


def _optimizer_states(what: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    if isinstance(what, Mapping) and _is_optimizer_state(what):
        yield what
    elif depth < _DEPTH and not isinstance(what, torch.nn.Module):
        for _, inner in _inside(what):
            if not isinstance(inner, torch.Tensor):
                yield from _optimizer_states(inner, depth + 1)


def _scheduler_states(what: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    if isinstance(what, Mapping) and "last_epoch" in what and "_last_lr" in what:
        yield what
    elif depth < _DEPTH and not isinstance(what, torch.nn.Module):
        if isinstance(what, Mapping) and _is_optimizer_state(what):
            return
        for _, inner in _inside(what):
            if not isinstance(inner, torch.Tensor):
                yield from _scheduler_states(inner, depth + 1)


def rates_of(groups: Iterable[Mapping[str, Any]], key: str = "lr") -> list[float]:
    """Return the learning rate of each parameter group that has one."""
    return [float(group[key]) for group in groups if isinstance(group.get(key), (int, float))]


def digests_of(tensors: Mapping[str, torch.Tensor]) -> dict[str, int] | None:
    """Return the digest of each tensor; ``None`` if one cannot be read, or they are too large."""
    values = {name: plain(value.detach()) for name, value in tensors.items()}
    if sum(value.numel() * value.element_size() for value in values.values()) > MOST_BYTES:
        return None
    found: dict[str, int] = {}
    waiting: list[tuple[str, torch.Tensor]] = []
    for name, value in values.items():
        if not value.numel():
            found[name] = 0
        elif readable(value) is None:
            return None
        elif on_host(value):
            found[name] = digest(to_numpy(value))
        else:
            with isolated_compute(value.device.type):
                waiting.append((name, device_digest(value)))
    for device in dict.fromkeys(value.device for _, value in waiting):
        here = [one for one in waiting if one[1].device == device]
        numbers = torch.stack([value for _, value in here]).tolist()
        found |= {name: number % 2**64 for (name, _), number in zip(here, numbers, strict=True)}
    return found


@dataclass
class _File:
    """What was read of a file, without what it holds.

    Args:
        name: Its path, ``""`` if that is not known.
        parts: How many state dicts of modules it holds.
        rates: The learning rates of the optimizers in it that have a state.
        initial_rates: What their schedules started from.
        num_optimizers: How many there are of these.
        has_optimizer: Whether there is an optimizer, with or without a state.
        schedules: Of each schedule in it how often it had stepped, and its last learning rates.
    """

    name: str
    parts: int
    rates: list[float] = field(default_factory=list)
    initial_rates: list[float] = field(default_factory=list)
    num_optimizers: int = 0
    has_optimizer: bool = False
    schedules: list[tuple[int, list[float]]] = field(default_factory=list)


@dataclass
class _Load:
    """Weights that were loaded into a module.

    Args:
        module: The module; it may be gone.
        file: What is known of the file; ``None`` where transformers has read it.
        facts: What is known since it was loaded.
        shapes: The shape of each of its parameters, by name.
        tied: Names of parameters that were one before.
        replaced: The identities of parameters that are no longer in the module.
        samples: Elements of weights as they were loaded, by name.
        new: Names of matrices that were not in the file.
        has_run: Whether it has run since.
    """

    module: ref[torch.nn.Module]
    file: _File | None
    facts: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]
    tied: list[tuple[str, ...]]
    replaced: set[int]
    samples: dict[str, torch.Tensor]
    new: list[str]
    has_run: bool = False
    num_other: int = 0
    num_compared: int = 0


@dataclass
class _Given:
    """The weights that a module was given while it is trained.

    Args:
        trained_by: The optimizers that hold its parameters.
        content: Digests of some of them.
        num_same: How often these came in a row.
        num_loads: How often any came.
        at_step: After how many TRAIN steps the last ones did.
    """

    trained_by: list[ref[torch.optim.Optimizer]]
    content: list[int | None] = field(default_factory=list)
    num_same: int = 0
    num_loads: int = 0
    at_step: int = -1


class Checkpoints:
    """Observes saving and loading; a subscriber of ``checkpoint_calls`` and of steps.

    Args:
        num_steps: Returns how many TRAIN steps were taken.
        observe_in_full: Asks for the next TRAIN steps to be observed in full.
    """

    def __init__(
        self,
        recorder: Recorder,
        names: Names,
        observer: Observer,
        optimizers: Optimizers,
        num_steps: Callable[[], int],
        observe_in_full: Callable[[], object],
    ) -> None:
        self._recorder, self._names, self._observer = recorder, names, observer
        self._optimizers, self._num_steps = optimizers, num_steps
        self._observe_in_full = observe_in_full
        #: In which fold of a cross-validation weights were given to a model last, -1 for never.
        self.last_turn = -1
        self._last_loader: Callable[[], Any] | None = None
        self._background: Background[SavedWeights] | None = None
        self._saved: set[int] = set()
        self._first_batches: list[int] = []
        self._open: OpenStep | None = None
        self._before: _Before | None = None
        self._files: list[_File] = []
        self._of_files: dict[int, tuple[int, _File]] = {}
        self._loads: list[_Load] = []
        # What the next step is given, by name; and of each module that is trained, what it was
        # given.
        self._told: dict[str, float] = {}
        self._given: WeakKeyDictionary[torch.nn.Module, _Given] = WeakKeyDictionary()
        # Since the last document: optimizers and schedulers that were loaded, or made.
        self._rates_loaded: dict[int, list[float]] = {}
        self._loaded: WeakSet[torch.optim.Optimizer] = WeakSet()
        self._schedulers: WeakSet[LRScheduler] = WeakSet()
        self._schedulers_loaded: WeakSet[LRScheduler] = WeakSet()
        self._made_since = self._stepped_since = 0
        self._stepping: list[tuple[ref[torch.optim.Optimizer], dict[str, Any]]] = []

    # Saving

    def saved(self, what: object, where: object) -> None:
        """Something was saved."""
        if self._recorder.manifest.run_format != "native":
            return
        shapes = {tuple(one.shape) for root in self._names.roots for one in root.parameters()}
        for part, tensors in weights_in(what):
            if not _are_like(tensors, shapes):  # data, or made before anything was trained
                continue
            digests = digests_of(tensors)
            if digests is None:
                continue
            content = content_of(digests.values())
            if content not in self._saved:
                self._saved.add(content)
                self._store(content, part, tensors, digests, _path(where))

    def _store(
        self,
        content: int,
        part: str,
        tensors: Mapping[str, torch.Tensor],
        digests: Mapping[str, int],
        file: str,
    ) -> None:
        known = {
            name: (digests[name], dtype_name(value.dtype), tuple(value.shape))
            for name, value in tensors.items()
        }
        self._note_batches()
        note = SavedWeights(
            content,
            known,
            self._num_steps(),
            time.time_ns(),
            self._recorder.worker,
            file,
            part,
            tuple(self._rates()),
            self._recorder.manifest.command,
            tuple(self._first_batches),
            self._last_loader and is_mid_epoch(self._last_loader()),
        )
        if self._background is None:
            self._background = Background(self._put, name="stepwatch-saved")
            self._recorder.before_close(self._close)
        self._background.submit(note, size_bytes=200 * len(known))

    def _put(self, note: SavedWeights) -> None:
        """Store a note, unless the same weights were noted before."""
        self._recorder.store.create(note.key, note.to_json())

    def _close(self) -> str:
        if self._background is not None:
            self._background.close(_STORE_TIMEOUT_S)
        return ""

    def _rates(self) -> list[float]:
        return [rate for one in self._optimizers for rate in rates_of(one.param_groups)]

    def drawn(self, iterator: Any) -> None:
        """A loader gave a batch, or has no more."""
        self._last_loader = ref(iterator)

    # Loading

    def read(self, what: object, where: object) -> None:
        """A file was read."""
        parts = dict(weights_in(what))
        file = _File(_path(where), len(parts))
        for state in _optimizer_states(what):
            file.has_optimizer = True
            if state["state"]:
                groups = [one for one in state["param_groups"] if isinstance(one, Mapping)]
                file.num_optimizers += 1
                file.rates += rates_of(groups)
                file.initial_rates += rates_of(groups, "initial_lr")
        for state in _scheduler_states(what):
            rates, count = state["_last_lr"], state["last_epoch"]
            if isinstance(rates, list) and isinstance(count, int):
                file.schedules.append((count, [float(one) for one in rates]))
        self._files = [*self._files, file][-_MOST_PENDING:]
        for tensors in parts.values():
            for tensor in tensors.values():
                if tensor.layout is torch.strided:
                    self._of_files[id(tensor)] = tensor.data_ptr(), file

    def _file_of(self, tensors: Iterable[torch.Tensor]) -> _File | None:
        """Return the file that these tensors were read from, ``None`` if they were not."""
        known = [
            one[1]
            for tensor in tensors
            if (one := self._of_files.get(id(tensor))) is not None
            and tensor.layout is torch.strided
            and tensor.data_ptr() == one[0]
        ]
        return known[0] if known and all(one is known[0] for one in known) else None

    def before_weights(self, module: torch.nn.Module) -> None:
        """Weights are about to be loaded into a module."""
        self._before = _Before.of(module)

    def after_weights(
        self,
        module: torch.nn.Module,
        state: object,
        missing: Sequence[str],
        unexpected: Sequence[str],
    ) -> None:
        """Weights were loaded into a module."""
        self.last_turn = FOLDS.num_turns
        before, self._before = self._before, None
        if before is None or before.module() is not module or not isinstance(state, Mapping):
            return
        given = _as_weights(state)
        file = self._file_of(given.values())
        trained_by = self._trained_by(module) if self._num_steps() else []
        if trained_by and before.are(given):
            self._tell(LIVE, module, self._num_steps())
        elif trained_by and (times := self._count_again(module, trained_by)) >= MOST_AGAIN:
            self._tell(AGAIN, module, times)
        elif given and file is None and self._names.is_trained(module):
            self._tell(GIVEN, module, self._num_steps())
        if file is None or not given:
            return
        own = _tensors_of(module)
        facts = _how_names_fit(own, given, missing, unexpected)
        facts["file"] = os.path.basename(file.name)
        digests = digests_of(given)
        facts["saved"] = self._who_saved(digests)
        self._add(module, facts, before, [name for name in given if name in own], file)

    def initialized(self, tensor: torch.Tensor) -> None:
        """A function gave a tensor first values: a model that was trained may begin anew."""
        if self._num_steps() and id(tensor) in self._names.parameters:
            self.last_turn = FOLDS.num_turns
            for root in self._names.roots:
                if self._names.is_trained(root) and any(one is tensor for one in root.parameters()):
                    self._tell(GIVEN, root, self._num_steps())

    def _trained_by(self, module: torch.nn.Module) -> list[ref[torch.optim.Optimizer]]:
        """Return the optimizers that hold a parameter of a module."""
        own = {id(one) for one in module.parameters()}
        return [
            ref(optimizer)
            for optimizer in self._optimizers
            if any(id(one) in own for group in optimizer.param_groups for one in group["params"])
        ]

    def _count_again(
        self, module: torch.nn.Module, trained_by: list[ref[torch.optim.Optimizer]]
    ) -> int:
        """Return how often a module was given the same weights while an optimizer went on.

        Of so many loads at most, each after TRAIN steps: who begins anew makes an optimizer anew.
        """
        known = self._given.setdefault(module, _Given(trained_by))
        if known.num_loads >= _MOST_GIVEN or known.at_step == self._num_steps():
            return 0
        known.num_loads += 1
        known.at_step = self._num_steps()
        now = _parameters_of(module)
        matrices = [name for name, one in now.items() if one.dim() > 1]
        samples = [_sample(now[name]) for name in _spread(matrices, _FEW_COMPARED)]
        content = [None if one is None else digest(one.numpy()) for one in samples]
        is_same = content == known.content and trained_by == known.trained_by and any(content)
        known.num_same = known.num_same + 1 if is_same else 1
        known.content, known.trained_by = content, trained_by
        return known.num_same

    def _tell(self, what: str, module: torch.nn.Module, value: float) -> None:
        """Store a number with the next step that is observed in full."""
        self._told[f"{what}{type(module).__name__}"] = float(value)
        self._observe_in_full()

    def pretrained(self, model: torch.nn.Module, info: Mapping[str, Any]) -> None:
        """A model of transformers was made of a file."""
        if not isinstance(model, torch.nn.Module) or not isinstance(info, Mapping):
            return
        own = _tensors_of(model)
        missing = [str(name) for name in info.get("missing_keys", ())]
        unexpected = [str(name) for name in info.get("unexpected_keys", ())]
        facts = _how_names_fit(own, {}, missing, unexpected)
        facts["file"] = str(getattr(model, "name_or_path", ""))
        facts["saved"] = None
        loaded = [name for name in own if name not in {*missing}]
        self._add(model, facts, _Before.of(model), loaded, new=missing)

    def _add(
        self,
        module: torch.nn.Module,
        facts: dict[str, Any],
        before: _Before,
        names: list[str],
        file: _File | None = None,
        new: Sequence[str] = (),
    ) -> None:
        now = _parameters_of(module)
        kept = {id(one) for one in now.values()}
        replaced = before.parameters - kept
        facts["class"] = type(module).__name__
        parts = {id(part) for part in module.modules()}
        # What is loaded again counts no more.
        self._loads = [one for one in self._loads if id(one.module()) not in parts]
        shapes = {name: tuple(value.shape) for name, value in now.items()}
        matrices = [name for name in names if name in now and now[name].dim() > 1]
        samples = {
            name: sample
            for name in _spread(matrices, MOST_COMPARED)
            if (sample := _sample(now[name])) is not None
        }
        known = {id(now[name]) for name in names if name in now}
        made = [
            one for one in new if one in now and now[one].dim() > 1 and id(now[one]) not in known
        ]
        load = _Load(ref(module), file, facts, shapes, before.tied, replaced, samples, made)
        self._loads = [*self._loads, load][-_MOST_PENDING:]
        self._observe_in_full()

    def _who_saved(self, digests: Mapping[str, int] | None) -> dict[str, Any] | None:
        """Return what is known of who saved weights with these digests."""
        if not digests:
            return None
        try:
            found = saved_nearby(self._recorder.store, content_of(digests.values()))
        except (StepwatchError, OSError):  # it is away, or damaged: then nothing is known
            return None
        if found is None:
            return None
        here = _script(self._recorder.manifest.command)
        return {
            "run": os.path.basename(found.run.rstrip("/")),
            "step": found.num_steps,
            "rates": found.rates,
            "same_script": bool(here) and here == _script(found.command),
            "same_run": found.run == self._recorder.store.url,
            "same_process": found.content in self._saved,
            "batches": [f"{one:016x}" for one in found.batches],
            "mid_epoch": found.is_mid_epoch,
        }

    def optimizer_loaded(self, optimizer: torch.optim.Optimizer, state: object) -> None:
        """The state of an optimizer was loaded."""
        if not isinstance(state, Mapping):
            return
        # Without a state it may be its own, as accelerate loads it to move it elsewhere.
        if not state.get("state") and not any(one.has_optimizer for one in self._files):
            return
        self._loaded.add(optimizer)
        groups = [one for one in state.get("param_groups", ()) if isinstance(one, Mapping)]
        self._rates_loaded[id(optimizer)] = rates_of(groups)
        self._made_since = self._stepped_since = 0
        self._observe_in_full()

    def scheduler_loaded(self, scheduler: LRScheduler, *_: object) -> None:
        self._schedulers_loaded.add(scheduler)

    def scheduled(self, scheduler: LRScheduler, is_new: bool) -> None:
        """A schedule was made, or stepped."""
        self._schedulers.add(scheduler)
        if is_new:
            self._made_since += 1
        else:
            self._stepped_since += 1

    # Steps

    @property
    def _is_waiting(self) -> bool:
        """Whether a document is due at the end of the next TRAIN step."""
        return bool(self._loads or self._rates_loaded)

    def begin(self, step: OpenStep, model: torch.nn.Module, *_: object) -> None:
        """A model begins to run."""
        if self._told and step.wants(COLLECTION):
            self._observer.numbers(step, self._told, COLLECTION)
            self._told = {}
        if not self._loads:
            return
        inside = {id(part) for part in unwrap(model).modules()}
        for load in self._loads:
            load.has_run |= id(load.module()) in inside

    def updates(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:  # noqa: ARG002
        """An optimizer is about to step."""
        if not self._is_waiting or any(one() is optimizer for one, _ in self._stepping):
            return
        facts = {
            "class": type(optimizer).__name__,
            "loaded": optimizer in self._loaded,
            "fresh": not optimizer.state,
            "rates": rates_of(optimizer.param_groups),
            "rates_loaded": self._rates_loaded.get(id(optimizer), []),
        }
        self._stepping.append((ref(optimizer), facts))
        for load in self._loads:
            module = load.module()
            if module is not None and not load.num_compared:
                load.num_compared, load.num_other = _compared(load, module)

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends."""
        self._of_files.clear()
        self._note_batches()
        if len(self._first_batches) < FIRST_BATCHES:
            self._open = step
        if not self._is_waiting or not self._stepping or not step.wants(COLLECTION):
            return
        document = json.dumps(self._document()).encode()
        self._loads, self._files, self._stepping = [], [], []
        self._rates_loaded = {}
        self._made_since = self._stepped_since = 0
        self._observer.joined(step, NAME, COLLECTION, np.frombuffer(document, np.uint8), _last)

    def _note_batches(self) -> None:
        """Note the batches of a step that is over: its digests are complete by now."""
        if self._open is not None:
            found = batch_digest(self._open.digests)
            self._open = None
            if found is not None:
                self._first_batches.append(found)

    def _document(self) -> dict[str, Any]:
        optimizers = [one for reference, _ in self._stepping if (one := reference()) is not None]
        held = {id(one) for each in optimizers for g in each.param_groups for one in g["params"]}
        loads = [self._facts(load, held) for load in self._loads]
        trained = [
            load.file for load, facts in zip(self._loads, loads, strict=True) if facts["trained"]
        ]
        files = [
            one for one in self._files if not one.parts or any(one is file for file in trained)
        ]
        schedulers = [one for one in self._schedulers if _schedules(one, optimizers)]
        return {
            "weights": loads,
            "optimizers": [facts for _, facts in self._stepping],
            "held": {
                "optimizers": sum(one.num_optimizers for one in files),
                "rates": [rate for one in files for rate in one.rates],
                "initial_rates": [rate for one in files for rate in one.initial_rates],
                "schedules": [
                    {"steps": count, "rates": rates}
                    for one in files
                    for count, rates in one.schedules
                ],
            },
            "schedules": {
                "steps": [one.last_epoch for one in schedulers],
                "loaded": any(one in self._schedulers_loaded for one in schedulers),
                "made_since": self._made_since,
                "stepped_since": self._stepped_since,
            },
        }

    def _facts(self, load: _Load, held: set[int]) -> dict[str, Any]:
        module = load.module()
        facts = {
            **load.facts,
            "has_run": load.has_run,
            "is_gone": module is None,
            "compared": load.num_compared,
            "other": load.num_other,
            "trained": 0.0,
            "replaced": 0,
            "new_frozen": [],
            "untied": [],
            "twin": "",
        }
        now: dict[str, torch.nn.Parameter] = {}
        if module is not None:
            now = _parameters_of(module)
            sizes = {id(one): one.numel() for one in now.values()}
            trained = sum(size for number, size in sizes.items() if number in held)
            facts["trained"] = trained / max(1, sum(sizes.values()))
            facts["new_frozen"] = [
                name for name in load.new if name in now and not now[name].requires_grad
            ]
            facts["untied"] = [
                list(names)
                for names in load.tied
                if now.keys() >= {*names} and len({id(now[one]) for one in names}) > 1
            ]
        # The names of those that no model has begin so.
        names = self._names.parameters
        facts["replaced"] = sum(
            names.get(one, "").startswith("optimizer/") for one in load.replaced & held
        )
        if not facts["trained"]:
            facts["twin"] = self._twin(load, module, held)
        return facts

    def _twin(self, load: _Load, module: torch.nn.Module | None, held: set[int]) -> str:
        """Return the class of a model of the same shapes that is trained instead, else ``""``.

        A copy of what was loaded is none.
        """
        for root in self._names.trained:
            parameters = _parameters_of(root)
            alike = {uncompiled(name): tuple(one.shape) for name, one in parameters.items()}
            if root is not module and alike == load.shapes:
                is_loaded = any(one.module() is root for one in self._loads)
                compared, other = _compared(load, root)
                if (
                    not is_loaded
                    and 2 * other > compared
                    and any(id(one) in held for one in parameters.values())
                ):
                    return type(root).__name__
        return ""


@dataclass
class _Before:
    """A module before weights are loaded into it.

    Args:
        parameters: The identities of its parameters.
        tied: The names of those that have several.
        places: Where the data of its matrices lie, by name.
    """

    module: ref[torch.nn.Module]
    parameters: set[int]
    tied: list[tuple[str, ...]]
    places: dict[str, int]

    @classmethod
    def of(cls, module: torch.nn.Module) -> _Before:
        names: dict[int, list[str]] = {}
        places: dict[str, int] = {}
        for name, parameter in _parameters_of(module).items():
            names.setdefault(id(parameter), []).append(name)
            if parameter.dim() > 1 and (place := _place(parameter)):
                places[name] = place
        tied = [tuple(each) for each in names.values() if len(each) > 1]
        return cls(ref(module), {*names}, tied, places)

    def are(self, given: Mapping[str, torch.Tensor]) -> bool:
        """Return whether weights are the very ones that the module had."""
        return bool(self.places) and all(
            (one := given.get(name)) is not None and _place(one) == place
            for name, place in self.places.items()
        )


def _place(tensor: torch.Tensor) -> int:
    """Return where the data of a tensor lie; 0 for one without an address of its own."""
    if tensor.layout is not torch.strided or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return 0
    return tensor.data_ptr()


def _parameters_of(module: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """Return the parameters of a module by each of their names, but those without a shape yet."""
    found = module.named_parameters(remove_duplicate=False)
    return {name: one for name, one in found if not is_lazy(one)}


def _tensors_of(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the parameters and buffers of a module, by name."""
    buffers = module.named_buffers(remove_duplicate=False)
    return {**_parameters_of(module), **{name: one for name, one in buffers if not is_lazy(one)}}


def _how_names_fit(
    own: Mapping[str, torch.Tensor],
    given: Mapping[str, torch.Tensor],
    missing: Sequence[str],
    unexpected: Sequence[str],
) -> dict[str, Any]:
    """Return how the names of a file fit those of a module, in elements of its tensors.

    What is missing in the file counts as ``renamed`` where the file has a tensor of that shape
    too many; where shapes are not known, one whose name ends in the same two words.
    """
    names = [name for name in missing if name in own]

    def mark(name: str, tensor: torch.Tensor | None) -> object:
        if given:
            return None if tensor is None else tuple(tensor.shape)
        return tuple(name.split(".")[-2:])

    spare = Counter(mark(name, given.get(name)) for name in unexpected)
    renamed = 0
    for name in names:
        key = mark(name, own[name])
        if spare[key] > 0:
            spare[key] -= 1
            renamed += own[name].numel()
    total = {id(one): one.numel() for one in own.values()}
    return {
        "elements": sum(total.values()),
        "missing": sum(own[name].numel() for name in names),
        "renamed": renamed,
        "is_any_loaded": len(names) < len(own),
        "missing_names": names[:_MOST_EXAMPLES],
        "num_missing": len(names),
        "unexpected_names": list(unexpected)[:_MOST_EXAMPLES],
        "num_unexpected": len(unexpected),
    }


def _are_like(tensors: Mapping[str, torch.Tensor], shapes: set[tuple[int, ...]]) -> bool:
    """Return whether most of some tensors have the shapes of parameters."""
    known = [tuple(one.shape) in shapes for one in tensors.values() if one.dim()]
    return 2 * sum(known) >= len(known) > 0


def _spread(names: list[str], most: int) -> list[str]:
    """Return at most so many of some names, evenly spaced."""
    return names[:: math.ceil(len(names) / most)] if names else []


def _sample(parameter: torch.Tensor) -> torch.Tensor | None:
    """Return some elements, float32, on the host; ``None`` where they cannot be read."""
    value = readable(parameter.detach())
    if value is None or not value.is_floating_point():
        return None
    with isolated_compute(value.device.type):
        return evenly_spaced(value, _COMPARED_ELEMENTS).to("cpu", torch.float32, copy=True)


def _compared(load: _Load, module: torch.nn.Module) -> tuple[int, int]:
    """Return how many weights were compared with what was loaded, and how many are others."""
    compared = other = 0
    now = _parameters_of(module)
    for name, before in load.samples.items():
        parameter = now.get(name)
        if parameter is None or tuple(parameter.shape) != load.shapes[name]:
            continue
        after = _sample(parameter)
        if after is None or after.shape != before.shape:
            continue
        with isolated_compute("cpu"):
            size = float(before.norm())
            compared += 1
            other += bool(size and float((after - before).norm()) > 0.5 * size)
    return compared, other


def _schedules(scheduler: LRScheduler, optimizers: Sequence[object]) -> bool:
    return any(getattr(scheduler, "optimizer", None) is one for one in optimizers)


def _script(command: Sequence[str]) -> str:
    return os.path.basename(command[0]) if command else ""


def _path(where: object) -> str:
    """Return the path of what something is written to or read from, ``""`` if there is none."""
    where = getattr(where, "name", where) if not isinstance(where, os.PathLike) else where
    if isinstance(where, (str, os.PathLike)):
        path = os.fspath(where)
        return path if isinstance(path, str) else ""
    return ""


def _last(before: object, now: Any) -> Any:  # noqa: ARG001
    return now
