"""Where LightGBM tells of its rounds: to callbacks, so whoever listens is made one of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import lightgbm
from lightgbm import engine, sklearn

from ..boosting import Listening

Callback = Callable[[Any], None]


def _telling(original: Callable[..., Any], listeners: list[Callback]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def train(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # it says better itself what is wrong
            return original(*args, **kwargs)
        given = list(bound.arguments.get("callbacks") or ())
        missing = [one for one in listeners if one not in given]
        if missing:
            bound.arguments["callbacks"] = [*given, *missing]
        return original(*bound.args, **bound.kwargs)

    return train


#: Who listens to all trainings of this process.
trainings: Listening[Callback] = Listening(
    [
        (lightgbm, "train"),
        (lightgbm, "cv"),
        (engine, "train"),
        (engine, "cv"),
        (sklearn, "train"),
    ],
    _telling,
)
