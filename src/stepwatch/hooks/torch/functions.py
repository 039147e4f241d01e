"""What is heard of the functions that modules call."""

from __future__ import annotations

from typing import Any

from ...capture.guard import guarded
from .extras import Extras
from .looking import Looking, in_backward
from .steps import Steps


class Functions(Looking):
    """Hears of attention and activations, and observes them in the right step.

    Args:
        strict: Raise our own failures into training.
    """

    extras: Extras
    steps: Steps

    @guarded
    def saw_attention(self, rows: Any, given: Any, **how: Any) -> None:
        """Attention was computed; see ``Attention.observe``."""
        if self._looking() and not in_backward():
            self.extras.attention.observe(self.steps.current, rows, given, **how)

    @guarded
    def saw_activation(self, kind: str, tensor: object) -> None:
        """An activation was computed; see ``Activity.called``."""
        if self._looking() and not in_backward():
            self.extras.activity.called(self.steps.current, kind, tensor)
