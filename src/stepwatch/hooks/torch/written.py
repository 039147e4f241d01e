"""What a loss compares that a script writes out, as its graph tells."""

from __future__ import annotations

from typing import Any

import torch

# Between the difference and its mean or sum: what is done to each element.
_MOST_FUNCTIONS = 8


def _shape(function: Any) -> tuple[int, ...]:
    """Return the shape of what a function returned; empty if it does not tell."""
    told: Any = getattr(function, "_input_metadata", ())
    return tuple(told[0].shape) if len(told) == 1 else ()


def compared(loss: torch.Tensor, batch: int) -> int:
    """Return with how many targets a loss compares each of a batch of single predictions.

    Args:
        loss: The mean, or sum, of what is made of the differences of predictions and targets.
        batch: How many predictions there are, one of each sample.

    Returns:
        ``batch`` where predictions ``[batch, 1]`` and targets ``[batch]`` are broadcast against
        each other; 1 for anything else. Differences of predictions are meant to be of all pairs.
    """
    function: Any = loss.grad_fn
    sizes = tuple(getattr(function, "_saved_self_sym_sizes", ()))
    if batch < 2 or sizes != (batch, batch):
        return 1
    for _ in range(_MOST_FUNCTIONS):
        if function is None:
            break
        before = [one for one, _ in function.next_functions]
        if type(function).__name__ == "SubBackward0":
            made = [one for one in before if one is not None]
            return batch if len(made) == 1 and _shape(made[0]) == (batch, 1) else 1
        function = before[0] if len(before) == 1 else None
    return 1
