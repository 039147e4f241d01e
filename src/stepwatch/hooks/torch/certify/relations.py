"""The relations: each says when it applies, what it changes, and what must be equal.

A relation that cannot tell says why in one line: it is better not to judge than to accuse.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MethodType
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from ....diff.parting import HeldStep, NoiseBand
from ....model.record import is_integer
from ....model.steps import Mode
from ....numerics.statistics import COUNT, NAN, NEGINF, POSINF, SUM
from ..internals import replace_code
from .session import (
    Break,
    Call,
    Facts,
    Relation,
    RunOutcome,
    Session,
    normalizes_batch,
    own_random_numbers,
    rows_of,
    why_not_of_parts,
)

_BFLOAT16 = 2.0**-8
_CLOSE = 1e-3  # of the largest: kernels for other sizes sum in another order


def _of_rows(facts: Facts) -> str:
    """Return why the rows of a batch cannot be told from each other."""
    if facts["model_draws"]:
        return f"{facts['model_draws']} draws random numbers, others for each row"
    if facts["time_first"]:
        return f"{facts['time_first']} takes time first: rows of its input are no samples"
    trained = [one for one in facts["inputs"] if one and one[0] is True]
    if not facts["trained_loaders"] and len({str(one[1:3]) for one in trained}) < 2:
        return "every step is given the same batch, so its rows may belong together"
    return ""


class _RowCall:
    """The rows of what a module is given and returns.

    Args:
        session: Knows the batch.
        given: ``(args, kwargs)``.
    """

    def __init__(self, session: Session, given: Any) -> None:
        self.leaves, self.spec = tree_flatten(given)
        tensors = [one for one in self.leaves if isinstance(one, torch.Tensor) and one.ndim]
        first = tensors[0] if tensors else None
        self.rows = 0 if first is None else first.shape[0]
        self.why = ""
        if first is None:
            self.why = "a model is given no tensor"
        elif session.known["trained_loaders"] and session.rows != self.rows:
            self.why = "what a model is given has not as many rows as the batch of the loader"
        elif first.is_floating_point() and first.ndim < 2:
            self.why = "a model is given a vector, which is no batch"
        elif self.rows < 2:
            self.why = "a batch has one row"
        elif any(one.shape[0] != self.rows and self.rows in one.shape for one in tensors):
            self.why = "a model is given a tensor whose rows are not in its first dimension"

    def given(self, rows: torch.Tensor) -> Any:
        """Return the arguments with these rows only, in this order."""
        leaves = [
            one[rows] if isinstance(one, torch.Tensor) and one.ndim and one.shape[0] == self.rows
            else one
            for one in self.leaves
        ]  # fmt: skip
        return tree_unflatten(leaves, self.spec)


class PermutedBatch(Relation):
    """The rows of what a model is given stand in another order, and those that it returns back."""

    name = "permuted-batch"
    title = "rows in another order give the same"
    points_at = "a model in which a row depends on its place in the batch, or a reshape that mixes"

    def why_not(self, facts: Facts) -> str:
        return _of_rows(facts)

    def around(self, session: Session, module: torch.nn.Module, call: Call, given: Any) -> Any:
        del module
        rows = _RowCall(session, given)
        if rows.why:
            session.refuse(rows.why)
            return call(given)
        generator = torch.Generator().manual_seed(rows.rows)
        order = torch.randperm(rows.rows, generator=generator)
        back = torch.argsort(order)
        with own_random_numbers() if not torch.is_grad_enabled() else _nothing():
            leaves, spec = tree_flatten(call(rows.given(order)))
        session.facts["changed"] += 1
        for at, one in enumerate(leaves):
            if isinstance(one, torch.Tensor):
                for dim, size in enumerate(one.shape):
                    if size == rows.rows and (dim == 0 or one.shape[0] != rows.rows):
                        leaves[at] = one = one.index_select(dim, back)
                        break
                is_square = one.ndim == 2 and one.shape[0] == one.shape[1] == rows.rows
                if is_square and session.known["pairwise"]:  # else there are as many columns
                    leaves[at] = one.index_select(1, back)
        return tree_unflatten(leaves, spec)


class RowsApart(Relation):
    """A model is given one half of a batch, then the other."""

    name = "rows-apart"
    title = "a row gives the same whatever stands beside it"
    points_at = "a model in which rows see each other: a softmax or mean over the batch, or batch \
normalization left in training mode"
    compared = frozenset({"outputs", "losses", "gradients"})
    first_steps = 4

    def why_not(self, facts: Facts) -> str:
        return _of_rows(facts)

    def around(self, session: Session, module: torch.nn.Module, call: Call, given: Any) -> Any:
        rows = _RowCall(session, given)
        trains = torch.is_grad_enabled() or not session.is_evaluation(module)
        if trains and normalizes_batch(module):
            rows.why = "batch normalization relates rows in training"
        if session.known["pairwise"] and trains:
            rows.why = "the model or its loss compares rows with each other"
        if rows.why:
            session.refuse(rows.why)
            return call(given)
        parts = torch.arange(rows.rows).chunk(2)
        if not torch.is_grad_enabled():  # each forward is a step of its own
            return self._evaluated(session, call, given, [rows.given(part) for part in parts])
        found = [tree_flatten(call(rows.given(part))) for part in parts]
        joined = []
        for one, other in zip(found[0][0], found[1][0], strict=True):
            if not isinstance(one, torch.Tensor):
                joined.append(one)
            elif one.ndim and one.shape[0] == len(parts[0]):
                joined.append(torch.cat([one, other]))
            else:
                session.refuse("a model returns what has no rows, such as its loss")
                session.end("rows cannot be told apart")
        session.facts["changed"] += 1
        return tree_unflatten(joined, found[0][1])

    def _evaluated(self, session: Session, call: Call, given: Any, halves: list[Any]) -> Any:
        """Return what a call returns, and note whether its halves return something else."""
        result = call(given)
        assert session.hook is not None
        with session.hook.unobserved(), own_random_numbers():
            parts = [tree_flatten(call(half))[0] for half in halves]
        for at, whole in enumerate(tree_flatten(result)[0]):
            both = [part[at] for part in parts]
            if not isinstance(whole, torch.Tensor) or not whole.is_floating_point():
                continue
            sizes = [one.shape[0] if one.ndim else 0 for one in both]
            if not whole.ndim or sum(sizes) != whole.shape[0]:
                continue
            session.facts["changed"] += 1
            apart = (whole - torch.cat(both)).abs().max().item()
            largest = whole.abs().max().item()
            if apart > _CLOSE * max(largest, 1e-30) and not session.facts["changes"]:
                session.facts["changes"] = (
                    f"its output differs by {apart:.3g}, at most it is {largest:.3g}"
                )
        return result

    def judge(self, base: RunOutcome, run: RunOutcome, band: NoiseBand) -> Break | None:
        halves = {step.key: step for step in run.steps}
        values = replace(
            base,
            steps=[
                _of_rows_of(step, halves[step.key]) for step in base.steps if step.key in halves
            ],
        )
        found = super().judge(values, run, band)
        if found is None and run.facts["changes"]:
            return Break("evaluation", run.facts["changes"])
        return found

    def why_unchanged(self, facts: Facts) -> str:
        if "returns what has no rows" in facts["refused"]:
            return str(facts["refused"])
        return super().why_unchanged(facts)


class EvaluationTwice(Relation):
    """Each call that evaluates is made twice, from the same random numbers."""

    name = "evaluation-twice"
    title = "evaluating twice is the same, and changes nothing"
    points_at = "dropout or a draw in evaluation, or a model that changes by being evaluated"
    fixed = False

    def why_not(self, facts: Facts) -> str:
        return "" if facts["evaluations"] else "the first steps hold no evaluation"

    def around(self, session: Session, module: torch.nn.Module, call: Call, given: Any) -> Any:
        if not session.is_evaluation(module):
            return call(given)
        session.facts["changed"] += 1
        before = {name: one.clone() for name, one in module.state_dict().items() if _is_kept(one)}
        assert session.hook is not None
        with session.hook.unobserved(), own_random_numbers():
            call(given)
        for name, now in module.state_dict().items():
            if name in before and not _is_equal(before[name], now):
                session.facts["changes"] = session.facts["changes"] or name
        return call(given)

    def judge(self, base: RunOutcome, run: RunOutcome, band: NoiseBand) -> Break | None:
        if run.facts["changes"]:
            return Break("evaluation", f"it changes {run.facts['changes']}")
        if where := run.facts["dropout_in_evaluation"]:
            return Break(f"evaluation, in {where}", "dropout is active while the model evaluates")
        return super().judge(base, run, band)


class EagerIsCompiled(Relation):
    """A model is called by way of ``torch.compile``; one that is compiled, without."""

    name = "eager-compiled"
    title = "compiled and eager give the same"
    points_at = "a model that depends on Python state or on how often it ran"
    compared = frozenset({"weights", "gradients", "losses"})
    first_steps = enough_steps = 6

    def __init__(self) -> None:
        self._compiled: dict[int, Any] = {}

    def why_not(self, facts: Facts) -> str:
        del facts
        return ""

    def install(self, session: Session) -> None:
        del session  # before it puts what compiles nothing in its place
        self._compile = torch.compile

    def around(self, session: Session, module: torch.nn.Module, call: Call, given: Any) -> Any:
        if not torch.is_grad_enabled():
            return call(given)
        compiled = self._compiled.get(id(module))
        if compiled is None:
            compiled = self._compile(type(module).forward, backend="aot_eager", dynamic=False)
            self._compiled[id(module)] = compiled
        forward = module.forward
        module.__dict__["forward"] = lambda *args, **kwargs: compiled(module, *args, **kwargs)
        try:
            result = call(given)
        finally:
            del module.__dict__["forward"]
            if getattr(forward, "__self__", None) is not module:
                module.__dict__["forward"] = forward
        session.facts["changed"] += 1
        return result


class Accumulation(Relation):
    """Micro-batches that are accumulated give what one batch of all their rows gives."""

    name = "accumulation"
    title = "accumulated micro-batches are one batch"
    points_at = "a loss that is not divided by the number of micro-batches, is averaged within \
each of them, or is clipped before they are summed"
    compared = frozenset({"gradients"})
    first_steps = 1

    def why_not(self, facts: Facts) -> str:
        k = max(facts["backwards"][:1])
        why = why_not_of_parts(facts)
        if why:
            return why
        first = [one for one in facts["losses"] if one[0] == 0]
        weights = [weight for step, weight in facts["loss_weights"] if step == 0]
        if k == 1:
            if facts["ignored"]:
                return "its loss leaves out targets, so a mean of means is another mean"
            if len({round(weight, 9) for _, weight in facts["loss_weights"]}) > 1:
                return "its loss is no plain mean or sum over rows"
            if first[0][2] == "sum" and weights[0] != 1:
                return "its loss is a sum, which the script divides"
        elif any(one[2] != "mean" for one in first):
            return "its loss is a sum, which is not scaled"
        return ""

    def install(self, session: Session) -> None:
        facts = session.known
        self._own = max(facts["backwards"][:1])
        self._k = self._own if self._own > 1 else 2
        self._sums = any(one[2] == "sum" for one in facts["losses"])
        self._at, self._share = 0, 1.0
        # Of each micro-batch that has no backward yet: which it is, its share, and whether it is
        # of all rows. A trainer fetches some before they are trained on.
        self._waiting: deque[tuple[int, float, bool]] = deque()
        self._has_gradients = False  # of a micro-batch of this step
        put = session.patches.put
        put(torch.Tensor, "backward", self._backward)
        if self._own > 1:
            from ..patches import functional_losses

            for _, function in functional_losses():
                replace_code(function, self._unscaled)
            return
        put(torch.optim.Optimizer, "__init__", self._made)
        put(torch.nn.Module, "zero_grad", self._unless_kept)
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            put(torch.nn.utils, name, self._only_last)

    def batches(self, session: Session, loader: int, batches: Iterator[Any]) -> Iterator[Any]:
        if loader not in session.known["trained_loaders"]:
            yield from batches
            return
        group: list[Any] = []
        for batch in batches:
            if session.num_trained:  # one step is compared
                session.end("the first step is over")
            if self._own == 1:
                yield from self._split(session, batch)
                continue
            group.append(batch)
            if len(group) == self._own:
                yield from self._merged(session, group)
                group = []
        if group:  # a last step of fewer
            yield from self._merged(session, group)

    def _split(self, session: Session, batch: Any) -> Iterator[Any]:
        leaves, spec = tree_flatten(batch)
        rows = rows_of(batch)
        if rows is None or rows < self._k or not all(isinstance(x, torch.Tensor) for x in leaves):
            session.refuse("a batch of the loader cannot be split into rows")
            session.end("nothing to split")
            return
        parts = torch.arange(rows).chunk(self._k)
        for at, part in enumerate(parts):
            self._waiting.append((at, 1.0 if self._sums else len(part) / rows, True))
            session.facts["changed"] += 1
            yield tree_unflatten([x[part] if x.ndim else x for x in leaves], spec)

    def _merged(self, session: Session, group: list[Any]) -> Iterator[Any]:
        flat = [tree_flatten(batch)[0] for batch in group]
        spec = tree_flatten(group[0])[1]
        shapes = [[tuple(getattr(x, "shape", ()))[1:] for x in leaves] for leaves in flat]
        is_plain = all(isinstance(x, torch.Tensor) and x.ndim for leaves in flat for x in leaves)
        if not is_plain or any(one != shapes[0] for one in shapes):
            session.refuse("micro-batches have other shapes, and cannot be one batch")
            session.end("nothing to merge")
            return
        for at, batch in enumerate(group):
            is_big = at == len(group) - 1
            self._waiting.append((at, float(is_big), is_big))
            session.facts["changed"] += 1
            if is_big:
                yield tree_unflatten([torch.cat(x) for x in zip(*flat, strict=True)], spec)
            else:
                yield batch

    def _backward(self, original: Any) -> Any:
        def backward(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if self._waiting:
                self._at, self._share, _ = self._waiting.popleft()
            self._has_gradients = True
            return original(tensor * self._share, *args, **kwargs)

        return backward

    def _unscaled(self, original: Any) -> Any:
        """Let the gradient of a loss be that of its plain mean, however the script scales it."""

        def loss(*args: Any, **kwargs: Any) -> Any:
            value = original(*args, **kwargs)
            is_big = bool(self._waiting) and self._waiting[0][2]
            if is_big and isinstance(value, torch.Tensor) and value.requires_grad:
                value.register_hook(torch.ones_like)  # type: ignore[no-untyped-call]
            return value

        return loss

    def _made(self, original: Any) -> Any:
        def make(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            step, zero = optimizer.step, optimizer.zero_grad

            def only_last(_: Any, *given: Any, **named: Any) -> Any:
                if self._at < self._k - 1:
                    return None
                self._has_gradients = False
                return step(*given, **named)

            def unless_kept(_: Any, *given: Any, **named: Any) -> Any:
                return None if self._has_gradients else zero(*given, **named)

            # Methods: a scheduler wraps what is behind the method.
            optimizer.step = MethodType(only_last, optimizer)
            optimizer.zero_grad = MethodType(unless_kept, optimizer)

        return make

    def _unless_kept(self, original: Any) -> Any:
        def zero(*given: Any, **named: Any) -> Any:
            return None if self._has_gradients else original(*given, **named)

        return zero

    def _only_last(self, original: Any) -> Any:
        def clip(*args: Any, **kwargs: Any) -> Any:
            if self._at == self._k - 1:
                return original(*args, **kwargs)
            return torch.zeros(())

        return clip


class Autocast(Relation):
    """A model is called in bfloat16 where torch casts; one that casts by itself, as it does."""

    name = "autocast"
    title = "bfloat16 by autocast is float32 but for rounding"
    points_at = "a sum, a count or a softmax that bfloat16 does not hold"
    compared = frozenset({"losses", "outputs"})
    epsilon = 4 * _BFLOAT16
    first_steps = 2
    casts = True

    def why_not(self, facts: Facts) -> str:
        return "the model draws random numbers" if facts["model_draws"] else ""

    def around(self, session: Session, module: torch.nn.Module, call: Call, given: Any) -> Any:
        if session.known["autocasts"]:  # as it does by itself, and in no other run
            session.facts["changed"] += 1
            return call(given)
        device = next(module.parameters()).device.type
        with torch.autocast(device, torch.bfloat16):
            leaves, spec = tree_flatten(call(given))
        session.facts["changed"] += 1
        is_low = (torch.bfloat16,)
        wide = [
            one.float() if isinstance(one, torch.Tensor) and one.dtype in is_low else one
            for one in leaves
        ]
        return tree_unflatten(wide, spec)


class Checkpointed(Relation):
    """Activations that a script computes again in its backward are kept instead."""

    name = "checkpointed"
    title = "activations computed again are those that were kept"
    points_at = "a forward that gives something else the second time: dropout without its random \
state, a value that was changed in place, a counter"
    fixed = False

    def why_not(self, facts: Facts) -> str:
        return "" if facts["checkpoints"] else "no activations are checkpointed"

    def install(self, session: Session) -> None:
        import torch.utils.checkpoint as home

        options = ("use_reentrant", "context_fn", "determinism_check", "debug")

        def keep(original: Any) -> Any:
            del original

            def run(function: Any, *args: Any, **kwargs: Any) -> Any:
                session.facts["changed"] += 1
                for name in (*options, "preserve_rng_state", "early_stop"):
                    kwargs.pop(name, None)
                return function(*args, **kwargs)

            return run

        session.patches.put(home, "checkpoint", keep)


class Seeds(Relation):
    """Every seed is another one."""

    name = "seeds"
    title = "two seeds agree in kind"
    points_at = "a training that learns or not by luck of its seed: a rate or an initialization \
at the edge"
    fixed = False

    def why_not(self, facts: Facts) -> str:
        del facts
        return ""

    def install(self, session: Session) -> None:
        import random

        import numpy as np

        for owner, name in ((torch, "manual_seed"), (np.random, "seed"), (random, "seed")):
            session.patches.put(owner, name, _other_seed)
        torch.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        session.facts["changed"] += 1

    def judge(self, base: RunOutcome, run: RunOutcome, band: NoiseBand) -> Break | None:
        del band
        here, there = _losses(base.steps), _losses(run.steps)
        if not here or not there:
            return None
        finite = [all(map(math.isfinite, one)) for one in (here, there)]
        if finite[0] != finite[1]:
            which = "one seed" if finite[0] else "the script's own seed"
            return Break("loss", f"it is not finite with {which}")
        if not finite[0]:
            return None
        falls = [_fall(one) for one in (here, there)]
        if min(falls) < 0.5 and max(falls) > 2.0:
            return Break(
                "loss", f"it becomes {falls[1]:.2g} of what it was instead of {falls[0]:.2g}"
            )
        return None


class PaddedLonger(Relation):
    """Sequences of token ids are padded by four more places, masked as the others are."""

    name = "padded-longer"
    title = "more padding gives the same"
    points_at = "a mask that is left out: attention, a mean or a last state over padding"
    compared = frozenset({"losses", "gradients"})
    first_steps = enough_steps = 2
    _more = 4

    def why_not(self, facts: Facts) -> str:
        return "the model draws random numbers" if facts["model_draws"] else ""

    def around(self, session: Session, module: torch.nn.Module, call: Call, given: Any) -> Any:
        del module
        kwargs = given[1]
        mask = kwargs.get("attention_mask")
        padding = session.known["embedding_padding"]
        leaves, spec = tree_flatten(given)
        first = next((one for one in leaves if isinstance(one, torch.Tensor)), None)
        if first is None or first.is_floating_point() or first.ndim != 2:
            session.refuse("a model is given no sequences of token ids")
            return call(given)
        if mask is None and (padding is None or not bool((first[:, -1] == padding).any())):
            session.refuse("a model is given no mask, and nothing at the end of a row is padding")
            return call(given)
        if mask is not None and bool((mask[:, 0] == 0).any()):
            session.refuse("rows are padded at their beginning")
            return call(given)
        length = first.shape[1]
        fill = {id(mask): 0, id(kwargs.get("labels")): -100}
        fill[id(first)] = padding or 0

        def pad(one: Any) -> Any:
            is_row = isinstance(one, torch.Tensor) and one.ndim == 2 and one.shape[1] == length
            if not is_row or id(one) not in fill:
                return one
            return torch.nn.functional.pad(one, (0, self._more), value=fill[id(one)])

        leaves, spec = tree_flatten(call(tree_unflatten([pad(x) for x in leaves], spec)))
        session.facts["changed"] += 1
        shorter = [
            x[:, :length]
            if isinstance(x, torch.Tensor) and x.ndim > 1 and x.shape[1] == length + self._more
            else x
            for x in leaves
        ]
        return tree_unflatten(shorter, spec)


class PackedApart(Relation):
    """Documents that are packed into one row are given to the model one by one."""

    name = "packed-apart"
    title = "documents packed together give what each gives alone"
    points_at = "attention across the documents of a row, or positions that go on from one to next"
    compared = frozenset({"losses", "gradients"})
    first_steps = enough_steps = 2

    def why_not(self, facts: Facts) -> str:
        return "the model draws random numbers" if facts["model_draws"] else ""

    def around(self, session: Session, module: torch.nn.Module, call: Call, given: Any) -> Any:
        del module
        leaves, spec = tree_flatten(given)
        whole = [one for one in leaves if isinstance(one, torch.Tensor)]
        ids = whole[0] if whole else None
        if ids is None or ids.is_floating_point() or ids.ndim != 2:
            session.refuse("a model is given no sequences of token ids")
            return call(given)
        starts = next((s for one in whole[1:] if (s := _starts(one, ids)) is not None), None)
        if starts is None:
            session.refuse("nothing says where documents begin in a row")
            return call(given)
        rows: list[torch.Tensor] = []
        length = ids.shape[1]
        for row in range(ids.shape[0]):
            edges = [*torch.nonzero(starts[row]).flatten().tolist(), length]
            parts = [
                call(tree_unflatten([_piece(x, row, a, b, ids) for x in leaves], spec))
                for a, b in pairwise(edges)
            ]
            if not all(isinstance(x, torch.Tensor) and x.ndim > 1 for x in parts):
                session.refuse("a model returns something else than a tensor with places")
                session.end("documents cannot be put together")
            rows.append(torch.cat(parts, dim=1))
        session.facts["changed"] += 1
        return torch.cat(rows)


def _of_rows_of(whole: HeldStep, halves: HeldStep) -> HeldStep:
    """Return a step without what says nothing of rows.

    That are outputs which are integers, as lengths and places of rows differ, and those that come
    once more for each half, such as the table of positions.
    """
    counts = dict(zip(halves.names, halves.statistics[:, COUNT], strict=True))
    kept = [
        row
        for row, kind in enumerate(whole.collections)
        if kind != "outputs"
        or not (
            is_integer(whole.dtypes[row])
            or counts.get(whole.names[row]) == 2 * whole.statistics[row, COUNT]
        )
    ]
    names, collections, dtypes = (
        tuple(each[row] for row in kept) for each in (whole.names, whole.collections, whole.dtypes)
    )
    return replace(
        whole,
        names=names,
        collections=collections,
        dtypes=dtypes,
        statistics=whole.statistics[kept],
    )


def _starts(one: torch.Tensor, ids: torch.Tensor) -> torch.Tensor | None:
    """Return where documents begin, if a tensor counts positions or documents."""
    if one.shape != ids.shape or one.is_floating_point() or one.dtype == torch.bool:
        return None
    step = one[:, 1:] - one[:, :-1]
    first = torch.ones_like(one[:, :1], dtype=torch.bool)
    if bool((one[:, 0] == 0).all()) and bool(((step == 1) | (one[:, 1:] == 0)).all()):
        starts = torch.cat([first, one[:, 1:] == 0], dim=1)
    elif bool(((step == 0) | (step == 1)).all()):
        starts = torch.cat([first, step == 1], dim=1)
    else:
        return None
    return starts if bool((starts.sum(1) > 1).any()) else None


def _piece(one: Any, row: int, begin: int, end: int, ids: torch.Tensor) -> Any:
    is_row = isinstance(one, torch.Tensor) and one.ndim > 1 and one.shape[:2] == ids.shape
    return one[row : row + 1, begin:end] if is_row else one


def _is_kept(one: object) -> bool:
    return isinstance(one, torch.Tensor)


def _is_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(one, other) or bool(((one == other) | (one != one)).all())


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def _other_seed(original: Callable[..., Any]) -> Any:
    def seed(number: Any = 0, *rest: Any, **named: Any) -> Any:
        return original(number + 1009 if isinstance(number, int) else number, *rest, **named)

    return seed


def _losses(steps: Sequence[HeldStep]) -> list[float]:
    """Return the mean of the first loss of each TRAIN step."""
    found = []
    for step in steps:
        rows = [row for row, kind in enumerate(step.collections) if kind == "losses"]
        if step.mode is Mode.TRAIN and rows:
            loss = step.statistics[rows[0]]
            is_finite = not loss[[NAN, POSINF, NEGINF]].any()  # the sum is of what is finite
            found.append(float(loss[SUM] / loss[COUNT]) if is_finite else math.inf)
    return found


def _fall(losses: Sequence[float]) -> float:
    """Return what share of it the loss of the first quarter is in the last quarter."""
    part = max(1, len(losses) // 4)
    first, last = sum(losses[:part]), sum(losses[-part:])
    return last / first if first > 0 and last > 0 else 1.0


RELATIONS: tuple[type[Relation], ...] = (
    PermutedBatch, RowsApart, EvaluationTwice, EagerIsCompiled, Accumulation, Autocast,
    Checkpointed, PaddedLonger, PackedApart, Seeds,
)  # fmt: skip
