"""The most frequent ids that embeddings are asked for: padding shows among them."""

from __future__ import annotations

import torch

from ...capture.open_step import OpenStep
from .arrays import tensors_in, unsupported
from .observe import Observer
from .summaries import Summaries
from .unnoticed import unnoticed

#: So many ids are told of an embedding.
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
    """Observes what embeddings are asked for, where that is asked for.

    Args:
        observer: Who takes how many ids there are.
        summaries: Who takes the ids.
    """

    def __init__(self, observer: Observer, summaries: Summaries) -> None:
        self._observer = observer
        self._summaries = summaries

    def listens(self, step: OpenStep) -> bool:
        """Return whether it is to be told of what modules return."""
        return step.wants("tokens")

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        """A module returned."""
        del output
        if not isinstance(module, torch.nn.Embedding):
            return
        ids = next((tensor for _, tensor in tensors_in(given)), None)
        if ids is None or unsupported(ids) or ids.is_floating_point() or not ids.numel():
            return
        if self._summaries.wants(step, "tokens", f"token/{name}"):
            with unnoticed(ids.device.type):
                found = most_frequent(ids)
            self._summaries.add(step, "tokens", f"token/{name}", found, present)
            self._observer.scalar(step, f"token_count/{name}", ids.numel(), "tokens")
