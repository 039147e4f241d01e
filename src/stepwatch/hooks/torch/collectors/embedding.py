"""Embeddings: norms and likeness of their rows, and the ids that are looked up."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import torch

from ....capture.open_step import OpenStep
from ....model.steps import Mode
from ...lookups import MOST_IDS, Ids, Lookups, as_whole
from ...script import script_variables
from ..internals import isolated_compute
from ..models import Names, Parameters
from ..observe import Observer, Summaries
from ..tensors import local_shard, readable, tensors_in, to_numpy, unsupported

#: So many rows are sampled, evenly spaced; and so many of these are compared with each other.
MOST_ROWS, MOST_COMPARED = 4096, 512


def row_norms(weight: torch.Tensor, gradient: torch.Tensor | None) -> torch.Tensor:
    """Return what the rows of an embedding are like.

    Args:
        weight: Shape ``[rows, width]``, floating, at least one element.
        gradient: The same shape, or ``None`` where it is not known.

    Returns:
        Shape ``[7]``, float32, of sampled rows: the smallest l2 norm, its quantiles at 0.05, 0.5
        and 0.95 (the nearest rank), the largest; the mean cosine of all pairs of
        ``MOST_COMPARED`` of them, nan if fewer than two are not zero; and the share of rows whose
        gradient is zero in every element, nan if that is not known.
    """
    rows = weight[:: _stride(len(weight), MOST_ROWS)]
    norms = torch.linalg.vector_norm(rows, dim=1, dtype=torch.float32)
    ascending = norms.sort().values
    ranks = [round(fraction * (len(norms) - 1)) for fraction in (0, 0.05, 0.5, 0.95, 1)]
    zero_share = torch.full_like(norms[0], torch.nan)
    if gradient is not None:
        largest = gradient[:: _stride(len(gradient), MOST_ROWS)].abs().amax(1)
        zero_share = (largest == 0).to(torch.float32).mean()
    every = _stride(len(rows), MOST_COMPARED)
    cosine = _mean_cosine(rows[::every].to(torch.float32), norms[::every])
    return torch.stack([*(ascending[rank] for rank in ranks), cosine, zero_share])


class Embeddings:
    """Observes the weights of embeddings, where that is wanted."""

    def __init__(self, names: Names, parameters: Parameters, summaries: Summaries) -> None:
        self._names = names
        self._parameters = parameters
        self._summaries = summaries

    def before_update(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        if not step.wants("embeddings"):
            return
        # Not ``module.weight``: a parametrized module computes that anew, perhaps at random.
        weights = {
            id(module._parameters.get("weight"))
            for root in self._names.trained
            for module in root.modules()
            if isinstance(module, torch.nn.Embedding)
        }
        for one in self._parameters.of(optimizer):
            name = f"row_norms/{one.weight.name}"
            if id(one.parameter) in weights and self._summaries.wants(step, "embeddings", name):
                self._observe(step, name, one.parameter)

    def _observe(self, step: OpenStep, name: str, parameter: torch.Tensor) -> None:
        weight = _rows_here(parameter)
        if weight is None:
            return
        gradient = None if parameter.grad is None else _rows_here(parameter.grad)
        if gradient is not None and gradient.shape != weight.shape:
            gradient = None
        with isolated_compute(weight.device.type):
            found = row_norms(weight, gradient)
        self._summaries.add(step, "embeddings", name, found)


def _rows_here(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the rows that this process holds as a whole, ``None`` if there are none."""
    local, _, missing = local_shard(tensor)
    if missing or unsupported(local) or local.layout is not torch.strided:
        return None
    is_whole = local.dim() == 2 and local.shape[1:] == tensor.shape[1:]
    return local.detach() if is_whole and local.is_floating_point() and local.numel() else None


def _mean_cosine(rows: torch.Tensor, norms: torch.Tensor) -> torch.Tensor:
    """Return the mean cosine over all pairs of rows that are not zero, without making the pairs.

    The sum over all pairs is the square of the sum of the unit vectors, less each with itself.
    """
    units = torch.where(norms[:, None] > 0, rows / norms[:, None], 0.0)
    number = (norms > 0).sum()
    cosine = (units.sum(0).square().sum() - number) / (number * (number - 1))
    return torch.where(number > 1, cosine, torch.nan)  # else it is what rounding left, over zero


def _stride(size: int, most: int) -> int:
    return max(1, -(-size // most))


#: So many ids are observed of an embedding.
MOST_TOKENS = 16


def most_frequent(ids: torch.Tensor) -> torch.Tensor:
    """Return the ids that occur most often, and how often.

    Args:
        ids: Any shape, integers, at least one.

    Returns:
        Shape ``[2, n]``, int64, ``n`` at most ``MOST_TOKENS``: ids and counts, the most frequent
        first. If there are fewer ids, the rest has count 0 and no meaning; see ``present``. How
        many there are is not asked, because an accelerator would have to be waited for.
    """
    ascending = ids.detach().reshape(-1).to(torch.int64).sort().values
    first = torch.searchsorted(ascending, ascending)
    after = torch.searchsorted(ascending, ascending, right=True)
    is_first = first == torch.arange(len(ascending), device=ascending.device)
    counts = torch.where(is_first, after - first, 0)
    largest = counts.topk(min(MOST_TOKENS, len(counts)))
    return torch.stack([ascending[largest.indices], largest.values])


def present(found: torch.Tensor) -> torch.Tensor:
    """Return the columns of ``most_frequent`` that mean something."""
    return found[:, found[1] > 0]


class Tokens:
    """Observes what embeddings are asked for, where that is asked for."""

    def __init__(self, observer: Observer, summaries: Summaries) -> None:
        self._observer = observer
        self._summaries = summaries

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        del output
        if not isinstance(module, torch.nn.Embedding):
            return
        ids = next((tensor for _, tensor in tensors_in(given)), None)
        if ids is None or unsupported(ids) or ids.is_floating_point() or not ids.numel():
            return
        if self._summaries.wants(step, "tokens", f"token/{name}"):
            with isolated_compute(ids.device.type):
                found = most_frequent(ids)
            self._summaries.add(step, "tokens", f"token/{name}", found, present)
            self._observer.scalar(step, f"token_count/{name}", ids.numel(), "tokens")


class LookedUp:
    """Observes whose ids embeddings are given, in the collection ``setup``; on the host only."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._lookups = Lookups()

    def listens(self, step: OpenStep) -> bool:
        """Return whether lookups are noted at a step."""
        return step.mode is Mode.TRAIN and self._lookups.is_open

    def returned(
        self,
        step: OpenStep,  # noqa: ARG002
        module: torch.nn.Module,
        name: str,
        given: tuple[tuple[object, ...], dict[str, object]],
        output: object,  # noqa: ARG002
    ) -> None:
        """A module returned: note what it was asked for, if it is an embedding."""
        if not isinstance(module, torch.nn.Embedding) or not self._lookups.is_open:
            return
        inputs, keywords = given
        ids = inputs[0] if inputs else keywords.get("input")
        if not self._lookups.wants(name, module.num_embeddings) or type(ids) is not torch.Tensor:
            return
        is_small = ids.dim() in (1, 2) and 0 < ids.numel() <= MOST_IDS
        if is_small and ids.is_cpu and not ids.is_floating_point():
            # Variables may be of anybody's class.
            with isolated_compute("cpu"), suppress(Exception):
                whole = to_numpy(ids).astype(np.int64, copy=False)
                self._lookups.note(name, whole, lambda: _columns_of(len(whole)))

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends."""
        self._lookups.step_ends()
        found = self._lookups.found() if step.wants("setup") else {}
        if found:
            self._observer.numbers(step, found, "setup")


def _columns_of(samples: int) -> dict[str, Ids]:
    """Return the variables of the script that hold a whole number for each sample."""
    found = {}
    for name, value in script_variables():
        tensor = readable(value)
        if tensor is not None and tensor.is_cpu and tensor.numel() == samples:
            whole = as_whole(to_numpy(tensor).reshape(-1))
            if whole is not None:
                found[name] = whole
    return found
