"""Parameters as a rule declares them: type, default, bounds and what each means, in one place.

From the declarations come the constructor, its errors, the signature by which specs are converted,
and the tables of ``docs/rules.md``.
"""

from __future__ import annotations

import inspect
import re
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ConfigError, nearest


def at_least(name: str, value: float, least: float) -> None:
    """Raise a ConfigError for a parameter below ``least``, or nan."""
    if not value >= least:
        raise ConfigError(f"{name} must be at least {least}, got {value}")


def above(name: str, value: float, limit: float, *, up_to: float = float("inf")) -> None:
    """Raise a ConfigError for a parameter that is not above ``limit`` and at most ``up_to``."""
    if not limit < value <= up_to:
        end = "" if up_to == float("inf") else f" and at most {up_to}"
        raise ConfigError(f"{name} must be above {limit}{end}, got {value}")


def within(name: str, value: float, least: float, most: float) -> None:
    """Raise a ConfigError for a parameter that is not between two numbers, themselves included."""
    if not least <= value <= most:
        raise ConfigError(f"{name} must be from {least} to {most}, got {value}")


def one_of(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise a ConfigError for a parameter that is neither ``None`` nor one of ``choices``."""
    if value is not None and value not in choices:
        close = nearest(str(value), choices)
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, got {value!r}{close}")


def compiled(name: str, regex: str | None) -> None:
    """Raise a ConfigError for a regular expression that does not compile."""
    try:
        re.compile(regex or "")
    except re.error as error:
        raise ConfigError(f"{name} {regex!r} does not compile: {error}") from None


#: A number, or the name of another parameter.
Bound = float | str | None


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a rule declares of one parameter; see ``parameter``."""

    default: object
    doc: str
    at_least: Bound
    above: Bound
    at_most: float | None
    between: tuple[float, float] | None
    one_of: tuple[str, ...]
    regex: bool
    kw_only: bool
    hint: object = None

    def convert(self, value: object) -> object:
        """Return the value as the rule keeps it: sequences are tuples."""
        is_list = typing.get_origin(self.hint) is Sequence
        return tuple(value) if is_list else value  # type: ignore[arg-type]  # by its type hint

    def check(self, name: str, rule: object) -> None:
        """Raise a ConfigError if the value that ``rule`` has is outside of the bounds."""
        value: Any = getattr(rule, name)
        if value is None:
            return
        if self.above is not None:
            most = float("inf") if self.at_most is None else self.at_most
            above(name, value, _number(self.above, rule), up_to=most)
        elif self.between is not None:
            within(name, value, *self.between)
        elif self.at_least is not None:
            at_least(name, value, _number(self.at_least, rule))
        if self.choices:
            one_of(name, value, self.choices)
        if self.regex:
            compiled(name, value)

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it can take, by ``one_of`` or as its type hint is a ``Literal``."""
        options = (self.hint, *typing.get_args(self.hint))
        literals = [one for one in options if typing.get_origin(one) is typing.Literal]
        return self.one_of or tuple(value for one in literals for value in typing.get_args(one))

    @property
    def bounds(self) -> str:
        """The bounds as a sentence, or ``""``.

        Example:
            >>> parameter(0.5, "The share.", above=0, at_most=1).bounds
            'Above 0, at most 1.'
        """
        if self.above is not None:
            end = "" if self.at_most is None else f", at most {self.at_most:.7g}"
            return f"Above {_written(self.above)}{end}."
        if self.between is not None:
            return "From {:.7g} to {:.7g}.".format(*self.between)
        return "" if self.at_least is None else f"At least {_written(self.at_least)}."


def parameter(
    default: object = inspect.Parameter.empty,
    doc: str = "",
    *,
    at_least: Bound = None,
    above: Bound = None,
    at_most: float | None = None,
    between: tuple[float, float] | None = None,
    one_of: Sequence[str] = (),
    regex: bool = False,
    kw_only: bool = False,
) -> Any:
    """Declare a parameter of a rule, as the value of an annotated class attribute.

    ``None`` is outside of no bounds. A ``Literal`` as the annotation bounds the value as well.

    Args:
        default: Without one the parameter must be given.
        doc: What it means, for the documentation.
        at_least: The least value, or the name of another parameter that holds it.
        above: Or what it must be above.
        at_most: And what it is at most, with ``above``.
        between: Or the least and the largest value.
        one_of: The texts that it can be.
        regex: It must compile.
        kw_only: It can be given by its name only, and comes after those of subclasses.

    Example:
        >>> from stepwatch.judge.rule import Rule
        >>> class Large(Rule):
        ...     limit: float = parameter(100.0, "More is too much.", above=0)
        >>> Large().limit, Large(limit=5).limit
        (100.0, 5)
        >>> Large(-1)
        Traceback (most recent call last):
        stepwatch.errors.ConfigError: limit must be above 0, got -1
    """
    choices = tuple(one_of)
    return Parameter(default, doc, at_least, above, at_most, between, choices, regex, kw_only)


def declare(kind: type, inherited: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Return the parameters of a class; its attributes become the defaults.

    One that a subclass declares again moves to the position of that.
    """
    own = {name: value for name, value in vars(kind).items() if isinstance(value, Parameter)}
    namespace = getattr(sys.modules.get(kind.__module__), "__dict__", {})
    for name, one in own.items():
        hint = kind.__annotations__[name]
        hint = eval(hint, namespace) if isinstance(hint, str) else hint
        own[name] = replace(one, hint=hint)
        if one.default is inspect.Parameter.empty:
            delattr(kind, name)
        else:
            setattr(kind, name, one.default)
    known = {name: one for name, one in inherited.items() if name not in own} | own
    return dict(sorted(known.items(), key=lambda item: item[1].kw_only))


def constructor(parameters: Mapping[str, Parameter]) -> Callable[..., None]:
    """Return an ``__init__`` that takes, checks and keeps parameters, then calls ``begin``."""
    kinds = inspect.Parameter
    signature = inspect.Signature(
        [kinds("self", kinds.POSITIONAL_ONLY)]
        + [
            kinds(
                name,
                kinds.KEYWORD_ONLY if one.kw_only else kinds.POSITIONAL_OR_KEYWORD,
                default=one.default,
                annotation=one.hint,
            )
            for name, one in parameters.items()
        ]
    )

    def __init__(self: Any, *args: object, **named: object) -> None:  # noqa: N807
        given = signature.bind(self, *args, **named)
        given.apply_defaults()
        for name, one in parameters.items():
            setattr(self, name, one.convert(given.arguments[name]))
        for name, one in parameters.items():
            one.check(name, self)
        self.begin()

    __init__.__signature__ = signature  # type: ignore[attr-defined]  # what inspect asks for
    __init__.__annotations__ = {name: one.hint for name, one in parameters.items()}
    return __init__


def _number(bound: float | str, rule: object) -> Any:
    return getattr(rule, bound) if isinstance(bound, str) else bound


def _written(bound: Bound) -> str:
    return f"`{bound}`" if isinstance(bound, str) else f"{bound:g}" if bound is not None else ""
