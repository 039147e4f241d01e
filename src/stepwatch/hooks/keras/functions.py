"""What a model runs for each batch: made by the model, watched by a hook."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakSet

import keras

from ..replaced import Replaced
from .backend import Backend
from .watcher import MODES, Owner, Watcher


class Functions:
    """Sees to it that models run functions that are watched.

    Args:
        owner: The hook.
        backend: How Keras runs models.
        watches: Whether a model is watched.
    """

    def __init__(self, owner: Owner, backend: Backend, watches: Callable[[Any], bool]) -> None:
        self._owner, self._backend, self._watches = owner, backend, watches
        self._models: WeakSet[Any] = WeakSet()
        self._replaced = Replaced()

    def attach(self) -> None:
        """Watch the functions of models from here on, those that are made already as well."""
        for kind in MODES:
            self._replaced.put(keras.Model, f"make_{kind}_function", partial(self._making, kind))

    def detach(self) -> None:
        """Let models run functions of their own again, made anew when they are needed."""
        self._replaced.remove()
        for model in self._models:
            for kind in MODES:
                name = f"{kind}_function"
                if isinstance(getattr(model, name), Watched):
                    setattr(model, name, Anew(model, kind))
        self._models = WeakSet()

    def _making(self, kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def make(model: Any, force: bool = False) -> Any:
            if not self._owner.active or not self._watches(model):
                return original(model, force)
            name = f"{kind}_function"
            held = getattr(model, name)
            if force or not (isinstance(held, Watched) and held.owner is self._owner):
                watcher = Watcher(self._owner, model, kind)
                run = self._backend.watch(model, kind, partial(original, model, True), watcher)
                setattr(model, name, Watched(self._owner, run))
                self._models.add(model)
            return getattr(model, name)

        return make


class Watched:
    """What a model runs for each batch, watched.

    Args:
        owner: Who watches.
        run: It.
    """

    def __init__(self, owner: Owner, run: Callable[..., Any]) -> None:
        self.owner, self._run = owner, run

    def __call__(self, *args: Any) -> Any:
        """Run a batch."""
        with self.owner.alone():
            return self._run(*args)


class Anew:
    """Stands for a function of a model until it is needed, and is then made by the model itself.

    Args:
        model: The model, perhaps in the middle of its ``fit``.
        kind: ``train``, ``test`` or ``predict``.
    """

    def __init__(self, model: Any, kind: str) -> None:
        self._model, self._kind = model, kind

    def __call__(self, *args: Any) -> Any:
        """Run a batch."""
        getattr(self._model, f"make_{self._kind}_function")(force=True)
        return getattr(self._model, f"{self._kind}_function")(*args)
