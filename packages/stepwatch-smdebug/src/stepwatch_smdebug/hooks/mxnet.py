"""The hook of smdebug for MXNet: models and losses are registered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from mxnet.gluon import Block
from mxnet.gluon.loss import Loss
from mxnet.ndarray import NDArray

from stepwatch.capture.guard import guarded
from stepwatch.capture.lifecycle import rank_and_size
from stepwatch.capture.open_step import OpenStep
from stepwatch.config import environment
from stepwatch.errors import ConfigError

from ..mxnet.hook import rank_of_horovod
from ..mxnet.models import parameters_of
from ..mxnet.observe import Array, ArrayReader, arrays_in, is_symbolic
from ..mxnet.patches import PATCHES, CallListener
from ..plan import DebuggerPlan, HookConfig
from . import base as registered
from .base import SavedArrays


class SmdebugMXNetHook(registered.SmdebugHook, CallListener):
    """Captures of an MXNet training run what a hook configuration asks for.

    Inputs and outputs are saved as they are observed. Weights, and gradients as ``backward`` left
    them, are saved when the step ends: after its update, on the first of their devices.

    Args:
        config: See ``SmdebugHook``, as for further ``options``.
        rank: By default what Horovod or the launcher says.
        register_first: Register the first model with parameters that runs, and losses that run.
    """

    framework = "mxnet"
    register_call = "register_block(block)"

    def __init__(
        self,
        config: HookConfig | Callable[[], HookConfig],
        *,
        rank: tuple[int, int] | None = None,
        register_first: bool = False,
        **options: Any,
    ) -> None:
        rank = rank or rank_of_horovod() or rank_and_size(environment())
        super().__init__(config, rank=rank, **options)
        self._reading = ArrayReader()
        self._numbers: Counter[str] = Counter()
        self._roots: list[Block] = []
        self._losses: list[Block] = []
        self._root: Block | None = None
        #: Register the first model that runs, and losses.
        self.registers_first = register_first
        PATCHES.add(self)

    def register_block(self, block: Block) -> None:
        """Save of this model, each forward of which is a step, or what this loss returns.

        Raises:
            ConfigError: It is no block, or registered already.
        """
        if not isinstance(block, Block):
            raise ConfigError(f"a gluon.Block can be registered, got {type(block).__name__}")
        if self.knows(block):
            raise ConfigError(f"{block.name} is registered already")
        (self._losses if isinstance(block, Loss) else self._roots).append(block)

    def knows(self, block: Block) -> bool:
        """Return whether a block is registered."""
        return any(block is one for one in (*self._roots, *self._losses))

    # What MXNet calls

    def before_call(self, block: Block, given: tuple[object, ...]) -> None:
        if not self.active or is_symbolic(given):
            return
        if self.registers_first:
            self._find(block)
        if any(block is root for root in self._roots):
            self.before_root(block)

    @guarded
    def after_call(self, block: Block, given: tuple[object, ...], output: object) -> None:
        if not (self.active and self.is_due) or is_symbolic(given):
            return
        is_loss = any(block is loss for loss in self._losses)
        if not (is_loss or self._is_part(block)):
            return
        if not is_loss:
            self.save(self._numbered(f"{block.name}_input", given), "inputs")
        self.save(
            self._numbered(f"{block.name}_output", output), "losses" if is_loss else "outputs"
        )

    def give_back(self) -> None:
        self._reading.give_back()

    # What MXNet defines

    def root_names(self) -> Sequence[str]:
        return [root.name for root in self._roots]

    def start_observing(self, root: Block) -> None:
        self._root = root
        self._numbers.clear()

    def let_go(self) -> None:
        PATCHES.remove(self)

    def finish_observing(self) -> None:
        for parameter in () if self._root is None else parameters_of(self._root):
            if parameter._data:
                trained = parameter.grad_req != "null"
                self.save_parameters([(parameter.name, parameter._data[0], trained)])
                if trained and parameter._grad:
                    self.save([(f"gradient/{parameter.name}", parameter._grad[0])], "gradients")

    def saved_by(self, plan: DebuggerPlan) -> SavedArrays:
        return _Saved(plan, self._reading)

    def copy_of(self, value: NDArray | Array) -> Array | None:
        return self._reading.read(value) if isinstance(value, NDArray) else np.array(value)

    # Inside

    def _find(self, block: Block) -> None:
        is_loss = isinstance(block, Loss)
        is_model = not self._roots and any(True for _ in parameters_of(block))
        if (is_loss or is_model) and not self.knows(block):
            self.register_block(block)

    def _is_part(self, block: Block) -> bool:
        return self._root is not None and any(block is one for one in _parts(self._root))

    def _numbered(self, base: str, value: object) -> Iterator[tuple[str, NDArray]]:
        """Yield arrays with the names that smdebug gives them: numbers go on within a step."""
        for _, array in arrays_in(value):
            yield f"{base}_{self._numbers[base]}", array
            self._numbers[base] += 1


class _Saved(SavedArrays):
    def __init__(self, plan: DebuggerPlan, reading: ArrayReader) -> None:
        super().__init__(plan)
        self._reading = reading

    def put(
        self,
        step: OpenStep,
        name: str,
        kind: str,
        value: NDArray | Array,
        raw: bool,
        trainable: bool | None,
    ) -> None:
        array = self._reading.read(value) if isinstance(value, NDArray) else value
        if array is not None:
            super().put(step, name, kind, array, raw, trainable)


def _parts(root: Block) -> Iterator[Block]:
    yield root
    for child in root._children.values():
        yield from _parts(child)


#: What ``hook_config_launch`` attaches when the framework is imported.
HOOK = SmdebugMXNetHook
