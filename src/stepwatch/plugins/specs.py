"""What people write to name a plug-in and set its parameters.

A spec is ``name`` or ``name:parameter=value,parameter=value``; several are separated by ``;``.
The name may be that of a file and a class in it, ``path/to/file.py:ClassName``.

Commas do two jobs without colliding. Between parameters, a comma is followed by ``word=``; every
other comma belongs to a value. In a value that is a list, it separates, unless it stands inside
brackets or braces: ``tensor_regex=fc.{1,2}$,bias,threshold=50`` is two regular expressions and a
threshold. ``|`` is alternation within one regular expression. A ``;`` within one is written
``\\x3b``.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..errors import ConfigError, nearest

_BETWEEN_SPECS = re.compile(r";(?=\s*(?:[A-Za-z_./~]|$))")
_BETWEEN_PARAMETERS = re.compile(r",(?=\s*[A-Za-z_]\w*\s*=)")
_OWN_FILE = re.compile(r"(?P<name>.+\.py:[A-Za-z_]\w*)(?::(?P<rest>.*))?", re.DOTALL)
_BOOLEANS = {
    **dict.fromkeys(("true", "1", "yes"), True),
    **dict.fromkeys(("false", "0", "no"), False),
}


def split_specs(text: str) -> list[str]:
    """Return the specs in a text, which ``;`` separates.

    Example:
        >>> split_specs("default; loss_spike:k=9")
        ['default', 'loss_spike:k=9']
    """
    return [spec.strip() for spec in _BETWEEN_SPECS.split(text) if spec.strip()]


def read_spec(text: str, *, kind: str, example: str) -> tuple[str, dict[str, object]]:
    """Return the name in one spec, and its parameters as texts.

    Args:
        text: The spec.
        kind: What it names, for an error: ``rule``, ``action``.
        example: A valid spec, for an error.

    Raises:
        ConfigError: Something in it is not ``parameter=value``.

    Example:
        >>> read_spec("loss_spike:k=9,window=64", kind="rule", example="")
        ('loss_spike', {'k': '9', 'window': '64'})
    """
    own_file = names_file(text)
    if own_file:
        name, rest = own_file["name"], own_file["rest"] or ""
    else:
        name, _, rest = text.strip().partition(":")
    parameters: dict[str, object] = {}
    for part in _BETWEEN_PARAMETERS.split(rest) if rest.strip() else ():
        key, equals, value = part.partition("=")
        if not equals:
            raise ConfigError(
                f"{kind} {text.strip()!r}: {part!r} is not parameter=value; for example {example}"
            )
        parameters[key.strip()] = value.strip()
    return name.strip(), parameters


def names_file(name: str) -> re.Match[str] | None:
    """Return whether a name begins as ``path/to/file.py:Name`` does."""
    # A value may name a file as well: what comes after the first = is none of the name.
    found = _OWN_FILE.fullmatch(name.strip())
    return found if found and "=" not in found["name"] else None


def arguments(
    name: str, kind: type, common: type, parameters: Mapping[str, object], *, noun: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a plug-in's constructor is given, and what is common to all of its group.

    Args:
        name: The plug-in's, for errors.
        kind: Its class. Texts are converted by the type hints of the constructor.
        common: A dataclass; what the constructor does not take itself goes to its fields.
        parameters: Texts, or values that have the right type already.
        noun: What it is, for errors.

    Raises:
        ConfigError: A parameter that neither has, one that is missing, or a value that does not
            fit.
    """
    own = _own_parameters(kind)
    hints = typing.get_type_hints(kind.__init__)  # type: ignore[misc]  # what signature reads
    common_hints = typing.get_type_hints(common)
    common_names = [field.name for field in fields(common)]
    for_kind: dict[str, Any] = {}
    for_common: dict[str, Any] = {}
    for key, value in parameters.items():
        if key in own:
            for_kind[key] = convert(f"{name}: {key}", value, hints.get(key, str))
        elif key in common_names:
            for_common[key] = convert(f"{name}: {key}", value, common_hints[key])
        else:
            close = nearest(key, (*own, *common_names))
            accepted = _accepted(kind, common, noun)
            raise ConfigError(f"{name} has no parameter {key!r}{close} ({accepted})")
    missing = [p.name for p in own.values() if p.default is p.empty and p.name not in for_kind]
    if missing:
        raise ConfigError(f"{name} needs {', '.join(missing)}; {_accepted(kind, common, noun)}")
    return for_kind, for_common


def convert(what: str, value: object, hint: object) -> object:
    """Convert the text of a parameter to what its type hint asks for.

    Args:
        what: What the value is for, to name it in an error.
        value: A string, or a value that has the right type already.
        hint: ``int``, ``float``, ``bool``, ``str``, ``Literal``, a sequence of strings, or one
            of them or ``None``.

    Raises:
        ConfigError: The value is not of this type.

    Example:
        >>> convert("k", "8", float | None), convert("k", "none", float | None)
        (8.0, None)
        >>> convert("k", "a{1,2},b", tuple[str, ...])
        ('a{1,2}', 'b')
    """
    if what.endswith(": mode") and isinstance(value, str) and value.lower() != "none":
        value = value.upper()
    options = typing.get_args(hint) if _is_union(hint) else (hint,)
    if type(None) in options and (value is None or str(value).strip().lower() in ("none", "")):
        return None
    # str accepts everything, so it comes last
    for option in sorted(set(options) - {type(None)}, key=lambda option: option is str):
        with suppress(TypeError, ValueError, KeyError):
            return _as(value, option)
    wanted = " or ".join(_spelled(option) for option in options)
    raise ConfigError(f"{what} must be {wanted}, got {value!r}")


def split_list(text: str) -> tuple[str, ...]:
    """Split at commas that stand in no bracket, brace or parenthesis.

    Example:
        >>> split_list("weights, fc.{1,2}$,a|b")
        ('weights', 'fc.{1,2}$', 'a|b')
    """
    parts, start, depth = [], 0, 0
    for match in re.finditer(r"\\.|[\[\](){},]", text):
        sign = match.group()
        if sign == "," and depth == 0:
            parts.append(text[start : match.start()])
            start = match.end()
        elif sign in "[({":
            depth += 1
        elif sign in "])}":
            depth = max(0, depth - 1)
    parts.append(text[start:])
    return tuple(part.strip() for part in parts if part.strip())


def load_file(path: str, *, kind: str) -> types.ModuleType:
    """Return a Python file as a module; what it raises is its author's to see whole.

    Args:
        path: The file; ``~`` is the home folder.
        kind: What is looked for in it, for an error.

    Raises:
        ConfigError: There is no such file, or it is no Python file.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise ConfigError(f"there is no {kind} file {path}")
    module_name = f"stepwatch_{kind}_file_{file.stem}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is no Python file")
    module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _own_parameters(kind: type) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(kind).parameters
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: p for name, p in parameters.items() if p.kind not in variadic}


def _accepted(kind: type, common: type, noun: str) -> str:
    own = _own_parameters(kind)
    texts = [n if p.default is p.empty else f"{n}={p.default}" for n, p in own.items()]
    everywhere = [f"{f.name}={f.default}" for f in fields(common) if f.name not in own]
    more = f"and on every {noun}: {', '.join(everywhere)}"
    return f"accepted: {', '.join(texts) or 'none'}; {more}"


def _is_union(hint: object) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _as(value: object, hint: object) -> object:
    if hint is bool:
        return value if isinstance(value, bool) else _BOOLEANS[str(value).strip().lower()]
    if hint in (int, float) and isinstance(value, bool):
        raise TypeError
    if hint is int:
        return int(str(value))
    if hint is float:
        return float(str(value))
    if typing.get_origin(hint) is typing.Literal:
        choices = typing.get_args(hint)
        return choices[choices.index(value)]
    if hint is str:
        if not isinstance(value, str):
            raise TypeError
        return value
    if typing.get_origin(hint) in (tuple, list, Sequence):
        if isinstance(value, str):
            return split_list(value)
        return tuple(str(item) for item in typing.cast("Sequence[object]", value))
    return value


def _spelled(hint: object) -> str:
    if hint is type(None):
        return "none"
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(str(choice) for choice in typing.get_args(hint))
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    return names.get(typing.cast("type", hint), "a list separated by commas")
