"""What saves and loads checkpoints is wrapped, while a hook is attached.

Events, beside those of ``events``:

- ``checkpoint_saved`` (what, where), ``checkpoint_read`` (what, where): by ``torch.save`` and
  ``torch.load``, and by ``save_file`` and ``load_file`` of safetensors;
- ``before_weights`` (module), ``after_weights`` (module, state, missing, unexpected): around
  ``module.load_state_dict``;
- ``pretrained`` (model, what transformers says of how it was loaded);
- ``optimizer_loaded`` (optimizer, state), ``scheduler_loaded`` (scheduler).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FunctionType
from typing import Any

import torch
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LRScheduler

from ...runtime.imports import OnImport
from ..patching import PatchSet
from .events import Events
from .internals import replace_code

Emit = Callable[..., None]


class CheckpointCalls:
    """The wrappers, while they are in place."""

    def __init__(self, events: Events) -> None:
        self._replaced = PatchSet()
        self._undo: list[Callable[[], None]] = []
        saved, read = events.source("checkpoint_saved"), events.source("checkpoint_read")
        self._replaced.put(torch, "save", _save_wrapper(saved))
        self._replaced.put(torch, "load", _load_wrapper(read))
        self._enter_safetensors(saved, read)
        before, after = events.source("before_weights"), events.source("after_weights")
        self._replaced.put(torch.nn.Module, "load_state_dict", _module_wrapper(before, after))
        loaded = events.source("optimizer_loaded")
        self._replaced.put(torch.optim.Optimizer, "load_state_dict", _after(loaded))
        scheduled = events.source("scheduler_loaded")
        for kind in vars(lr_scheduler).values():
            is_scheduler = isinstance(kind, type) and issubclass(kind, LRScheduler)
            if is_scheduler and "load_state_dict" in vars(kind):
                self._replaced.put(kind, "load_state_dict", _after(scheduled))
        pretrained = events.source("pretrained")
        self._transformers = OnImport(
            "transformers.modeling_utils", partial(self._enter_transformers, pretrained)
        )

    def remove(self) -> None:
        """Put the originals back."""
        self._transformers.remove()
        self._replaced.remove()
        while self._undo:
            self._undo.pop()()

    def _enter_safetensors(self, saved: Emit, read: Emit) -> None:
        """Exchange the code of its functions: others hold them by names of their own."""
        with suppress(ImportError):
            from safetensors import torch as safetensors

            for function, wrapper in (
                (safetensors.save_file, _save_wrapper(saved)),
                (safetensors.load_file, _load_wrapper(read)),
            ):
                if isinstance(function, FunctionType) and not function.__closure__:
                    self._undo.append(replace_code(function, wrapper))

    def _enter_transformers(self, emit: Emit) -> None:
        module = sys.modules.get("transformers.modeling_utils")
        kind: Any = getattr(module, "PreTrainedModel", None)
        original = vars(kind).get("from_pretrained") if isinstance(kind, type) else None
        if not isinstance(original, classmethod):
            return
        function = original.__func__

        @functools.wraps(function)
        def from_pretrained(cls: type, *args: Any, **kwargs: Any) -> Any:
            asked = kwargs.get("output_loading_info", False)
            result = function(cls, *args, **{**kwargs, "output_loading_info": True})
            if not (isinstance(result, tuple) and len(result) == 2):
                return result
            emit(*result)
            return result if asked else result[0]

        replacement: Any = classmethod(from_pretrained)
        kind.from_pretrained = replacement

        def undo() -> None:
            if vars(kind).get("from_pretrained") is replacement:
                kind.from_pretrained = original

        self._undo.append(undo)


def _save_wrapper(emit: Emit) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def save(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            what = args[0] if args else kwargs.get("obj", kwargs.get("tensors"))
            emit(what, args[1] if len(args) > 1 else kwargs.get("f", kwargs.get("filename")))
            return result

        return save

    return make


def _load_wrapper(emit: Emit) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def load(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            emit(result, args[0] if args else kwargs.get("f", kwargs.get("filename")))
            return result

        return load

    return make


def _module_wrapper(before: Emit, after: Emit) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def load_state_dict(module: Any, *args: Any, **kwargs: Any) -> Any:
            before(module)
            result = original(module, *args, **kwargs)
            state = args[0] if args else kwargs.get("state_dict")
            missing = getattr(result, "missing_keys", ())
            after(module, state, missing, getattr(result, "unexpected_keys", ()))
            return result

        return load_state_dict

    return make


def _after(emit: Emit) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def load_state_dict(owner: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(owner, *args, **kwargs)
            emit(owner, args[0] if args else kwargs.get("state_dict"))
            return result

        return load_state_dict

    return make
