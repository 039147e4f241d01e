"""What the settings of a hook, or of one collection, say about when and what to save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict

from ..errors import ConfigError
from ..hook_config import Reduction, SaveSteps, Stored, in_order
from ..steps import Mode
from .parameters import Parameters, log

WHEN = ("save_interval", "start_step", "end_step", "save_steps")
#: Keys that a hook and a collection share.
SHARED = (
    *WHEN,
    *(f"{mode.value.lower()}.{key}" for mode in Mode for key in WHEN),
    "reductions",
    "save_raw_tensor",
    "save_shape",
    "save_histogram",
    "include_regex",
)


class When(TypedDict, total=False):
    """The fields of ``SaveSteps`` of which something is said."""

    interval: int
    start: int
    end: int | None
    steps: tuple[int, ...]


def read_when(asked: Parameters, interval: int) -> Mapping[Mode, When]:
    """Return what is said of each mode; what is said of it alone counts more.

    Args:
        asked: The settings.
        interval: What ``null`` stands for.
    """
    every = _when(asked, "", interval)
    return {mode: every | _when(asked, f"{mode.value.lower()}.", interval) for mode in Mode}


def save_steps(
    asked: Parameters, when: Mapping[Mode, When], interval: int
) -> Mapping[Mode, SaveSteps]:
    """Return the steps that were asked for, every so-manieth if nothing was said."""
    try:
        return {mode: SaveSteps(**({"interval": interval} | said)) for mode, said in when.items()}
    except ConfigError as error:
        raise ConfigError(f"{asked.where}: {error}") from None


def read_stored(asked: Parameters, inherited: Stored) -> Stored:
    """Return what to store of a tensor.

    Reductions replace whatever was inherited. Without them, ``save_raw_tensor`` and
    ``save_shape`` change what was.
    """
    raw = asked.flag("save_raw_tensor") if "save_raw_tensor" in asked else None
    shape = asked.flag("save_shape") if "save_shape" in asked else None
    if "reductions" in asked:
        return Stored(bool(raw), _reductions(asked), bool(shape))
    stored = replace(
        inherited,
        raw=inherited.raw if raw is None else raw,
        shape=inherited.shape if shape is None else shape,
    )
    if stored == Stored():
        log.warning(
            "%s: save_raw_tensor is off and there is nothing else to save; it stays on", asked.where
        )
        return inherited
    return stored


def read_patterns(asked: Parameters) -> tuple[str, ...]:
    """Return the regular expressions for names of tensors."""
    if "include_regex" not in asked:
        return ()
    patterns = asked.words("include_regex")
    if not patterns:
        log.warning(
            "%s: include_regex is empty and does nothing; every tensor is '.*'", asked.where
        )
    return patterns


def _when(asked: Parameters, prefix: str, interval: int) -> When:
    said = When()
    # null is smdebug's own default, not what is inherited: end_step null is "no end".
    defaults = {"save_interval": interval, "start_step": 0}
    for key in WHEN:
        name = prefix + key
        if name not in asked:
            continue
        empty = asked.values[name] is None
        if key == "save_steps":
            said["steps"] = asked.wholes(name)
        elif key == "end_step":
            said["end"] = None if empty else asked.whole(name)
        elif key == "start_step":
            said["start"] = defaults[key] if empty else asked.whole(name)
        else:
            said["interval"] = defaults[key] if empty else asked.whole(name)
    return said


def _reductions(asked: Parameters) -> tuple[Reduction, ...]:
    try:
        return in_order(Reduction.parse(word) for word in asked.words("reductions"))
    except ConfigError as error:
        raise ConfigError(f"{asked.where}: reductions: {error}") from None
