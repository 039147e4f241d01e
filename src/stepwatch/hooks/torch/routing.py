"""Which expert a mixture of experts asks first."""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

import torch

from ...capture.open_step import OpenStep
from .arrays import unsupported
from .names import Names
from .summaries import Summaries
from .unnoticed import unnoticed

#: More experts than this are not told of.
MOST_EXPERTS = 512
#: Of more tokens than this evenly spaced ones are looked at.
MOST_TOKENS = 1 << 14

_ROUTER = re.compile(r"(^|[._])(gate|router)$")


def first_choices(logits: torch.Tensor) -> torch.Tensor:
    """Return the share of tokens of which each expert is the first choice.

    Args:
        logits: Shape ``[..., experts]``, floating, at least one token.

    Returns:
        Shape ``[experts]``, float32; their sum is 1. Of equal logits one expert is chosen.
    """
    num_experts = logits.shape[-1]
    rows = logits.reshape(-1, num_experts)
    choices = rows[:: -(-len(rows) // MOST_TOKENS)].argmax(-1)
    ones = torch.ones(len(choices), dtype=torch.float32, device=choices.device)
    zeros = torch.zeros(num_experts, dtype=torch.float32, device=choices.device)
    # not bincount, which waits for an accelerator; counts up to 2**14 are exact in float32
    return zeros.scatter_add_(0, choices, ones) / len(choices)


class Routing:
    """Observes routers: Linear modules that are called so and stand beside their experts.

    Args:
        names: Of the modules.
        summaries: Who takes what is found.
    """

    def __init__(self, names: Names, summaries: Summaries) -> None:
        self._names = names
        self._summaries = summaries
        self._routers: WeakKeyDictionary[torch.nn.Module, bool] = WeakKeyDictionary()

    def listens(self, step: OpenStep) -> bool:
        """Return whether it is to be told of what modules return."""
        return step.wants("routing")

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        """A module returned."""
        del given
        if not isinstance(module, torch.nn.Linear) or not _ROUTER.search(name):
            return
        if not self._is_router(module):
            return
        if not isinstance(output, torch.Tensor) or unsupported(output) or not output.numel():
            return
        if self._summaries.wants(step, "routing", f"routing/{name}"):
            with unnoticed(output.device.type):
                found = first_choices(output.detach())
            self._summaries.add(step, "routing", f"routing/{name}", found)

    def _is_router(self, module: torch.nn.Linear) -> bool:
        known = self._routers.get(module)
        if known is None:
            known = module.out_features <= MOST_EXPERTS and self._is_beside_experts(module)
            self._routers[module] = known
        return known

    def _is_beside_experts(self, router: torch.nn.Linear) -> bool:
        return any(
            isinstance(each, torch.nn.ModuleList) and len(each) == router.out_features
            for root in self._names.roots
            for parent in root.modules()
            if any(child is router for child in parent.children())
            for each in parent.children()
        )
