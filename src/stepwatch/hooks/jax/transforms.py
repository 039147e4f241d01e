"""What stands in the place of ``jax.jit``, ``jax.grad`` and others while a hook is attached.

Each carries what is seen in a function out of it as one more output. Where there is nobody to take
it, the function of JAX itself is called; what was made in our place goes on after the hook let go.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

from ...steps import Mode
from .choices import Choice
from .seen import Seen
from .watching import watcher

Function = Callable[..., Any]


class Jitted:
    """A jitted function: one graph as it is, and one that also returns what is seen in it.

    Args:
        function: To be compiled.
        jit: What compiles.
        options: Of ``jit``.
    """

    def __init__(self, function: Function, jit: Function, options: dict[str, Any]) -> None:
        self._plain = jit(function, **options)
        self._function, self._jit, self._options = function, jit, options
        if "out_shardings" in options:
            self._options = {**options, "out_shardings": (options["out_shardings"], None)}
        self._seeing: dict[Choice, Function] = {}
        #: What it was used for last.
        self.mode = Mode.TRAIN
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracker = watcher()
        if tracker is None:
            return self._plain(*args, **kwargs)
        return tracker.run(self, self._plain, args, kwargs)

    def seeing(self, choice: Choice) -> Function:
        """Return the graph that also returns what a choice wants."""
        if choice not in self._seeing:
            self._seeing[choice] = self._jit(carrying(self._function), **self._options)
        return self._seeing[choice]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_plain":
            raise AttributeError(name)
        return getattr(self._plain, name)

    def __repr__(self) -> str:
        return repr(self._plain)


def seeing_jit(jit: Function) -> Function:
    """Return what stands in the place of ``jax.jit``."""

    @functools.wraps(jit)
    def call(*functions: Any, **options: Any) -> Any:
        tracker = watcher()
        if not functions:
            return functools.partial(call, **options)
        if tracker is None:
            return jit(*functions, **options)
        return Jitted(functions[0], jit, options)

    return call


def seeing_gradient(transform: Function, value_and_grad: Function) -> Function:
    """Return what stands in the place of ``jax.grad`` or ``jax.value_and_grad``.

    Args:
        transform: That.
        value_and_grad: The one of JAX.
    """

    @functools.wraps(transform)
    def differentiated(
        function: Function, argnums: Any = 0, has_aux: bool = False, **options: Any
    ) -> Any:
        plain = transform(function, argnums, has_aux, **options)

        @functools.wraps(plain)
        def call(*args: Any, **kwargs: Any) -> Any:
            tracker = watcher()
            if tracker is None:
                return plain(*args, **kwargs)

            def differentiate(args: Any, kwargs: Any) -> Any:
                carried = carrying_loss(function, has_aux=has_aux)
                seeing = value_and_grad(carried, argnums, has_aux=True, **options)
                (loss, (aux, seen)), gradients = seeing(*args, **kwargs)
                tracker.differentiated(function, argnums, args, loss, gradients, seen)
                if transform is value_and_grad:
                    return ((loss, aux) if has_aux else loss), gradients
                return (gradients, aux) if has_aux else gradients

            return tracker.differentiate(differentiate, plain, function, args, kwargs)

        return call

    return differentiated


class Scan:
    """What stands in the place of ``jax.lax.scan``.

    Args:
        scan: That.
    """

    def __init__(self, scan: Function) -> None:
        self._scan = scan
        self.mode = Mode.TRAIN
        self._turns: weakref.WeakKeyDictionary[Function, Turn] = weakref.WeakKeyDictionary()

    def __call__(self, f: Function, *args: Any, **kwargs: Any) -> Any:
        """Run a loop."""
        tracker = watcher()
        if tracker is None or kwargs.get("reverse"):
            return self._scan(f, *args, **kwargs)
        return tracker.run(self, self._scan, (f, *args), kwargs)

    def seeing(self, choice: Choice) -> Function:  # noqa: ARG002  all turns are alike
        """Return a loop that also returns what is seen in its turns."""
        return self._seeing

    def _seeing(self, f: Function, *args: Any, **kwargs: Any) -> Any:
        carry, (outputs, seen) = self._scan(self._turn(f), *args, **kwargs)
        return (carry, outputs), seen.as_loop()

    def _turn(self, f: Function) -> Turn:
        # JAX knows a body that it has compiled by its identity.
        turn = self._turns.get(f)
        if turn is None or turn.__wrapped__ is not f:
            turn = self._turns[f] = Turn(f)
        return turn


class Turn:
    """The body of a loop, with what is seen in it as part of what each turn gives.

    It does not keep the function alive, nor what that closes over: who runs the loop does.

    Args:
        function: What the user has written.
    """

    def __init__(self, function: Function) -> None:
        self._function = weakref.ref(function)
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    @property
    def __wrapped__(self) -> Function | None:
        """The function, of which JAX says the arguments and the place in the script."""
        return self._function()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute a turn."""
        function = self._function()
        assert function is not None, "who runs the loop holds its body"
        with _collecting(in_loop=True) as seen:
            carry, output = function(*args, **kwargs)
        return carry, (output, seen())


class Checkpointed:
    """A function whose intermediate values are computed again, as ``jax.checkpoint`` makes it.

    Args:
        function: What is computed.
        checkpoint: That of JAX.
        options: Of it.
    """

    def __init__(self, function: Function, checkpoint: Function, options: dict[str, Any]) -> None:
        self._plain = checkpoint(function, **options)
        self._carrying: Function = checkpoint(carrying(function), **options)
        self.mode = Mode.TRAIN
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracker = watcher()
        if tracker is None or not tracker.is_collecting:
            return self._plain(*args, **kwargs)
        return tracker.run(self, self._plain, args, kwargs)

    def seeing(self, choice: Choice) -> Function:  # noqa: ARG002  it is traced with its caller
        """Return what also returns what is seen in it."""
        return self._carrying

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def seeing_checkpoint(checkpoint: Function) -> Function:
    """Return what stands in the place of ``jax.checkpoint``."""

    @functools.wraps(checkpoint)
    def call(*functions: Any, **options: Any) -> Any:
        if not functions:
            return functools.partial(call, **options)
        return Checkpointed(functions[0], checkpoint, options)

    return call


def carrying(function: Function) -> Function:
    """Return a function that also returns what is seen in it."""

    @functools.wraps(function, updated=())
    def carried(*args: Any, **kwargs: Any) -> Any:
        with _collecting() as seen:
            output = function(*args, **kwargs)
        return output, seen()

    return carried


def carrying_loss(function: Function, *, has_aux: bool) -> Function:
    """Return a function to be differentiated, with what is seen in it as part of its aux."""

    @functools.wraps(function, updated=())
    def carried(*args: Any, **kwargs: Any) -> Any:
        with _collecting() as seen:
            output = function(*args, **kwargs)
        if not has_aux:
            return output, (None, seen())
        if not isinstance(output, tuple) or len(output) != 2:
            return output  # JAX says what is wrong with it
        return output[0], (output[1], seen())

    return carried


@contextmanager
def _collecting(*, in_loop: bool = False) -> Iterator[Callable[[], Seen]]:
    """Collect what is seen inside; give what returns it, to be called on the same level."""
    tracker = watcher()
    if tracker is None:
        yield Seen
        return
    with tracker.collecting(in_loop=in_loop) as collector:
        yield lambda: tracker.closed(collector)
