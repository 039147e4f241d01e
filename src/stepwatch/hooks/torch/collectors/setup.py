"""How a model is put together and normalized, where it may not be as it was meant.

Nothing is observed of most models: a layer that stands at several places of a container, batch
normalization with a momentum that is none, and layers with no activation between them, are looked
for and seldom there.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
import sysconfig
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeGuard
from weakref import WeakKeyDictionary, ref

import numpy as np
import numpy.typing as npt
import torch

from ....capture.open_step import OpenStep
from ....model.steps import Mode
from ...observations import (
    MOST_DROPPED,
    are_graphs,
    are_torn,
    are_torn_from,
    follow_across,
    hides_all_but_padding,
    lack_offset,
    padded_share,
    pads_tokens,
)
from ..autograd import (
    Edge,
    Product,
    forward_order,
    is_torn,
    products,
    saved_as_is,
    takes_last_only,
)
from ..internals import BatchNorm, isolated_compute
from ..models import Names, uncompiled, unwrap
from ..observe import Observer
from ..recurrent_states import RecurrentStates
from ..tensors import tensors_in, to_numpy
from .draws import RepeatedDraws
from .variables import pairs

if TYPE_CHECKING:
    from .loss_graphs import LossGraphs

COLLECTION = "setup"
#: New statistics of a batch are so much of the running ones by the convention of other libraries.
MOST_MOMENTUM = 0.9
#: And below this many steps are needed until they are there.
LEAST_MOMENTUM = 0.01
#: So many masks are compared with tokens, of these arguments. What is added to a logit to hide it
#: is below the last.
_MOST_MASKS = 16
# Masks are compared with so many of what was embedded last.
_MOST_EMBEDDED = 4
_MASKS = ("src_key_padding_mask", "key_padding_mask", "tgt_key_padding_mask")
_HIDDEN = -10_000.0
# What the axes mean is told apart by these.
_OF_POSITIONS = (
    *(torch.nn.RNNBase, torch.nn.Conv1d, torch.nn.Conv2d),
    *(torch.nn.MultiheadAttention, torch.nn.TransformerEncoder, torch.nn.TransformerEncoderLayer),
)
_Dropout = torch.nn.modules.dropout._DropoutNd
# So many samples, and of each so many positions, tell what was added to them.
_MOST_ADDED = 8
# Dampening leaves less than half of each gradient, and momentum adds up no more of them.
_DAMPENED = 0.5
# The edges of so many graphs are looked at.
_MOST_GRAPHS = 4
# The graphs behind so many calls of recurrent layers are looked through.
_MOST_RECURRENT = 16
# Of more ends edges are not looked at.
_MOST_ENDS = 1 << 20
# So many batches of graphs are looked at; of fewer nothing is said.
_MOST_BATCHES, _LEAST_BATCHES = 8, 2
# Who writes so has it in mind that weights are shared.
_SHARED = re.compile(
    r"\bshar(e|ed|es|ing)\b|_shar|shared?_|\bti(e|es|ed|ing)\b|_tied?|tied?_|recur|recycl|unroll"
    r"|univers|albert|siamese|iterative|re-?us(e|ed|ing)|same (layer|block|weight|module)|deq\b"
    r"|looped",
    re.IGNORECASE,
)
# ``ModuleList([layer] * 4)``: a list of one object, whatever was meant.
_MULTIPLIED = re.compile(r"(ModuleList|Sequential)\(.{0,200}?\]\s*\*\s*[\w(]", re.DOTALL)
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")})


class _Model(NamedTuple):
    """What is known of a model as long as nothing is put into it.

    Args:
        version: That of the names.
        repeated: At how many places of a container one layer stands, by the container's name.
        normalizations: Those with running statistics.
        owners: The modules whose code calls the layers with these parameters, by ``id``; ``None``
            where the script does.
        blocks: The sequences of an owner that these parameters are in.
    """

    version: int
    repeated: dict[str, float]
    normalizations: list[tuple[str, ref[BatchNorm]]]
    owners: dict[int, ref[torch.nn.Module] | None]
    blocks: dict[int, _Block]


class _Block(NamedTuple):
    """A sequence of layers.

    Args:
        key: What tells it from others.
        name: Of the attribute that holds it; empty for one that is a model.
        kinds: Of its layers, in their order.
    """

    key: int
    name: str
    kinds: tuple[str, ...]


class _Sequence(NamedTuple):
    """What a recurrent layer returned of sequences that are padded at their end.

    Args:
        name: Of the layer.
        share: Of padding in the median sequence.
        whole: All its outputs,
        last: and its last state.
        dimension: That of the positions in its outputs.
    """

    name: str
    share: float
    whole: Edge
    last: Edge
    dimension: int


def _are_edges(given: object) -> TypeGuard[torch.Tensor]:
    """Return whether a layer is given edges as PyTorch Geometric has them, shape ``[2, edges]``."""
    if type(given) is not torch.Tensor or not given.is_cpu or given.dtype is not torch.int64:
        return False
    return given.dim() == 2 and given.shape[0] == 2 and given.numel() <= _MOST_ENDS


class GraphBatches:
    """Whether edges of several graphs were put into a batch as if each were alone.

    Judged are the edges that layers are given within a module that is given the graph of each node:
    a model may add the offsets itself.
    """

    def __init__(self) -> None:
        # The edges of layers in this step, by how many nodes they are given: those of the first.
        self._edges: dict[int, tuple[str, torch.Tensor]] = {}
        # Layers that are given one graph for all samples.
        self._has_one_graph = False
        self._num_looked = self._num_lacking = 0
        self._name = ""

    @property
    def is_known(self) -> bool:
        return self._num_looked >= _MOST_BATCHES

    @property
    def found(self) -> str:
        """The layer whose edges lack the offset in all batches that were looked at, or nothing."""
        lacks = self._num_looked == self._num_lacking >= _LEAST_BATCHES
        return self._name if lacks else ""

    def returned(
        self,
        name: str,
        inputs: tuple[object, ...],
        keywords: dict[str, object],
        edges: torch.Tensor | None,
    ) -> None:
        """A module returned: note its edges, or judge those of the layers inside of it."""
        if self.is_known or self._has_one_graph:
            return
        given: dict[int | str, object] = {}
        given.update(enumerate(inputs))
        given.update(keywords)
        nodes = next((given[key] for key in (0, "x") if key in given), None)
        num_nodes = len(nodes) if type(nodes) is torch.Tensor and nodes.dim() else 0
        if (owners := self._owners(given.values(), {*self._edges, num_nodes})) is not None:
            layer, noted = self._edges.pop(len(owners), ("", None))
            if noted is not None:
                self._num_looked += 1
                self._num_lacking += lack_offset(to_numpy(noted), owners)
                self._name = layer
        elif edges is not None and type(nodes) is torch.Tensor:
            self._has_one_graph |= nodes.dim() != 2
            self._edges.setdefault(num_nodes, (name, edges))

    def _owners(self, given: Iterable[object], lengths: Set[int]) -> npt.NDArray[np.generic] | None:
        """Return the graph of each node that a module is given, of so many nodes."""
        for one in given:
            for value in (one, _attribute(one, "batch")):
                if type(value) is not torch.Tensor or value.dtype is not torch.int64:
                    continue
                if value.dim() == 1 and value.is_cpu and len(value) in lengths:
                    owners = to_numpy(value)
                    if are_graphs(owners):
                        return owners
        return None

    def forget(self) -> None:
        """A step ends."""
        self._edges.clear()


def _attribute(value: object, name: str) -> object:
    """Return what a mapping, or a batch of PyTorch Geometric, has under a name."""
    if isinstance(value, Mapping):
        return value.get(name)
    # The class of a batch is made as it is needed, out of that of its graphs.
    is_of_geometric = any(
        one.__module__.startswith("torch_geometric.") for one in type(value).__mro__
    )
    return getattr(value, name, None) if is_of_geometric else None


class SamplePositions:
    """Whether positions are told by the place of a sample in its batch, and not of a token in it.

    As ``x + pe[:x.size(0)]`` does where samples come first, which what follows is told by its
    ``batch_first``, or a loss shows that has one target for each: all tokens of a sample are given
    the same position.
    """

    def __init__(self) -> None:
        # Layers that gave positions along the first axis in this step, by the length of that, and
        # the length of the second, if there is one.
        self._along_first: dict[int, tuple[str, int]] = {}

    def returned(
        self, module: torch.nn.Module, name: str, given: object, output: object
    ) -> str | None:
        """A module returned: note its positions; return the layer whose are those of samples."""
        if type(given) is not torch.Tensor or not given.is_cpu:
            return None
        if isinstance(module, torch.nn.Embedding):
            if given.dim() == 1 and _counts_up(given):
                self._along_first[len(given)] = name, 0
        elif given.dim() == 3 and isinstance(module, _OF_POSITIONS):
            samples, length, _ = given.shape
            if getattr(module, "batch_first", False) and samples != length:
                known = None if length in self._along_first else self._along_first.get(samples)
                return None if known is None else known[0]
        elif given.dim() == 3 and type(output) is torch.Tensor and output.shape == given.shape:
            tables = (one for one in module._buffers.values() if one is not None and one.dim() == 3)
            if any(_is_added_over_first(table, given, output) for table in tables):
                self._along_first[len(given)] = name, given.shape[1]
        return None

    def compared(self, loss: torch.Tensor) -> Iterator[str]:
        """Yield the layers that gave positions along an axis with one target for each place."""
        if not self._along_first or loss.grad_fn is None:
            return
        for node in forward_order(loss.grad_fn):
            target = saved_as_is(node, "target")
            if target is None or target.dim() == 0 or target.numel() != len(target):
                continue
            name, length = self._along_first.get(len(target), ("", 0))
            if length not in (0, len(target), *self._along_first):
                yield name

    def forget(self) -> None:
        """A step ends."""
        self._along_first.clear()


def _counts_up(ids: torch.Tensor) -> bool:
    """Return whether ids are 0, 1, 2 and so on, and several."""
    if ids.is_floating_point() or len(ids) < 2:
        return False
    with isolated_compute("cpu"):
        return np.array_equal(to_numpy(ids), np.arange(len(ids)))


def _is_added_over_first(table: torch.Tensor, given: torch.Tensor, output: torch.Tensor) -> bool:
    """Return whether a table of shape ``[positions, 1, width]`` was added over the first axis.

    What dropout left of it was scaled, so the elements that are not 0 are compared up to a factor.
    """
    samples, length, width = given.shape
    if len(table) < samples or table.shape[1:] != (1, width) or samples < 2 or length < 2:
        return False
    some = slice(_MOST_ADDED)
    with isolated_compute("cpu"):
        added = to_numpy(given[some, some].detach() + table[:samples][some])
        found = to_numpy(output[some, some].detach())
        is_left = found != 0
        scale = np.median(found[is_left] / added[is_left]) if is_left.any() else 0.0
        return bool(scale) and np.allclose(found[is_left], scale * added[is_left], rtol=1e-3)


class Setup:
    """Observes it in the collection ``setup``, of models that train.

    Args:
        losses: Looks through the graphs of losses.
    """

    def __init__(self, names: Names, observer: Observer, losses: LossGraphs) -> None:
        self._names, self._observer, self._losses = names, observer, losses
        self._models: WeakKeyDictionary[torch.nn.Module, _Model] = WeakKeyDictionary()
        # Whether the statistics of a normalization were new when its model ran first.
        self._new: WeakKeyDictionary[torch.nn.Module, bool] = WeakKeyDictionary()
        self._numbers: dict[str, float] = {}
        # The normalizations of which the momentum was right at some call of this step.
        self._right: set[str] = set()
        self._version = 0  # of the names, when the graph of a loss was looked through
        self._in_graphs: dict[str, float] = {}
        # The samples of the batch that a model was given last; 0 where they are not known.
        self._num_samples = 0
        self._given: ref[torch.Tensor] | None = None  # the first of these
        # What embeddings were given last in this step, as tokens beside their positions; how many
        # masks were compared with such.
        self._embedded: deque[torch.Tensor] = deque(maxlen=_MOST_EMBEDDED)
        self._num_masks = 0
        self._in_masks: dict[str, float] = {}
        self._num_padded = 0
        # How many edges were looked at that layers of graphs are given.
        self._num_graphs_given = 0
        self._batches = GraphBatches()
        self._positions = SamplePositions()
        self._states = RecurrentStates()
        # Whether each step draws the same, and the model that it draws for.
        self._draws, self._model_name = RepeatedDraws(), ""
        # What recurrent layers returned since gradients were computed, and of how many in all.
        self._sequences: list[_Sequence] = []
        self._num_sequences = 0
        self._in_sequences: dict[str, float] = {}

    def begin(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:
        """A model begins to run."""
        if step.mode is not Mode.TRAIN:
            return
        self._draws.begin()
        self._model_name = type(unwrap(model)).__name__
        if not step.wants(COLLECTION):
            return
        given = [one for _, one in tensors_in(inputs)]
        rows = {len(one) if one.dim() else 0 for one in given}
        self._given = ref(given[0]) if given else None
        self._num_samples = rows.pop() if len(rows) == 1 else 0
        model = unwrap(model)
        known = self._models.get(model)
        if known is None or known.version != self._names.version:
            known = self._models[model] = self._look_at(model)
        self._numbers.update(known.repeated)
        for name, reference in known.normalizations:
            layer = reference()
            if layer is None or not layer.training:
                continue
            key = f"setup/momentum/{name}"
            is_odd = _is_odd(layer)
            if is_odd and layer not in self._new:  # asked of few: it waits for a device
                self._new[layer] = (layer.momentum or 0.0) >= MOST_MOMENTUM or _is_new(layer)
            if is_odd and self._new[layer] and key not in self._right:
                self._numbers[key] = float(layer.momentum or 0)
            else:
                self._right.add(key)
                self._numbers.pop(key, None)

    def before_backward(self, step: OpenStep, roots: object) -> None:
        """Gradients are about to be computed: look through the graph that they will take.

        Of the first losses after a model got a name; models keep the way they are called.
        """
        self._look_at_ends(roots)
        if step.mode is Mode.TRAIN:
            self._draws.before_backward()
        if self._version != self._names.version:
            self._version, self._in_graphs = self._names.version, {}
            self._losses.forget()
        is_wanted = step.mode is Mode.TRAIN and step.wants(COLLECTION)
        if not is_wanted or self._losses.is_done or not isinstance(roots, torch.Tensor):
            return
        self._in_graphs.update(self._unseparated(products(roots)))
        given = None if self._given is None else self._given()
        names = self._names.parameters
        self._losses.look(roots, given, self._num_samples, names, self._model_name)
        of_samples = self._positions.compared(roots)
        self._in_masks.update((f"setup/sample_positions/{one}", 1.0) for one in of_samples)

    def before_update(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step: note whether it takes next to nothing of gradients."""
        if not step.wants(COLLECTION):
            return
        for group in optimizer.param_groups:
            dampening, momentum = group.get("dampening", 0), group.get("momentum", 0)
            are_known = isinstance(dampening, float) and isinstance(momentum, float)
            if are_known and dampening >= _DAMPENED and 0 < momentum <= 1 - _DAMPENED:
                self._numbers[f"setup/dampened/{type(optimizer).__name__}"] = dampening

    def _look_at_ends(self, roots: object) -> None:
        """Note which recurrent layers give the loss only what is left after padding."""
        sequences, self._sequences = self._sequences, []
        if not isinstance(roots, torch.Tensor):
            return
        for one in sequences:
            key = f"setup/padded_last/{one.name}"
            if takes_last_only(roots, one.whole, one.last, one.dimension):
                self._in_sequences[key] = one.share
            else:
                self._in_sequences.pop(key, None)

    def _unseparated(self, found: list[Product]) -> Iterator[tuple[str, float]]:
        """Yield pairs of layers with no activation between them, by their names.

        With each stands whether that is odd here: its neighbours have one, or no layer has.
        """
        first = {one.before for one in found if one.before is not None}
        owners = {key: owner for one in self._models.values() for key, owner in one.owners.items()}
        for one in found:
            before = one.before
            if before is None or before.weight is one.weight or id(before.weight) not in owners:
                continue
            if before.outputs < min(before.inputs, one.outputs):  # a matrix written as two
                continue
            names = [self._names.parameters.get(id(each.weight), "") for each in (before, one)]
            owner = owners[id(before.weight)]
            if not all(names) or _source(None if owner is None else owner()) is None:
                continue
            others = [each for each in found[:-1] if owners.get(id(each.weight), 0) == owner]
            are_all = len(first) == len(found) - 1
            is_odd = are_all or any(each not in first for each in others)
            # The maps of a last convolution are what the layer on top of it reads.
            is_head = one is found[-1] and before.weight.dim() > one.weight.dim()
            callers = (owner, owners.get(id(one.weight)))
            are_apart = _are_apart(*(None if one is None else one() for one in callers))
            is_meant = (is_head or are_apart) and not are_all
            if is_meant or self._ends_block(before, one, None if owner is None else owner()):
                continue
            layers = [name.rpartition(".")[0] or name for name in names]
            yield f"setup/linear/{'>'.join(layers)}", 1.0 if is_odd else 0.5

    def _ends_block(self, before: Product, after: Product, owner: torch.nn.Module | None) -> bool:
        """Return whether a pair is of two sequences, the first of which is meant to end so.

        As an encoder that ends in a layer without an activation, whose output is a representation:
        it is built like what comes after it, or the script calls it by itself, too, as it does
        where both are models.
        """
        first, second = (
            [one.blocks[key] for one in self._models.values() if key in one.blocks]
            for key in (id(before.weight), id(after.weight))
        )
        if not first or not second or {one.key for one in first} & {one.key for one in second}:
            return False
        names = {one.name for one in first}
        own = names - {""}
        by_itself = "" in names and (bool(own) or {one.name for one in second} == {""})
        alike = first[0].kinds == second[0].kinds
        return alike or by_itself or any(_num_calls(name, owner) > 1 for name in own)

    def listens(self, step: OpenStep) -> bool:
        """Return whether masks and recurrent layers are compared with tokens at a step."""
        is_wanted = step.mode is Mode.TRAIN and step.wants(COLLECTION)
        is_known = (
            self._num_masks >= _MOST_MASKS
            and self._num_sequences >= _MOST_RECURRENT
            and self._batches.is_known
        )
        return is_wanted and not is_known

    def returned(
        self,
        step: OpenStep,  # noqa: ARG002
        module: torch.nn.Module,
        name: str,
        given: tuple[tuple[object, ...], dict[str, object]],
        output: object,
    ) -> None:
        """A module returned: note what it was given, embeds, attends to or goes over."""
        inputs, keywords = given
        first = inputs[0] if inputs else None
        self._states.returned(module, name, inputs, output)
        if isinstance(module, _OF_POSITIONS) and type(first) is torch.Tensor and is_torn(first):
            self._in_masks[f"setup/reshaped/{name}"] = 1.0
        if isinstance(module, _Dropout) and module.training and module.p >= MOST_DROPPED:
            is_noise = self._given is not None and self._given() is first  # of samples
            self._in_masks.update({} if is_noise else {f"setup/drops_most/{name}": module.p})
        if of_samples := self._positions.returned(module, name, first, output):
            self._in_masks[f"setup/sample_positions/{of_samples}"] = 1.0
        if isinstance(module, torch.nn.Embedding) and inputs:
            tokens = inputs[0]
            if type(tokens) is torch.Tensor and tokens.is_cpu and tokens.dim() == 2:
                self._embedded.append(tokens)
                self._note_padding(module, name, tokens)
            return
        edges = [one for one in (*inputs[1:2], keywords.get("edge_index")) if _are_edges(one)]
        if edges and self._num_graphs_given < _MOST_GRAPHS:
            self._num_graphs_given += 1
            with isolated_compute("cpu"):
                ends = to_numpy(edges[0])
                if are_torn(ends):
                    self._in_masks[f"setup/torn_edges/{name}"] = 1.0
                else:
                    found = (one for one, known in pairs() if are_torn_from(ends, known))
                    self._in_masks.update((f"setup/torn_pairs/{name}>{one}", 1.0) for one in found)
        with isolated_compute("cpu"):
            self._batches.returned(name, inputs, keywords, edges[0] if edges else None)
        if not self._embedded:
            return
        if isinstance(module, torch.nn.RNNBase) and inputs:
            self._note_sequence(module, name, inputs[0], output, self._embedded[-1])
            return
        if not keywords or self._num_masks >= _MOST_MASKS:
            return
        mask = next((keywords[key] for key in _MASKS if keywords.get(key) is not None), None)
        if type(mask) is torch.Tensor:
            self._num_masks += 1
            if any(leaves_padding_only(tokens, mask) for tokens in self._embedded):
                self._in_masks[f"setup/padding_only/{name}"] = 1.0

    def _note_padding(self, module: torch.nn.Embedding, name: str, tokens: torch.Tensor) -> None:
        """Note whether the row of padding, which is zero and not trained, is that of a token."""
        padding = module.padding_idx
        if padding is not None and self._num_padded < _MOST_MASKS:
            self._num_padded += 1
            if pads_tokens(to_numpy(tokens), padding):
                self._in_masks[f"setup/pads_tokens/{name}"] = 1.0

    def _note_sequence(
        self,
        module: torch.nn.RNNBase,
        name: str,
        given: object,
        output: object,
        tokens: torch.Tensor,
    ) -> None:
        """Note what a recurrent layer made of tokens that are padded, if it was not told so."""
        if self._num_sequences >= _MOST_RECURRENT or module.bidirectional:
            return
        # A packed sequence knows its lengths.
        if type(given) is not torch.Tensor or not isinstance(output, tuple):
            return
        if given.dim() != 3 or tokens.shape != given.shape[:2]:
            return
        self._num_sequences += 1
        whole, last = output
        last = last[0] if isinstance(last, tuple) else last
        if whole.grad_fn is None or last.grad_fn is None:
            return
        with isolated_compute("cpu"):
            by_sample = to_numpy(tokens if module.batch_first else tokens.T)
            share = padded_share(by_sample)
            across = not share and follow_across(by_sample.T)
        if across:
            self._in_masks[f"setup/across/{name}"] = 1.0
        else:
            self._in_masks.pop(f"setup/across/{name}", None)
        if share:
            edges = (whole.grad_fn, whole.output_nr), (last.grad_fn, last.output_nr)
            self._sequences.append(_Sequence(name, share, *edges, int(module.batch_first)))

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends."""
        numbers = (
            self._numbers
            | self._in_graphs
            | self._losses.found
            | self._in_masks
            | self._in_sequences
        )
        self._numbers, self._right = {}, set()
        self._embedded.clear()
        self._batches.forget()
        self._positions.forget()
        self._sequences = []
        numbers.update((f"setup/detached_state/{name}", 1.0) for name in self._states.complete())
        if self._draws.are_known:
            numbers[f"setup/reseeded/{self._model_name}"] = 1.0
        if layer := self._batches.found:
            numbers[f"setup/no_offset/{layer}"] = 1.0
        if numbers and step.wants(COLLECTION):
            self._observer.numbers(step, numbers, COLLECTION)

    def _look_at(self, model: torch.nn.Module) -> _Model:
        repeated: dict[str, float] = {}
        normalizations: list[tuple[str, ref[BatchNorm]]] = []
        owners: dict[str, torch.nn.Module | None] = {}
        of_parameters: dict[int, ref[torch.nn.Module] | None] = {}
        blocks: dict[str, _Block | None] = {}
        in_blocks: dict[int, _Block] = {}
        for path, module in model.named_modules():
            owner = owners.get(path.rpartition(".")[0])
            for parameter in module.parameters(recurse=False):
                of_parameters[id(parameter)] = None if owner is None else ref(owner)
            name = self._names.of(module) or uncompiled(path)
            is_container = isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential))
            owners[path] = owner if is_container else module
            above, _, attribute = path.rpartition(".")
            block = blocks.get(above) if path else None
            if block is None and isinstance(module, torch.nn.Sequential):
                kinds = tuple(type(one).__name__ for one in module)
                if {*kinds} != {"Sequential"}:
                    block = _Block(id(module), attribute, kinds)
            blocks[path] = block
            if block is not None:
                in_blocks.update((id(one), block) for one in module.parameters(recurse=False))
            if isinstance(module, BatchNorm) and module.running_mean is not None:
                normalizations.append((name, ref(module)))
            elif is_container and (places := _places(module, owner)):
                repeated[f"setup/repeated/{name}"] = float(places)
        return _Model(self._names.version, repeated, normalizations, of_parameters, in_blocks)


def _are_apart(first: torch.nn.Module | None, second: torch.nn.Module | None) -> bool:
    """Return whether two layers are called by two modules, of which none is part of the other.

    What an encoder ends in is a representation, which a projection beside it may take as it is.
    """
    if first is None or second is None or first is second:
        return False
    return all(first is not one for one in second.modules()) and all(
        second is not one for one in first.modules()
    )


def _places(container: torch.nn.Module, owner: torch.nn.Module | None) -> int:
    """Return at how many places of a container one layer stands by mistake; 0 for none.

    Layers without a matrix, such as activations, may stand anywhere. A list may hold the heads of
    several layers: it was written as ``[layer] * n``, or all its entries are this one, and return
    what they take.

    Args:
        container: A list of modules, or a sequence.
        owner: The module that it is an attribute of; ``None`` where the script holds it.
    """
    parts = [part for part in container._modules.values() if part is not None]
    matrices = {id(part): _matrices(part) for part in parts}
    layers = [id(part) for part in parts if matrices[id(part)]]
    most = max(layers, key=layers.count, default=0)
    if layers.count(most) < 2:
        return 0
    source = _source(owner)
    if source is None or _SHARED.search(source):
        return 0
    shapes = matrices[most]
    is_chain = layers.count(most) == len(layers) and shapes[0][1] == shapes[-1][0]
    is_sequence = isinstance(container, torch.nn.Sequential)
    return layers.count(most) if is_sequence or is_chain or _MULTIPLIED.search(source) else 0


def _matrices(module: torch.nn.Module) -> list[torch.Size]:
    parameters = [one for one in module.parameters() if not torch.nn.parameter.is_lazy(one)]
    return [one.shape for one in parameters if one.dim() > 1 and one.requires_grad]


def _source(owner: torch.nn.Module | None) -> str | None:
    """Return the code of a class, or of the script; ``None`` for that of a library.

    It is empty where there is no file of it, as in a notebook.
    """
    kind = None if owner is None else type(owner)
    module = sys.modules.get("__main__" if kind is None else kind.__module__)
    file = str(getattr(module, "__file__", None) or "")
    if kind is not None and file.startswith(_INSTALLED):
        return None
    with suppress(OSError, TypeError, SyntaxError):
        return inspect.getsource(kind or module)  # type: ignore[arg-type]  # what is not there raises
    return ""


def _num_calls(name: str, owner: torch.nn.Module | None) -> int:
    """Return at how many places the code of a class and of the script calls an attribute."""
    script, own = _source(None) or "", _source(owner) or ""
    code = script if own in script else script + own
    return len(re.findall(rf"\.{re.escape(name)}\(", code))


def _is_odd(layer: BatchNorm) -> bool:
    """Return whether the momentum of a normalization is none that keeps statistics.

    It is the share that is new, and not the share that is kept.
    """
    momentum = layer.momentum
    if not isinstance(momentum, (int, float)) or not math.isfinite(momentum):
        return False
    return momentum >= MOST_MOMENTUM or momentum < LEAST_MOMENTUM


def _is_new(layer: BatchNorm) -> bool:
    """Return whether running statistics are those of a new layer; others may stay on purpose."""
    mean = layer.running_mean
    if not isinstance(mean, torch.Tensor) or torch.nn.parameter.is_lazy(mean):
        return True
    with torch.no_grad():
        return not bool(mean.any())


def leaves_padding_only(tokens: torch.Tensor, mask: torch.Tensor) -> bool:
    """Return whether of some tokens a mask hides several different ones, and leaves one only.

    Args:
        tokens: Whole numbers, shape ``[samples, length]``.
        mask: True, or a large negative number, where a token is hidden; of the same shape.
    """
    if mask.shape != tokens.shape or not mask.is_cpu:
        return False
    with isolated_compute("cpu"):
        hides = mask if mask.dtype is torch.bool else mask <= _HIDDEN
        return hides_all_but_padding(to_numpy(tokens), to_numpy(hides).astype(bool))
