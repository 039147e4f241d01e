"""Where XGBoost tells of its rounds: what calls all callbacks knows the data as well.

``xgboost.train``, ``xgboost.cv`` and all that stands on them make one container of callbacks for
each training.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from xgboost.callback import CallbackContainer

from ..boosting import Listening


class Listener(Protocol):
    """Who is told of rounds."""

    def after_round(
        self, container: Any, model: Any, number: int, train: Any, evals: Sequence[Any]
    ) -> bool:
        """A round is over; return whether the training is to stop."""


def _telling(original: Callable[..., bool], listeners: list[Listener]) -> Callable[..., bool]:
    @functools.wraps(original)
    def after_iteration(
        container: Any, model: Any, epoch: int, dtrain: Any, evals: Sequence[Any] | None
    ) -> bool:
        stop = original(container, model, epoch, dtrain, evals)
        for listener in tuple(listeners):
            stop = listener.after_round(container, model, epoch, dtrain, evals or ()) or stop
        return stop

    return after_iteration


#: Who listens to all trainings of this process.
trainings: Listening[Listener] = Listening([(CallbackContainer, "after_iteration")], _telling)
