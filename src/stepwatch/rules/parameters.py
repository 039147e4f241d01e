"""Rules from what people write: a spec on the command line, or strings from a JSON file.

A spec is ``name`` or ``name:parameter=value,parameter=value``; several are separated by ``;``.
The name is that of a rule in snake_case or CamelCase, or ``path/to/file.py:ClassName``.

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

from .. import registry
from ..errors import ConfigError, nearest
from .rule import Rule
from .scope import Scope, Watched

GROUP = "stepwatch.rules"

Spec = str | Mapping[str, object] | Rule | Watched

_BETWEEN_SPECS = re.compile(r";(?=\s*(?:[A-Za-z_./~]|$))")
_BETWEEN_PARAMETERS = re.compile(r",(?=\s*[A-Za-z_]\w*\s*=)")
_OWN_FILE = re.compile(r"(?P<name>.+\.py:[A-Za-z_]\w*)(?::(?P<rest>.*))?", re.DOTALL)
_BOOLEANS = {
    **dict.fromkeys(("true", "1", "yes"), True),
    **dict.fromkeys(("false", "0", "no"), False),
}
_SCOPE_NAMES = tuple(field.name for field in fields(Scope))
#: Under these keys a dict says which rule it means; the second is SageMaker's.
_NAME_KEYS = ("rule", "rule_to_invoke")


def parse_rules(specs: str | Sequence[Spec]) -> list[Watched]:
    """Build rules from specs.

    Args:
        specs: One text, or several of: texts, dicts with the key ``rule`` and parameters as
            strings or as JSON's own types, and rules that are already built.

    Returns:
        In the order asked for. A rule that is asked for twice gets ``-2`` after its name.

    Raises:
        ConfigError: An unknown rule or parameter, or a value that does not fit; one line that
            names what would.
    """
    watched: list[Watched] = []
    for spec in [specs] if isinstance(specs, str) else specs:
        if isinstance(spec, str):
            watched += [_from_text(text) for text in split_specs(spec)]
        elif isinstance(spec, Watched):
            watched.append(spec)
        elif isinstance(spec, Mapping):
            watched.append(_from_mapping(spec))
        else:
            watched.append(Watched(spec))
    return _with_labels(watched)


def split_specs(text: str) -> list[str]:
    """Return the specs in a text, which ``;`` separates.

    Example:
        >>> split_specs("default; loss_spike:k=9")
        ['default', 'loss_spike:k=9']
    """
    return [spec.strip() for spec in _BETWEEN_SPECS.split(text) if spec.strip()]


def build(name: str, parameters: Mapping[str, object]) -> Watched:
    """Build one rule from its name and its parameters.

    Args:
        name: As in a spec.
        parameters: Strings are converted by the type hints of the rule's constructor; values of
            the right type are taken as they are. Those that the rule does not have itself go to
            its ``Scope``.
    """
    kind = find_rule(name)
    own = _own_parameters(kind)
    hints, scope_hints = _hints(kind), typing.get_type_hints(Scope)
    for_rule: dict[str, Any] = {}
    for_scope: dict[str, Any] = {}
    for key, value in parameters.items():
        if key in own:
            for_rule[key] = convert(f"{kind.name}: {key}", value, hints.get(key, str))
        elif key in _SCOPE_NAMES:
            for_scope[key] = convert(f"{kind.name}: {key}", value, scope_hints[key])
        else:
            raise _no_such_parameter(kind, key)
    missing = [p.name for p in own.values() if p.default is p.empty and p.name not in for_rule]
    if missing:
        raise ConfigError(f"{kind.name} needs {', '.join(missing)}; {_accepted(kind)}")
    try:
        return Watched(kind(**for_rule), Scope(**for_scope))
    except ConfigError as error:
        raise ConfigError(f"{kind.name}: {error}") from None


def find_rule(name: str) -> type[Rule]:
    """Return the class of a rule by its name in any case, or by ``path/to/file.py:ClassName``."""
    own_file = _OWN_FILE.fullmatch(name)
    if own_file:
        return _from_file(*name.rsplit(":", 1))
    found = registry.load(GROUP, name)
    return typing.cast("type[Rule]", found)  # the registry does not know what plug-ins are


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


def _from_text(text: str) -> Watched:
    own_file = _OWN_FILE.fullmatch(text.strip())
    if own_file:
        name, rest = own_file["name"], own_file["rest"] or ""
    else:
        name, _, rest = text.strip().partition(":")
    parameters: dict[str, object] = {}
    for part in _BETWEEN_PARAMETERS.split(rest) if rest.strip() else ():
        key, equals, value = part.partition("=")
        if not equals:
            raise ConfigError(
                f"rule {text.strip()!r}: {part!r} is not parameter=value"
                "; for example loss_spike:window=64,k=8"
            )
        parameters[key.strip()] = value.strip()
    return build(name.strip(), parameters)


def _from_mapping(spec: Mapping[str, object]) -> Watched:
    names = [spec[key] for key in _NAME_KEYS if key in spec]
    if len(names) != 1:
        raise ConfigError(
            f"a rule given as a dict needs the key 'rule' with its name, got keys {list(spec)}"
        )
    parameters = {key: value for key, value in spec.items() if key not in _NAME_KEYS}
    return build(str(names[0]), parameters)


def _with_labels(watched: list[Watched]) -> list[Watched]:
    seen: dict[str, int] = {}
    labelled = []
    for one in watched:
        count = seen[one.name] = seen.get(one.name, 0) + 1
        label = f"{one.name}-{count}" if count > 1 else one.label
        labelled.append(Watched(one.rule, one.scope, label))
    return labelled


def _from_file(path: str, class_name: str) -> type[Rule]:
    file = Path(path).expanduser()
    if not file.is_file():
        raise ConfigError(f"there is no rule file {path}")
    module_name = f"stepwatch_rule_file_{file.stem}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is no Python file")
    module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # what goes wrong in a user's file is the user's to see whole
    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and hasattr(found, "check") and hasattr(found, "name")):
        rules = [n for n, kind in vars(module).items() if hasattr(kind, "check") and n != "Rule"]
        raise ConfigError(
            f"{path} has no rule {class_name}; a rule is a class with name, needs and check"
            f" (there are {', '.join(rules) or 'none'})"
        )
    return found


def _own_parameters(kind: type[Rule]) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(kind).parameters
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: p for name, p in parameters.items() if p.kind not in variadic}


def _hints(kind: type[Rule]) -> dict[str, object]:
    return typing.get_type_hints(kind.__init__)


def _no_such_parameter(kind: type[Rule], key: str) -> ConfigError:
    close = nearest(key, (*_own_parameters(kind), *_SCOPE_NAMES))
    return ConfigError(f"{kind.name} has no parameter {key!r}{close} ({_accepted(kind)})")


def _accepted(kind: type[Rule]) -> str:
    own = _own_parameters(kind)
    texts = [n if p.default is p.empty else f"{n}={p.default}" for n, p in own.items()]
    common = [f"{f.name}={f.default}" for f in fields(Scope) if f.name not in own]
    return f"accepted: {', '.join(texts) or 'none'}; and on every rule: {', '.join(common)}"


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
