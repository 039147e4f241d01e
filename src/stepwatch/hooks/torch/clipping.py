"""The norm of gradients, before and after they are clipped."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .sharded import part_of


def told_of_clipping(bound: str, limit: float, before: object, after: object) -> dict[str, object]:
    """Return what is observed of gradients that were clipped, by name.

    Args:
        bound: What was limited, ``max_norm`` or ``clip_value``.
        limit: To what.
        before: Their norm before; ``None`` where it is not known.
        after: Their norm after; of a ``max_norm`` it is worked out.
    """
    after = clipped_norm(before, limit) if bound == "max_norm" else after
    told = {"gradient_norm_before_clipping": before, "gradient_norm_after_clipping": after}
    told[bound] = limit
    return {f"optimizer/{name}": value for name, value in told.items() if value is not None}


def clipped_norm(norm: object, max_norm: float) -> torch.Tensor | None:
    """Return the norm of gradients that were clipped by their norm, without a look at them.

    It is ``norm * min(1, max_norm / (norm + 1e-6))``: by that factor
    ``torch.nn.utils.clip_grads_with_norm_`` multiplies each of them.

    Args:
        norm: The norm before, shape ``[]``.
        max_norm: The bound.

    Returns:
        Shape ``[]``, where ``norm`` is; ``None`` where this process does not hold all of it.
    """
    if not isinstance(norm, torch.Tensor):
        return None
    norm, offset, missing = part_of(norm.detach())
    if offset is not None or missing is not None:
        return None
    return norm * torch.clamp(max_norm / (norm + 1e-6), max=1.0)


def gradient_norm(parameters: torch.Tensor | Sequence[torch.Tensor]) -> torch.Tensor | None:
    """Return the 2-norm of all gradients of some parameters, shape ``[]``.

    Returns:
        ``None`` if a gradient is sparse or spread over processes; 0 if there is none.
    """
    some = [parameters] if isinstance(parameters, torch.Tensor) else parameters
    gradients = [each.grad.detach() for each in some if each.grad is not None]
    if any(type(each) is not torch.Tensor or each.is_sparse for each in gradients):
        return None
    norm: torch.Tensor = torch.nn.utils.get_total_norm(gradients)
    return norm
