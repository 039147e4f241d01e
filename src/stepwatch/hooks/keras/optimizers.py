"""Which optimizers of Keras take gradients as they are, and what Adam expects of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from ..losses import Array


@dataclass(frozen=True, slots=True)
class Adam:
    """What is known of an optimizer that divides gradients by their second moment.

    Args:
        beta: How much of the second moment each step keeps.
        epsilon: What is added to its root.
    """

    beta: float
    epsilon: float

    def update_rms(self, gradient: Array, second_moment: Array, num_steps: int) -> float:
        """Return how large a gradient is for what the second moment expects; about 1 as a rule.

        It is the RMS of StableAdamW (Wortsman et al.: Stable and low-precision training for
        large-scale vision-language models, 2023).

        Args:
            gradient: Any shape.
            second_moment: The same shape, after the step.
            num_steps: How many the optimizer has made.
        """
        least = max(self.epsilon**2, float(np.finfo(np.float32).tiny))
        expected = second_moment.astype(np.float64) / (1 - self.beta**num_steps)
        squares = np.square(gradient.astype(np.float64)) / np.maximum(expected, least)
        return float(np.sqrt(squares.mean()))


def as_adam(optimizer: Any) -> Adam | None:
    """Return what is known of an optimizer of this kind that uses gradients as they are."""
    is_one = isinstance(optimizer, keras.optimizers.Adam)
    if not is_one or clips(optimizer) or optimizer.gradient_accumulation_steps:
        return None
    return Adam(float(optimizer.beta_2), float(optimizer.epsilon))


def clips(optimizer: Any) -> bool:
    """Return whether an optimizer changes gradients before it uses them."""
    names = ("clipnorm", "global_clipnorm", "clipvalue")
    return any(getattr(optimizer, name, None) is not None for name in names)
