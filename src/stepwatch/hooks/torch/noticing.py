"""Who would notice that a graph is asked once more before ``backward()``."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.hooks import RemovableHandle

from ..replaced import Replaced


class Noticing:
    """Looks, from when it is made until ``leave``, for what a script does that would notice.

    Hooks on tensors and on functions of graphs would be called once more, kept gradients would be
    added to, and what is packed as it is saved, to be computed anew or moved to the host, would be
    unpacked once more. Anomaly detection would tell of ours as of the script's.
    """

    def __init__(self) -> None:
        # Each hook takes the next number.
        self._first_hook = RemovableHandle.next_id
        self._asked = False
        if "retain_grad" not in vars(torch.Tensor):  # what it inherits cannot be replaced
            torch.Tensor.retain_grad = torch.Tensor.retain_grad  # type: ignore[method-assign]
        self._replaced = Replaced()
        self._replaced.put(torch.Tensor, "retain_grad", self._note)
        self._replaced.put(saved_tensors_hooks, "__enter__", self._note)

    def anybody(self) -> bool:
        """Return whether anybody would."""
        hooks = RemovableHandle.next_id > self._first_hook
        return hooks or self._asked or torch.is_anomaly_enabled()

    def leave(self) -> None:
        """Look no more; what was seen stays known."""
        self._replaced.remove()

    def _note(self, original: Any) -> Any:
        def noted(owner: object) -> Any:
            self._asked = True
            return original(owner)

        return noted
