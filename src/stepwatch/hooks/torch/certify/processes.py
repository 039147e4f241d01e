"""Relations of a script that is started more than once: again, or in several processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch.utils.data import DataLoader, DistributedSampler

from ....diff.parting import HeldRun, NoiseBand, first_parting
from ....model.steps import Mode
from ....numerics.statistics import SUM
from .session import (
    Break,
    Call,
    Facts,
    Relation,
    RunOutcome,
    Session,
    digest_of,
    rows_of,
    trained_inputs,
    why_not_of_parts,
)

_NUM_PROCESSES = 2
#: By how much rates are often scaled for two processes.
_SCALES = (2.0, math.sqrt(2.0))
_CLOSE = 1e-6
_SAMPLER = ("num_replicas", "rank", "shuffle", "seed", "drop_last")


class Resumed(Relation):
    """A script is stopped after it saved a checkpoint, and started again in the same folder."""

    name = "resumed"
    title = "stopped and resumed is straight"
    points_at = "a checkpoint without the state of the optimizer or its schedule, or weights that \
are not loaded under their names"
    fixed = False
    stops = True

    def why_not(self, facts: Facts) -> str:
        return "" if facts["saves"] else "the script saves no checkpoint in the first steps"

    def around(self, session: Session, module: torch.nn.Module, call: Call, given: Any) -> Any:
        facts = session.facts
        if not torch.is_grad_enabled():
            return call(given)
        if "stopped" in session.known:
            facts.setdefault("state", _state(session, module))
        elif facts["saved_after"] is not None:
            facts["state"] = _state(session, module)
            session.end("it is stopped after a checkpoint")
        return call(given)

    def why_unchanged(self, facts: Facts) -> str:
        if not facts["loads"]:
            return "started again, the script loads no checkpoint"
        return "" if "state" in facts else "started again, the script trains no more"

    def install(self, session: Session) -> None:
        session.facts["stopped"] = session.known.get("stopped")

    def judge(self, base: RunOutcome, run: RunOutcome, band: NoiseBand) -> Break | None:
        del base, band
        was = run.facts["stopped"]
        now = run.facts["state"]
        if was is None:
            return None
        for what in ("weights", "optimizer", "learning rate"):
            for name, value in was[what].items():
                if now[what].get(name) != value:
                    found = "missing" if name not in now[what] else "not what was saved"
                    return Break(f"the first step after, {what}", f"{name} is {found}")
        return None


class ResumedData(Resumed):
    """A script that is started again goes on with the batch that would have come next."""

    name = "resumed-data"
    title = "resumed, the data go on where they were"
    points_at = "an epoch that begins anew: the batches before the checkpoint are trained on \
twice, those at its end perhaps never"

    def why_not(self, facts: Facts) -> str:
        why = super().why_not(facts)
        after, trained = facts["saved_after"], trained_inputs(facts)
        if why or after is None or after >= len(trained):
            return why or "the script saves no checkpoint while it trains"
        starts = _epoch_starts(facts)
        if not starts:
            return "the batches do not come from a DataLoader"
        if after in starts:
            return "the checkpoint is saved at the end of an epoch"
        return "" if len(set(trained)) > 1 else "every step is given the same batch"

    def install(self, session: Session) -> None:
        super().install(session)
        after, trained = session.known["saved_after"], trained_inputs(session.known)
        begin = max(start for start in _epoch_starts(session.known) if start <= after)
        session.facts["past"], session.facts["next"] = trained[begin:after], trained[after]

    def why_unchanged(self, facts: Facts) -> str:
        why = super().why_unchanged(facts)
        is_other = not why and trained_inputs(facts)[0] not in (*facts["past"], facts["next"])
        return "started again, the script draws other batches" if is_other else why

    def judge(self, base: RunOutcome, run: RunOutcome, band: NoiseBand) -> Break | None:
        del base, band
        first, past = trained_inputs(run.facts)[0], run.facts["past"]
        if first not in past:
            return None
        return Break(
            "the first step after",
            f"it is given batch {past.index(first)} of the epoch again, of {len(past)} that were "
            "trained on before it was saved",
        )


def _epoch_starts(facts: Facts) -> set[int]:
    """Return after how many calls in training an epoch of what is trained on began."""
    return {calls for loader, calls in facts["epoch_starts"] if loader in facts["trained_loaders"]}


def _state(session: Session, module: torch.nn.Module) -> dict[str, dict[str, Any]]:
    """Return what a training goes on from, as sums by name."""
    state: dict[str, dict[str, Any]] = {
        "weights": {name: _sums(one) for name, one in module.state_dict().items()},
        "optimizer": {},
        "learning rate": {},
    }
    for number, optimizer in enumerate(session.optimizers):
        kind = type(optimizer).__name__
        for index, group in enumerate(optimizer.param_groups):
            state["learning rate"][f"{kind} {number} group {index}"] = float(group["lr"])
            for at, parameter in enumerate(group["params"]):
                for key, one in optimizer.state.get(parameter, {}).items():
                    state["optimizer"][f"{kind} {number} {key} {index}.{at}"] = _sums(one)
    return state


def _sums(one: object) -> list[float]:
    if not isinstance(one, torch.Tensor):
        return [float(one)] if isinstance(one, (int, float)) else []
    wide = one.detach().double()
    return [float(wide.sum()), float(wide.abs().sum())]


class TwoProcesses(Relation):
    """Two processes that share each batch train as one that has all of it."""

    name = "two-processes"
    title = "two processes are one"
    points_at = "gradients that are not averaged over the processes, as of a model that is called \
around DistributedDataParallel, or clipped before; a schedule that each process moves"
    compared = frozenset({"weights", "gradients", "learning_rates"})
    processes = _NUM_PROCESSES

    def why_not(self, facts: Facts) -> str:
        if not facts["distributed"] and not facts["asks_rank"]:
            return "the script starts no process group, nor asks for its rank"
        if facts["ignored"]:
            return "its loss leaves out targets, so a mean of means is another mean"
        if any(one[2] != "mean" for one in facts["losses"]):
            return "its loss is a sum, which is not scaled"
        return why_not_of_parts(facts)

    def install(self, session: Session) -> None:
        facts = session.facts
        facts["handed"], facts["one"] = [], session.known.get("handed")
        facts["changed"] += 1
        if session.processes > 1:
            self._divide: dict[int, Callable[[], object]] = {}
            self._sizes = session.known["batch_sizes"]
            session.patches.put(DistributedSampler, "__init__", self._sampler)
            session.patches.put(DataLoader, "__init__", self._loader)

    def batches(self, session: Session, loader: int, batches: Iterator[Any]) -> Iterator[Any]:
        if loader not in session.known["trained_loaders"]:
            yield from batches
            return
        size = session.known["batch_sizes"][loader] or 0
        for batch in batches:
            part = _part(batch, size, session.rank) if session.processes > 1 else batch
            session.facts["handed"].append(digest_of(part))
            yield part

    def _sampler(self, original: Any) -> Any:
        """Let each process have all rows: batches are divided instead."""

        def make(sampler: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
            self._divide[id(sampler)] = lambda: original(sampler, dataset, *args, **kwargs)
            named = {**dict(zip(_SAMPLER, args, strict=False)), **kwargs}
            original(sampler, dataset, **{**named, "num_replicas": 1, "rank": 0})

        return make

    def _loader(self, original: Any) -> Any:
        """Let a sampler divide the rows where the script itself makes smaller batches."""

        def make(loader: Any, *args: Any, **kwargs: Any) -> None:
            original(loader, *args, **kwargs)
            size = loader.batch_size or 0
            is_part = size not in self._sizes and _NUM_PROCESSES * size in self._sizes
            divide = self._divide.get(id(loader.sampler))
            if is_part and divide is not None:
                divide()

        return make

    def why_unchanged(self, facts: Facts) -> str:
        if not facts["distributed"]:
            return "in two processes the script starts no process group"
        others = [one.get("handed") for one in facts["others"]]
        if None in others:
            return "one of two processes did not end"
        for here, there, whole in zip(facts["handed"], *others, facts["one"], strict=False):
            for a, b, both in zip(here, there, whole, strict=False):
                if not any(math.isclose(a + b, k * both, rel_tol=_CLOSE) for k in (1, 2)):
                    return "each of two processes takes rows of its own accord"
        return super().why_unchanged(facts)

    def judge(self, base: RunOutcome, run: RunOutcome, band: NoiseBand) -> Break | None:
        rates = list(zip(_rates(base.steps), _rates(run.steps), strict=False))
        warm = next(((here, there) for here, there in rates if any(here)), ([], [1.0]))
        scale = next((k for k in _SCALES if _is_scaled(*warm, k)), 1.0)
        steps, compared = base.steps, self.compared
        if scale != 1.0:  # as is usual for more rows a step: later steps are others
            for step, (here, there) in enumerate(rates):
                if not _is_scaled(here, there, scale):
                    return Break(f"TRAIN step {step}, learning rate", f"{there} instead of {here}")
            steps = [x for x in steps if x.mode_step == 0 and x.mode is Mode.TRAIN]
            compared = frozenset({"gradients"})
        parting = first_parting(steps, run.steps, band, compared)
        return None if parting is None else Break(parting.where(), parting.how_far(), parting)


def _part(batch: Any, size: int, rank: int) -> Any:
    """Return the half of a batch that this process gets, or all of it, as the other does."""
    leaves, spec = tree_flatten(batch)
    rows = rows_of(batch)
    if rows is None or rows % _NUM_PROCESSES or _NUM_PROCESSES * rows <= size:
        return batch
    if not all(isinstance(x, torch.Tensor) for x in leaves):
        return batch
    part = torch.arange(rows).chunk(_NUM_PROCESSES)[rank]
    return tree_unflatten([x[part] if x.ndim else x for x in leaves], spec)


def _rates(steps: HeldRun) -> list[list[float]]:
    """Return the learning rates of each TRAIN step."""
    return [
        [
            float(step.statistics[row][SUM])
            for row, kind in enumerate(step.collections)
            if kind == "learning_rates"
        ]
        for step in steps
        if step.mode is Mode.TRAIN
    ]


def _is_scaled(one: list[float], two: list[float], scale: float) -> bool:
    return len(one) == len(two) and all(
        math.isclose(scale * a, b, rel_tol=_CLOSE) for a, b in zip(one, two, strict=True)
    )


RELATIONS: tuple[type[Relation], ...] = (Resumed, ResumedData, TwoProcesses)
