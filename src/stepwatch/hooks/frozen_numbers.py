"""Numbers of Python that a compiled function has read, and that the script sets anew later.

A function that JAX or TensorFlow compiles runs as Python once, when it is traced. A number that it
reads from a variable or an attribute then, such as a learning rate or the weight of a penalty, is
a constant of what was compiled: setting it anew, as in a schedule, changes nothing.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from .script import is_script

# So many functions of the script are looked through, that one calls another.
_MOST_FUNCTIONS = 32
_NOTHING = object()

_Place = tuple[str, ...]


class FrozenNumbers:
    """Remembers what compiled functions read as they were traced."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[object, dict[str, float]] = WeakKeyDictionary()

    def __contains__(self, compiled: object) -> bool:
        return compiled in self._known

    def traced(self, compiled: object, *functions: Callable[..., Any]) -> None:
        """Note what functions read that are traced now.

        Args:
            compiled: What is compiled of them; another one that has its name is traced anew.
            functions: As the script wrote them; a method is bound.
        """
        self._known[compiled] = numbers_read(*functions)

    def changed(self, compiled: object, *functions: Callable[..., Any]) -> list[str]:
        """Return what they read that is another number now, such as ``Model.beta``."""
        before = self._known.get(compiled)
        now = numbers_read(*functions) if before else {}
        return [one for one, value in (before or {}).items() if now.get(one, value) != value]


def numbers_read(*functions: Callable[..., Any]) -> dict[str, float]:
    """Return the numbers that functions and those of the script that they call read by name.

    They are variables outside of them, and attributes or entries of these or of the object that a
    method is bound to, which has the name of its class. No property is asked.
    """
    found: dict[str, float] = {}
    waiting: list[Any] = [*functions]
    known: set[CodeType] = set()
    while waiting and len(known) < _MOST_FUNCTIONS:
        one = waiting.pop()
        plain, owner = _plain(one)
        if plain is None or plain.__code__ in known or not is_script(plain.__code__.co_filename):
            continue
        known.add(plain.__code__)
        for place in _places(plain.__code__):
            value = _value_at(place, plain, owner)
            if type(value) in (int, float, bool):
                whose = type(owner).__name__ if place[0] == "self" else place[0]
                found[".".join((whose, *place[1:]))] = value
            elif inspect.isfunction(value) and place[:1] == ("self",):
                waiting.append(value.__get__(owner))
            elif callable(value) and _plain(value)[0] is not None:
                waiting.append(value)
    return found


def _plain(function: Any) -> tuple[FunctionType | None, Any]:
    """Return the function that something callable was made of, and what it is bound to."""
    function = inspect.unwrap(function)
    owner = getattr(function, "__self__", None)
    function = inspect.unwrap(getattr(function, "__func__", function))
    return (function if isinstance(function, FunctionType) else None), owner


@lru_cache(maxsize=256)
def _places(code: CodeType) -> tuple[_Place, ...]:
    """Return what code and the functions in it read: a name, and the attributes behind it.

    The object that a method is bound to is called ``self``. What it sets itself, such as a counter,
    is left out.
    """
    first = code.co_varnames[0] if code.co_argcount else ""
    found: dict[_Place, None] = {}
    place: list[str] = []
    own: set[str] = set()
    key: object = None
    for one in dis.get_instructions(code):
        kind = one.opname
        if kind in ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF"):
            own.add(str(one.argval))
        if kind in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
            found[tuple(place)] = None
            place = ["self" if one.argval == first else str(one.argval)]
        elif kind.startswith("LOAD_FAST"):
            found[tuple(place)] = None
            last = one.argval[-1] if isinstance(one.argval, tuple) else one.argval
            place = ["self"] if last == first else []
        elif place and kind in ("LOAD_ATTR", "LOAD_METHOD"):
            place.append(str(one.argval))
        elif place and kind == "LOAD_CONST" and isinstance(one.argval, str):
            key = one.argval
            continue
        elif place and key is not None and kind.startswith("BINARY_"):
            place.append(str(key))
        elif kind not in ("CACHE", "PUSH_NULL", "EXTENDED_ARG"):
            found[tuple(place)] = None
            place = []
        key = None
    found[tuple(place)] = None
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found.update(dict.fromkeys(_places(one)))
    return tuple(one for one in found if one and one[-1] not in own)


def _value_at(place: _Place, function: FunctionType, owner: Any) -> Any:
    """Return what stands at a place; what is computed when it is asked for is nothing."""
    name, *attributes = place
    if name == "self":
        value = owner
    else:
        value = _closure(function).get(name, function.__globals__.get(name, _NOTHING))
    for attribute in attributes:
        if isinstance(value, Mapping):
            value = value.get(attribute, _NOTHING)
        else:
            value = inspect.getattr_static(value, attribute, _NOTHING)
    return value


def _closure(function: FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    found = {}
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it is not set yet
            continue
    return found
