"""The collections file of a worker: what was asked to be saved, and of which tensors."""

from __future__ import annotations

import json
from collections.abc import Collection as AbstractCollection
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...errors import ConfigError, CorruptRun
from ...hook_config import RAW, Reduction, SavedCollection, SaveSteps, Stored, in_order
from ...steps import Mode

_MODES = (Mode.TRAIN, Mode.EVAL, Mode.PREDICT, Mode.GLOBAL)
_PARTS = {"collections", "_meta"}


def collections_to_json(
    collections: Sequence[SavedCollection],
    members: Mapping[str, AbstractCollection[str]],
    num_workers: int,
) -> dict[str, object]:
    """Return what the collections file of a worker holds.

    Args:
        collections: All that are known.
        members: The names of the tensors that each holds, by its name.
        num_workers: How many workers write collections files.
    """
    return {
        "collections": {
            one.name: _to_json(one, one.tensors.union(members.get(one.name, ())))
            for one in collections
        },
        "_meta": {"num_workers": num_workers},
    }


def _to_json(one: SavedCollection, tensors: AbstractCollection[str]) -> dict[str, object]:
    reductions = in_order(one.stored.reductions)
    return {
        "name": one.name,
        "include_regex": list(one.patterns),
        "tensor_names": sorted(tensors),
        "reduction_config": {
            "save_raw_tensor": one.stored.raw,
            "reductions": ",".join(reduction.text for reduction in reductions),
            "save_shape": one.stored.shape,
        },
        "save_config": {mode.value: _steps_to_json(one.steps[mode]) for mode in _MODES},
        "save_histogram": one.histogram,
    }


def _steps_to_json(steps: SaveSteps) -> dict[str, object]:
    return {
        "save_interval": steps.interval,
        "save_steps": list(steps.steps),
        "start_step": steps.start,
        "end_step": steps.end,
    }


def collections_from_json(key: str, data: bytes) -> tuple[tuple[SavedCollection, ...], int]:
    """Return the collections of a file, with their tensors, and how many workers write.

    What a file leaves open, as one of a hook that never saved does, has the defaults.

    Args:
        key: Where it lies, for the error.
        data: Its bytes.

    Raises:
        CorruptRun: It is no collections file.
    """
    try:
        return _parse(json.loads(data))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise CorruptRun(key, 0, f"not a collections file ({_why(error)})") from None


def _parse(values: Mapping[str, Mapping[str, object]]) -> tuple[tuple[SavedCollection, ...], int]:
    if not values.keys() <= _PARTS:
        raise ValueError(f"it also has {', '.join(sorted(values.keys() - _PARTS))}")
    num_workers = _number(values.get("_meta", {}).get("num_workers", 1))
    if num_workers < 1:
        raise ValueError(f"num_workers is {num_workers}")
    named: dict[str, dict[str, object]] = dict(values["collections"])  # type: ignore[arg-type]
    return tuple(_from_json(name, one) for name, one in named.items()), num_workers


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, ConfigError) else repr(error)


def _from_json(name: str, one: Mapping[str, object]) -> SavedCollection:
    histogram = one.get("save_histogram", True)
    if not isinstance(histogram, bool):
        raise TypeError(f"save_histogram is {histogram!r}")
    return SavedCollection(
        _text(one.get("name", name)),
        _texts(one.get("include_regex") or []),
        frozenset(_texts(one.get("tensor_names") or [])),
        _all_steps(one.get("save_config")),
        _stored(one.get("reduction_config")),
        histogram,
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError(f"{values!r} is no list")
    return tuple(map(_text, values))


def _all_steps(values: object) -> dict[Mode, SaveSteps]:
    given = values or {}
    if not isinstance(given, dict):
        raise TypeError(f"save_config is {values!r}")
    return {mode: _steps(given.get(mode.value) or {}) for mode in _MODES}


def _steps(values: Mapping[str, object]) -> SaveSteps:
    end = values.get("end_step")
    steps: object = values.get("save_steps") or []
    if not isinstance(steps, list):
        raise TypeError(f"save_steps is {steps!r}")
    return SaveSteps(
        _number(values.get("save_interval", 500)),
        # There is no step below 0, so these say the same.
        max(_number(values.get("start_step") or 0), 0),
        None if end is None else max(_number(end), 0),
        tuple(step for step in map(_number, steps) if step >= 0),
    )


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _stored(values: object) -> Stored:
    if values is None:
        return RAW
    if not isinstance(values, dict):
        raise TypeError(f"reduction_config is {values!r}")
    names = _text(values.get("reductions") or "").split(",")
    return Stored(
        _yes(values.get("save_raw_tensor", False)),
        tuple(dict.fromkeys(Reduction.parse(name) for name in names if name.strip())),
        _yes(values.get("save_shape", False)),
    )


def _yes(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def merge_collections(
    files: Iterable[Sequence[SavedCollection]],
) -> dict[str, SavedCollection]:
    """Return the collections of several workers by name, with the tensors of all of them."""
    merged: dict[str, SavedCollection] = {}
    for file in files:
        for one in file:
            known = merged.get(one.name)
            both = replace(known, tensors=known.tensors | one.tensors) if known else one
            merged[one.name] = both
    return merged
