"""The first steps of a script in this process, with a change around the calls of its models.

A *call* is one of an outermost module that has parameters: what a script means by ``model(x)``. A
relation wraps calls, batches, optimizers and functions of torch; the script itself stays as it is.
"""

from __future__ import annotations

import os
import random
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np
import torch
import torch._dynamo  # the first optimizer would: now it is there before a fork
import torch.utils.checkpoint
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._pytree import tree_leaves
from torch.utils.data import DataLoader

from ....diff.parting import HeldRun, HeldStep, NoiseBand, Parting, first_parting
from ....errors import TrainingStopped
from ....model.record import StepRecord
from ....model.steps import Mode
from ....store import Store
from ...patching import PatchSet
from ..hook import TorchHook
from ..internals import Loss, in_backward, replace_code
from ..patches import functional_losses

#: What is kept of each step.
KEPT = frozenset({"weights", "buffers", "outputs", "losses", "gradients", "learning_rates"})
# Loops of these count their batches themselves; an epoch that ends early would confuse them.
_TRAINERS = ("lightning", "pytorch_lightning", "transformers", "accelerate", "trl")
_DROPOUTS = (
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "alpha_dropout",
    "feature_alpha_dropout",
)
_PRODUCTS = ("matmul", "mm", "einsum", "cdist", "cosine_similarity")
_MOST_CALLS = 200
SEED = 0
Call = Callable[..., Any]
Facts = dict[str, Any]


class Kept:
    """Keeps what is captured of each step; a listener of the recorder."""

    def __init__(self) -> None:
        self.steps: list[HeldStep] = []

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Nothing needs to be known."""

    def on_step(self, record: StepRecord) -> None:
        tensors = record.layout.tensors
        rows = [row for row, tensor in enumerate(tensors) if tensor.collection in KEPT]
        self.steps.append(
            HeldStep(
                record.mode,
                record.mode_step,
                tuple(tensors[row].name for row in rows),
                tuple(tensors[row].collection for row in rows),
                tuple(tensors[row].dtype for row in rows),
                np.array(record.statistics[rows]),
            )
        )

    def finish(self) -> None:
        """The steps are kept as they are."""


class CertifyHook(TorchHook):
    """Captures the first TRAIN steps of a script, and stops it after them.

    Args:
        steps: How many.
        kept: Takes what is captured.
    """

    def __init__(self, steps: int, kept: Kept) -> None:
        self._left = steps
        super().__init__(
            run=f"memory://certify-{uuid.uuid4().hex}",
            listeners=[kept],
            hold=False,
            say=lambda _: None,
            black_box_mb=0,
        )

    def stepped(self, mode: Mode) -> None:
        super().stepped(mode)
        if mode is Mode.TRAIN:
            self._left -= 1
            if self._left == 0:
                self.stop("the steps that were asked for are over")

    @contextmanager
    def unobserved(self) -> Iterator[None]:
        """Capture nothing of what runs within."""
        self._tracker.gather()
        before, self._tracker.active = self._tracker.active, False
        try:
            yield
        finally:
            self._tracker.graphs.slots.clear()  # what is compiled observes all the same
            self._tracker.active = before


class Change:
    """What a relation does within the process of the script; by default nothing."""

    #: Whether dropout is left out, and nothing is compiled or cast: then rows do not differ by
    #: chance, nor sums by the order in which half precision rounds them.
    fixed = True
    #: Whether a script casts all the same, as it does by itself.
    casts = False
    #: After how many TRAIN steps a run may end, as no more is looked at; ``None`` for all of them.
    enough_steps: ClassVar[int | None] = None

    def install(self, session: Session) -> None:
        """Wrap what must be, before the script begins."""

    def around(self, session: Session, module: torch.nn.Module, call: Call, given: Any) -> Any:
        """Return what a call of an outermost module returns.

        Args:
            session: Knows the batch.
            module: The module.
            call: Calls it as it is; takes ``(args, kwargs)``.
            given: Its arguments, ``(args, kwargs)``.
        """
        del session, module
        return call(given)

    def batches(self, session: Session, loader: int, batches: Iterator[Any]) -> Iterator[Any]:
        """Return what the script gets from a loader.

        Args:
            session: Knows what was trained.
            loader: Which loader it is, in the order in which they were first used.
            batches: What it yields.
        """
        del session, loader
        return batches


class Session:
    """Runs in the process of a script, and knows what its training does.

    Args:
        change: What is done to it.
        facts: What an earlier run of the script has shown.
        steps: How many TRAIN steps there are.
        cut: After how many steps an epoch ends, or batches where nothing is trained.
        rank: Of this process, among those that run the script together.
        processes: How many do, started as by a launcher; 0 for one that nothing has started.
    """

    def __init__(
        self,
        change: Change,
        facts: Facts,
        *,
        steps: int,
        cut: int,
        rank: int = 0,
        processes: int = 0,
    ) -> None:
        self.change = change
        self.known = facts
        self.steps, self.cut = steps, cut
        self.rank, self.processes = rank, processes
        self.kept = Kept()
        self.patches = PatchSet()
        self.hook: CertifyHook | None = None
        #: How many rows the batch has that a loader yielded last; ``None`` for none.
        self.rows: int | None = None
        self.loader: int | None = None
        self.depth = 0
        self.optimizers: list[torch.optim.Optimizer] = []
        self.stack: list[torch.nn.Module] = []
        self._called: WeakSet[torch.nn.Module] = WeakSet()
        self.facts: Facts = {
            "calls": 0, "changed": 0, "refused": "", "evaluations": 0, "batch_norm": "",
            "dropout": False, "dropout_in_evaluation": "", "model_draws": "", "step_draws": False,
            "time_first": "", "trained_loaders": [], "backwards": [0], "losses": [],
            "loss_weights": [], "ignored": False, "pairwise": False, "compiles": False,
            "autocasts": False, "checkpoints": False, "saves": 0, "loads": 0, "cut": False,
            "distributed": False, "inputs": [], "changes": "",
            "optimizers": 0, "closure": False, "embedding_padding": None,
            "asks_rank": False, "batch_sizes": [], "epoch_starts": [], "saved_after": None,
        }  # fmt: skip
        self._loaders: list[tuple[object, ...]] = []
        self._keep_alive: list[object] = []
        self._rng_at_batch: torch.Tensor | None = None

    def attach(self) -> None:
        """Wrap torch, seed everything, and begin to capture."""
        self._seed()
        self._find_facts()
        self.change.install(self)
        if self.change.fixed:
            self._leave_out_dropout()
            self.patches.put(torch, "compile", lambda _: _not_compiled)
            self.patches.put(torch.nn.Module, "compile", lambda _: lambda *_, **__: None)
            if not self.change.casts:
                self.patches.put(torch.autocast, "__init__", _not_cast)
        self.hook = CertifyHook(self.steps, self.kept)
        self.patches.put(torch.nn.Module, "__call__", self._module_call)
        self.patches.put(DataLoader, "__iter__", self._loader_iter)

    def refuse(self, why: str) -> None:
        """Note why a call was left as it is."""
        self.facts["refused"] = self.facts["refused"] or why

    def module_name(self) -> str:
        """Return the name of the module that runs, within the outermost one."""
        if not self.stack:
            return ""
        root = self.stack[0]
        names = {id(module): name for name, module in root.named_modules()}
        found = (names.get(id(one)) for one in reversed(self.stack))
        return next((name for name in found if name), type(root).__name__)

    def is_evaluation(self, module: torch.nn.Module) -> bool:
        """Return whether a call that begins now evaluates."""
        if torch.is_grad_enabled():
            return False
        other = self.loader is not None and self.loader not in self.known.get(
            "trained_loaders", [self.loader]
        )
        return not module.training or other

    @property
    def num_trained(self) -> int:
        """How many TRAIN steps are over."""
        return len(self.facts["backwards"]) - 1

    # Wrappers

    def _module_call(self, original: Any) -> Any:
        def call(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or in_backward():
                return original(module, *args, **kwargs)
            self.stack.append(module)
            try:
                is_outermost = (
                    self.depth == 0
                    and not isinstance(module, Loss)
                    and next(module.parameters(), None) is not None
                )
                if not is_outermost:
                    return original(module, *args, **kwargs)
                self.depth += 1
                try:
                    return self._outermost(module, original, args, kwargs)
                finally:
                    self.depth -= 1
            finally:
                self.stack.pop()

        return call

    def _outermost(self, module: torch.nn.Module, original: Any, args: Any, kwargs: Any) -> Any:
        facts = self.facts
        facts["calls"] += 1
        facts["evaluations"] += self.is_evaluation(module)
        is_first = facts["calls"] <= _MOST_CALLS
        if is_first:
            self._inspect(module, (args, kwargs))
        before = torch.get_rng_state()
        result = self.change.around(
            self, module, lambda given: original(module, *given[0], **given[1]), (args, kwargs)
        )
        self._called.add(module)
        if not torch.equal(before, torch.get_rng_state()):
            facts["model_draws"] = facts["model_draws"] or type(module).__name__
        if is_first:
            facts["inputs"][-1].append(
                [list(one.shape) for one in tree_leaves(result) if isinstance(one, torch.Tensor)]
            )
        return result

    def _inspect(self, module: torch.nn.Module, given: Any) -> None:
        tensors = [one for one in tree_leaves(given) if isinstance(one, torch.Tensor)]
        first = tensors[0] if tensors else torch.zeros(0)
        digest = float(first.detach().double().nan_to_num().sum()) if first.numel() else 0.0
        shapes = [list(one.shape) for one in tensors]
        self.facts["inputs"].append([torch.is_grad_enabled(), shapes, digest])
        for name, one in module.named_modules():
            if _normalizes_batch(one):
                self.facts["batch_norm"] = name or type(one).__name__
            if isinstance(one, (torch.nn.RNNBase, torch.nn.MultiheadAttention)) and not getattr(
                one, "batch_first", True
            ):
                self.facts["time_first"] = name or type(one).__name__
            if isinstance(one, torch.nn.Embedding) and one.padding_idx is not None:
                self.facts["embedding_padding"] = one.padding_idx

    def _loader_iter(self, original: Any) -> Any:
        def start(loader: Any) -> Any:
            # Many scripts make a new one for each epoch.
            key = id(loader.dataset), loader.batch_size, type(loader.sampler).__name__
            if key not in self._loaders:
                self._loaders.append(key)
                self._keep_alive.append(loader.dataset)
                self.facts["batch_sizes"].append(loader.batch_size)
            number = self._loaders.index(key)
            caller = sys._getframe(2).f_globals.get("__name__", "")
            cut = None if caller.partition(".")[0] in _TRAINERS else self.cut
            batches = self._first_batches(original(loader), number, cut)
            return self._noted(self.change.batches(self, number, batches), number)

        return start

    def _first_batches(self, batches: Any, loader: int, cut: int | None) -> Iterator[Any]:
        began, backwards = self.num_trained, sum(self.facts["backwards"])
        self.facts["epoch_starts"].append([loader, len(trained_inputs(self.facts))])
        for count, batch in enumerate(batches):
            trains = sum(self.facts["backwards"]) > backwards
            # Of what trains steps count: a step may take many batches.
            if cut is not None and (self.num_trained - began if trains else count) >= cut:
                self.facts["cut"] = True
                return
            yield batch

    def _noted(self, batches: Iterator[Any], loader: int) -> Iterator[Any]:
        for batch in batches:
            self.rows, self.loader = rows_of(batch), loader
            self._rng_at_batch = torch.get_rng_state()
            yield batch

    # Facts

    def _seed(self) -> None:
        """Seed everything, for a script that does not; what it seeds itself comes later."""
        random.seed(SEED)
        np.random.seed(SEED)
        torch.manual_seed(SEED)
        self.patches.put(
            np.random,
            "default_rng",
            lambda original: lambda seed=None: original(SEED if seed is None else seed),
        )

    def _find_facts(self) -> None:
        facts, put = self.facts, self.patches.put
        put(torch.Tensor, "backward", self._backward)
        put(torch, "compile", self._noting("compiles"))
        put(torch.nn.Module, "compile", self._noting("compiles"))
        put(torch.autocast, "__enter__", self._noting("autocasts"))
        put(torch, "save", self._save)
        put(torch, "load", self._counting("loads"))
        put(torch.optim.Optimizer, "__init__", self._optimizer_made)
        for name in _PRODUCTS:
            owner = torch.nn.functional if name == "cosine_similarity" else torch
            put(owner, name, self._product)
        for name in ("__matmul__", "matmul", "mm"):  # inherited from a class that is immutable
            setattr(torch.Tensor, name, self._product(getattr(torch.Tensor, name)))
        for name, function in functional_losses():
            replace_code(function, self._loss(name))
        for name in _DROPOUTS:
            replace_code(getattr(torch.nn.functional, name), self._dropout)
        put(torch.utils.checkpoint, "checkpoint", self._noting("checkpoints"))
        if torch.distributed.is_available():
            put(torch.distributed, "init_process_group", self._noting("distributed"))
        put(os._Environ, "__getitem__", self._environment)
        self.patches.when_imported("keras", self._listen_to_keras)
        register_optimizer_step_post_hook(self._stepped)
        facts["threads"] = torch.get_num_threads()

    def _listen_to_keras(self) -> None:
        """Note where layers of Keras draw: by generators of their own, beside that of torch."""
        from keras.src.backend.torch import random as draws

        def make(original: Any) -> Any:
            def generator(*args: Any, **kwargs: Any) -> Any:
                # Weights that are made in the first call of a model are drawn, too.
                if self.depth and self.stack[0] in self._called:
                    self.facts["model_draws"] = self.facts["model_draws"] or self.module_name()
                return original(*args, **kwargs)

            return generator

        self.patches.put(draws, "torch_seed_generator", make)

    def _noting(self, fact: str) -> Any:
        def make(original: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                self.facts[fact] = True
                return original(*args, **kwargs)

            return call

        return make

    def _counting(self, fact: str) -> Any:
        def make(original: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                result = original(*args, **kwargs)
                self.facts[fact] += 1
                return result

            return call

        return make

    def _save(self, original: Any) -> Any:
        def save(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self.facts["saves"] += 1
            if self.num_trained and self.facts["saved_after"] is None:
                self.facts["saved_after"] = len(trained_inputs(self.facts))
            return result

        return save

    def _environment(self, original: Any) -> Any:
        def get(environment: Any, name: Any) -> Any:
            if name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
                caller = sys._getframe(1)
                while caller.f_globals.get("__name__") in ("os", "_collections_abc"):
                    assert caller.f_back is not None
                    caller = caller.f_back
                asks = caller.f_globals.get("__name__", "").partition(".")[0]
                self.facts["asks_rank"] |= asks not in ("torch", *_TRAINERS)
            return original(environment, name)

        return get

    def _optimizer_made(self, original: Any) -> Any:
        def make(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self.facts["optimizers"] += 1
            self.optimizers.append(optimizer)

        return make

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        self.facts["closure"] = self.facts["closure"] or closure is not None
        self.facts["backwards"].append(0)
        if self._rng_at_batch is not None and not torch.equal(
            self._rng_at_batch, torch.get_rng_state()
        ):
            self.facts["step_draws"] = True
        del optimizer

    def _backward(self, original: Any) -> Any:
        def backward(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            self.facts["backwards"][-1] += 1
            if self.loader is not None and self.loader not in self.facts["trained_loaders"]:
                self.facts["trained_loaders"].append(self.loader)
            return original(tensor, *args, **kwargs)

        return backward

    def _product(self, original: Any) -> Any:
        def product(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if not torch.compiler.is_compiling():
                rows = self.rows or 0
                shape = tuple(result.shape) if isinstance(result, torch.Tensor) else ()
                are_pairs = sum(size in (rows, 2 * rows) for size in shape) > 1
                if rows > 1 and are_pairs and not any(map(_is_weight, args)):
                    self.facts["pairwise"] = True
            return result

        return product

    def _loss(self, name: str) -> Any:
        def make(original: Any) -> Any:
            def loss(*args: Any, **kwargs: Any) -> Any:
                value = original(*args, **kwargs)
                is_new = not torch.compiler.is_compiling() and not in_backward()
                if is_new and torch.is_grad_enabled() and isinstance(value, torch.Tensor):
                    self._note_loss(name, args, kwargs, value)
                return value

            return loss

        return make

    def _note_loss(self, name: str, args: Any, kwargs: Any, value: torch.Tensor) -> None:
        facts = self.facts
        target = kwargs.get("target", args[1] if len(args) > 1 else None)
        ignored = kwargs.get("ignore_index", -100)
        if isinstance(target, torch.Tensor) and not target.is_floating_point():
            facts["ignored"] = facts["ignored"] or bool((target == ignored).any())
        weighted = kwargs.get("weight") is not None
        reduction = kwargs.get("reduction", "mean") if value.ndim == 0 else "none"
        if len(facts["losses"]) < _MOST_CALLS:
            facts["losses"].append([self.num_trained, name, reduction, weighted])
        if value.requires_grad and value.ndim == 0:
            step = self.num_trained

            def note(gradient: torch.Tensor) -> None:
                if len(facts["loss_weights"]) < _MOST_CALLS:
                    facts["loss_weights"].append([step, float(gradient)])

            value.register_hook(note)  # type: ignore[no-untyped-call]

    def _dropout(self, original: Any) -> Any:
        def dropout(
            value: Any, p: float = 0.5, training: bool = True, inplace: bool = False
        ) -> Any:
            if training and p > 0 and not torch.compiler.is_compiling():
                self.facts["dropout"] = True
                if self.stack and self.is_evaluation(self.stack[0]):
                    where = self.facts["dropout_in_evaluation"]
                    self.facts["dropout_in_evaluation"] = where or self.module_name()
            return original(value, p, training and not self._without_dropout, inplace)

        return dropout

    _without_dropout = False

    def _leave_out_dropout(self) -> None:
        self._without_dropout = True

        def attention(original: Any) -> Any:
            def attend(*args: Any, **kwargs: Any) -> Any:
                if kwargs.get("dropout_p"):
                    kwargs["dropout_p"] = 0.0
                if len(args) > 4:
                    args = (*args[:4], 0.0, *args[5:])
                return original(*args, **kwargs)

            return attend

        self.patches.put(torch.nn.functional, "scaled_dot_product_attention", attention)

    def end(self, reason: str) -> None:
        """End the script here."""
        raise TrainingStopped(reason)


def normalizes_batch(model: torch.nn.Module) -> bool:
    """Return whether a layer of a model, of PyTorch or Keras, normalizes by a batch in training."""
    return any(map(_normalizes_batch, _layers(model)))


def _layers(model: torch.nn.Module) -> Iterator[torch.nn.Module]:
    yield from model.modules()
    # Keras keeps its own layers apart.
    yield from getattr(model, "_flatten_layers", tuple)()


def _normalizes_batch(layer: torch.nn.Module) -> bool:
    if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm):
        return layer.training
    of_keras = getattr(getattr(sys.modules.get("keras"), "layers", None), "BatchNormalization", ())
    # One of Keras is told so when it is called; one that is frozen never does.
    return isinstance(layer, of_keras) and bool(layer.trainable)


def _is_weight(value: object) -> bool:
    """Return whether a tensor is a parameter or a view of one: as many columns are no rows."""
    base = getattr(value, "_base", None)
    return isinstance(value if base is None else base, torch.nn.Parameter)


def _not_compiled(model: Any = None, **_: Any) -> Any:
    return (lambda function: function) if model is None else model


def _not_cast(original: Any) -> Any:
    def make(autocast: Any, *args: Any, **kwargs: Any) -> None:
        original(autocast, *args, **kwargs)
        autocast._enabled = False

    return make


def _tensors(value: Any) -> list[torch.Tensor]:
    return [one for one in tree_leaves(value) if isinstance(one, torch.Tensor)]


def trained_inputs(facts: Facts) -> list[float]:
    """Return the sums of what models were given in the first calls with gradients."""
    return [digest for with_gradients, _, digest, *_ in facts["inputs"] if with_gradients]


def digest_of(batch: Any) -> list[float]:
    """Return the sums of the first two tensors of a batch."""
    return [float(one.double().nan_to_num().sum()) for one in _tensors(batch)[:2]]


def rows_of(batch: Any) -> int | None:
    """Return how many rows a batch has, ``None`` if its tensors do not agree on it."""
    sizes = {one.shape[0] for one in _tensors(batch) if one.ndim}
    return sizes.pop() if len(sizes) == 1 else None


@contextmanager
def own_random_numbers() -> Iterator[None]:
    """Leave the random generators as they were."""
    states = torch.get_rng_state(), np.random.get_state(), random.getstate()
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        np.random.set_state(states[1])
        random.setstate(states[2])


def why_not_of_parts(facts: Facts) -> str:
    """Return why parts of a batch do not give, one by one, what it gives; empty if they do."""
    k = max(facts["backwards"][:1])
    if facts["batch_norm"]:
        return f"{facts['batch_norm']} normalizes over the batch"
    if facts["step_draws"] or facts["model_draws"]:
        return "a step draws random numbers, others for each part of a batch"
    if facts["closure"]:
        return "an optimizer computes the loss itself, by a closure"
    if len(facts["trained_loaders"]) != 1:
        return "the batches do not come from one DataLoader"
    if facts["pairwise"]:
        return "the model or its loss compares rows with each other"
    if facts["optimizers"] != 1:
        return "several optimizers step"
    first = [one for one in facts["losses"] if one[0] == 0]
    weights = [weight for step, weight in facts["loss_weights"] if step == 0]
    if len(first) != k or len(weights) != k:
        return "its loss is not one call of a loss of torch"
    if any(one[2] not in ("mean", "sum") or one[3] for one in first):
        return "its loss is weighted or not reduced by torch"
    return ""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What came of a run of the script.

    Args:
        steps: What was captured.
        facts: What was seen beside it; see ``Session``.
        error: What ended it before its time; empty for nothing.
    """

    steps: HeldRun
    facts: Facts
    error: str = ""


@dataclass(frozen=True, slots=True)
class Break:
    """A relation that does not hold.

    Args:
        where: The place, in words.
        message: What differs there.
        parting: The tensor and step, where one is known.
    """

    where: str
    message: str
    parting: Parting | None = None


class Relation(Change):
    """A change that must not matter."""

    #: As it is asked for.
    name: ClassVar[str]
    #: What holds, in words.
    title: ClassVar[str]
    #: What it points at where it breaks.
    points_at: ClassVar[str]
    compared: ClassVar[frozenset[str]] = KEPT
    #: The rounding of the precision in which it computes; 0 for that of each tensor.
    epsilon: ClassVar[float] = 0.0
    #: How many TRAIN steps are compared; ``None`` for all.
    first_steps: ClassVar[int | None] = None
    #: Whether it takes two runs, of which the second begins where the first was stopped.
    stops: ClassVar[bool] = False
    #: How many processes run the script, which is compared with one of a launcher; 0 for as it is.
    processes: ClassVar[int] = 0

    def why_not(self, facts: Facts) -> str:
        """Return why it does not apply to a script; empty if it does."""
        raise NotImplementedError

    def why_unchanged(self, facts: Facts) -> str:
        """Return why the run that was to differ did not; empty if it did."""
        return "" if facts["changed"] else facts["refused"] or "nothing was there to be changed"

    def judge(self, base: RunOutcome, run: RunOutcome, band: NoiseBand) -> Break | None:
        """Return where it breaks, ``None`` if it holds."""
        steps = base.steps
        if self.first_steps is not None:
            steps = [step for step in steps if step.mode_step < self.first_steps]
        parting = first_parting(steps, run.steps, band, self.compared, epsilon=self.epsilon)
        return None if parting is None else Break(parting.where(), parting.how_far(), parting)


class AsIs(Change):
    """Nothing is changed: what the script does by itself."""

    fixed = False


class Nudged(Change):
    """Each call to train moves every weight by a few roundings: how far rounding alone leads.

    Not once: sums in another order round otherwise in each step. An optimizer such as Adam makes
    whole steps of that where a gradient is zero but for rounding, as of a bias before a batch norm.

    Args:
        seed: Of the directions.
    """

    _roundings = 4

    def __init__(self, seed: int = 1) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def around(self, session: Session, module: torch.nn.Module, call: Call, given: Any) -> Any:
        del session
        for one in module.parameters() if torch.is_grad_enabled() else ():
            if one.is_floating_point():
                signs = torch.randint(0, 2, one.shape, generator=self._generator) * 2 - 1
                step = self._roundings * torch.finfo(one.dtype).eps
                # Of its data: graphs of other calls may wait for their backward with it.
                one.data.mul_(1 + step * signs.to(one.device, one.dtype))
        return call(given)
