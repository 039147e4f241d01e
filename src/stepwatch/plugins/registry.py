"""Plug-ins: hooks, stores, rules, actions and commands, ours and everybody's, by entry points.

Also optional packages, imported when they are first needed. Metadata is read at the first look-up
and then kept; importing this reads nothing.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

from ..errors import ConfigError, MissingDependency, nearest


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional package, or say how to get it.

    Args:
        module: Dotted name, such as ``plotly.graph_objects``.
        extra: The extra of Stepwatch that brings the package.

    Raises:
        MissingDependency: The package is not installed.
        ImportError: It is installed and broken; the original error, untouched.

    Example:
        >>> require("json", extra="plots").dumps([1])
        '[1]'
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # it is installed; something inside it is broken
        raise MissingDependency(
            f"{package} is not installed; run: pip install 'stepwatch[{extra}]'"
        ) from error


_KINDS = (
    "hooks",
    "hook_configs",
    "stores",
    "formats",
    "rules",
    "rule_adapters",
    "actions",
    "plots",
    "reports",
    "commands",
    "sources",
    "trackers",
)
GROUPS = tuple(f"stepwatch.{kind}" for kind in _KINDS)


def names(group: str) -> tuple[str, ...]:
    """Return the names that can be loaded from a group, sorted.

    Args:
        group: One of ``GROUPS``.

    Raises:
        ConfigError: There is no such group.
    """
    return tuple(sorted(found[0].name for found in _by_spelling(group).values()))


#: Where more are installed, the nearest are named.
_MOST_LISTED = 12
_LISTED_BY = {"stepwatch.rules": ", see: stepwatch rules"}


def load(group: str, name: str) -> object:
    """Return what a package offers under a name.

    Args:
        group: One of ``GROUPS``.
        name: In any spelling: ``VanishingGradient``, ``vanishing_gradient``,
            ``vanishing-gradient`` and ``VanishingGradientRule`` are one name.

    Raises:
        ConfigError: There is no such group or name, two packages claim the name, or the
            package does not hold what it declares.
        MissingDependency: Importing it failed.
    """
    found = _by_spelling(group).get(_spelling(group, name))
    if found is None:
        known = names(group)
        close = nearest(name.lower(), known)
        there = f"; there are {', '.join(known)}" if len(known) <= _MOST_LISTED else ""
        if not known:
            there = "; no installed package offers one"
        elif not close and not there:
            there = f"; {len(known)} are installed{_LISTED_BY.get(group, '')}"
        raise ConfigError(f"no {_kind(group)} is named {name!r}{close or there}")
    if len(found) > 1:
        claims = " and ".join(_origin(entry) for entry in found)
        raise ConfigError(f"the {_kind(group)} {name!r} is claimed by {claims}; uninstall one")
    return _load(found[0])


def _load(entry: EntryPoint) -> object:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        kind = MissingDependency if isinstance(error, ImportError) else ConfigError
        what = f"the {_kind(entry.group)} {entry.name!r} of {_origin(entry)}"
        raise kind(f"{what} cannot be loaded: {error}") from error


@cache
def _installed() -> dict[str, list[EntryPoint]]:
    """Return the entry points of each group."""
    every = entry_points()  # once for all groups: it reads the metadata of every package
    return {group: list(every.select(group=group)) for group in GROUPS}


def forget() -> None:
    """Read the metadata anew at the next look-up: a package was installed meanwhile."""
    _installed.cache_clear()
    _by_spelling.cache_clear()


@cache
def _by_spelling(group: str) -> dict[str, list[EntryPoint]]:
    if group not in GROUPS:
        raise ConfigError(f"no plug-in group {group!r}; there are {', '.join(GROUPS)}")
    found: dict[str, list[EntryPoint]] = {}
    for entry in _installed()[group]:
        claims = found.setdefault(_spelling(group, entry.name), [])
        # A package that is found twice on the path is no conflict.
        if entry.value not in [claim.value for claim in claims]:
            claims.append(entry)
    return found


def _spelling(group: str, name: str) -> str:
    # CamelCase cannot be split into words reliably (XGBoost); joining words can.
    joined = name.replace("_", "").replace("-", "").lower()
    return joined.removesuffix(_kind(group)) or joined


def _kind(group: str) -> str:
    return group.removeprefix("stepwatch.").removesuffix("s")


def _origin(entry: EntryPoint) -> str:
    return f"{entry.dist.name} ({entry.value})" if entry.dist else entry.value
