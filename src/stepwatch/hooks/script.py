"""The script that trains: where it stands, what its variables hold, and mistakes that show there.

Some mistakes are in nothing that a model, loss or optimizer is given: which rewards a return adds
up. The script has it in its variables.
"""

from __future__ import annotations

import ast
import inspect
import math
import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..numerics.measures import Floats

_STANDARD = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
_OURS = os.path.join(Path(__file__).parents[1], "")
_INSTALLED = ("site-packages", "dist-packages")
_KEEPS_LOCALS = sys.version_info < (3, 13)
#: Of fewer steps of an episode nothing is said, and of more elements nothing is read.
LEAST_RETURNS, _MOST_ELEMENTS = 8, 1 << 16
#: Discounts that are looked for: 1 adds up, as much else does.
LEAST_DISCOUNT, MOST_DISCOUNT = 0.3, 0.9999
# No part of a string, as of "%r" or r"x".
_WORD = re.compile(r"(?<![!%\\])\b[^\W\d]\w*\b(?![\"'])")
# What people call the rewards of one or several episodes.
_REWARDS = re.compile(
    r"((all|ep|episode|batch|b|buf|buffer)_)?(r|rs|rews?|rewards?|deltas?|td_errors?)"
    r"(_(list|lst|buf(fer)?|t|b|arr(ay)?|np))?",
    re.IGNORECASE,
)
# And what they call returns, which may be scaled or normalized.
_RETURNS = re.compile(
    r"((all|ep|episode|batch|b|buf|buffer|norm|normalized|scaled)_)?"
    r"(R|Rs|[Gg]s?|[Gg]_?t|disc(ounted)?_(r|rs|rews?|rewards?)|(disc(ounted)?_)?(returns?|rets?)"
    r"|rtgs?|rewards?_to_go|(value_)?targets?|adv(antage)?s?|gaes?)"
    r"(_(list|lst|buf(fer)?|t|b|arr(ay)?|np|tensor|norm|normalized|scaled))?"
)
# And what says after which steps episodes ended.
_ENDS = re.compile(
    r"((all|ep|episode|batch|b|buf|buffer)_)?(d|dones?|terms?|terminals?|terminated|ends?|ended)"
    r"(_(list|lst|buf(fer)?|t|b|arr(ay)?|np))?",
    re.IGNORECASE,
)
# A script that goes through something from its end on.
_BACKWARDS = re.compile(r"\breversed\(|::\s*-1\b|\bflip(ud)?\(|,\s*-1\s*,\s*-1\s*\)")

#: Of fewer states nothing is said, and of more numbers nothing is read.
LEAST_STATES, _MOST_IN_STATES = 8, 1 << 18
#: What people call the states that actions lead to, and what the values of those are multiplied by.
NEXT_STATE = re.compile(
    r"(n(e?xt)?|new)_?(s(tates?)?|o(bs(ervations?)?)?|x)(_(b|batch|t))?|[a-z]+(2|p|_|_p|_prime|_next)",
    re.IGNORECASE,
)
_DISCOUNT = re.compile(r"(.*_)?(gamma|discount(_?(rate|factor))?)", re.IGNORECASE)


def main_script() -> str:
    """Return the path of the script that runs; ``""`` where there is none, as in a notebook."""
    return str(getattr(sys.modules.get("__main__"), "__file__", None) or "")


def script_place() -> str:
    """Return where the code stands that leads here, outside of packages; ``""`` for nowhere."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_script(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def script_variables(most: int = 4) -> Iterator[tuple[str, object]]:
    """Yield the variables of the innermost functions outside of packages that lead here.

    Args:
        most: Of so many functions.
    """
    for frame in script_frames(most):
        yield from variables_of(frame).items()


def is_of_shape_in_script(shape: tuple[int | None, ...]) -> bool:
    """Return whether the innermost function of the script holds an array of a shape.

    Args:
        shape: Of two axes or more; of fewer that says nothing.
    """
    if len(shape) < 2:
        return False
    for _, value in script_variables(1):
        some = value if isinstance(value, (tuple, list)) else (value,)
        if any(tuple(getattr(one, "shape", None) or ()) == shape for one in some[:8]):
            return True
    return False


def variables_of(frame: FrameType) -> dict[str, object]:
    """Return the variables of a function that runs, or of a module, without keeping them alive.

    Before Python 3.13 ``f_locals`` of a function is a dictionary that its frame keeps until it
    ends: what the function deletes would stay in memory. The function's own ``locals()`` is that
    same dictionary, so a function that calls it is left alone and has no variables here.
    """
    code = frame.f_code
    is_copied = _KEEPS_LOCALS and code.co_flags & inspect.CO_OPTIMIZED
    if is_copied and "locals" in code.co_names:
        return {}
    kept = frame.f_locals
    variables = dict(kept)
    if is_copied and sys.gettrace() is None:  # a debugger writes what is kept back
        kept.clear()
    return variables


def script_frames(most: int = 4) -> Iterator[FrameType]:
    """Yield where the innermost functions outside of packages stand that lead here."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and most:
        if is_script(frame.f_code.co_filename):
            yield frame
            most -= 1
        frame = frame.f_back


@lru_cache(maxsize=4096)
def is_script(file: str) -> bool:
    """Return whether a file is no part of an installed package, of Python, or of Stepwatch."""
    if file.startswith(("<", _OURS)):
        return False
    if any(part in _INSTALLED for part in Path(file).parts):
        return False
    return not file.startswith(_STANDARD)


@lru_cache(maxsize=16)
def script_tree(file: str, largest: int) -> ast.Module | None:
    """Return the syntax tree of a script; ``None`` where it cannot be read.

    Args:
        file: Its path.
        largest: Of more characters it is not parsed.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
        return ast.parse(text) if len(text) <= largest else None
    except (OSError, SyntaxError, ValueError):
        return None


def first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return where a function begins, with what decorates it, as its code says."""
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])


def returns_of_script() -> dict[str, float]:
    """Return what the script calls returns that do not belong to their actions.

    A return is the reward and a discount times the return after it. In a loop that is not reversed
    it becomes the reward and the discount times the return *before* it, and actions are told by
    what came before them. In one that appends what it made from the last step on, the first
    action has the return of the last. What is called returns may be scaled and shifted, too, as by
    a normalization, and hold several episodes, of which the script has the rewards of the last, or
    of each. Rewards that are all the same do not tell which of both it is: the text of the script
    does, by whether anything in it is gone through backwards.

    Returns:
        The discount, by the names of the rewards and of the returns: as numbers of the collection
        ``policy`` called ``policy/forward_returns/REWARDS/RETURNS`` and ``policy/reversed_returns/
        ...``. Time is the first axis.
    """
    files = {frame.f_code.co_filename for frame in script_frames()}
    texts = [_text_of(file) for file in files]
    if not any(text.has_rewards for text in texts):
        return {}  # as in most trainings, whose variables need not be looked at
    variables: dict[str, Any] = {}
    for name, value in script_variables():
        variables.setdefault(name, value)
    for name, value in [*variables.items()]:
        variables |= {f"{name}.{kept}": one for kept, one in _kept_by(value)}
    for name, rewards, rows, total in _rewards_of_episodes(variables):
        is_last = rows.start is None
        for other, value in variables.items():
            is_named = bool(_RETURNS.fullmatch(other.rpartition(".")[2]))
            returns = None if other == name else _numbers(value, total, or_last=is_named & is_last)
            if returns is None or (returns := returns[rows]).shape != rewards.shape:
                continue
            ways = (_discount, _moved_discount) if is_named else (_discount,)
            if any(way(rewards[::-1], returns[::-1]) is not None for way in ways):
                continue  # as it should be
            kinds = {"forward": rewards, "reversed": rewards[::-1]}
            if np.ptp(rewards) == 0 and any(text.goes_backwards for text in texts):
                del kinds["forward"]
            for kind, taken in kinds.items():
                for way in ways:
                    discount = way(taken, returns)
                    if discount is not None:
                        return {f"policy/{kind}_returns/{name}/{other}": discount}
    return {}


def next_states() -> dict[str, float]:
    """Return whether states before and after actions are the same, as the script holds a batch.

    Both are of one shape, ``[batch, ...]``, and no other pair is; or lists of arrays.

    Returns:
        1 where they hold the same numbers, else 0, as a number of the collection ``policy`` called
        ``value/same_states/AFTER/BEFORE``.
    """
    by_shape: dict[tuple[int, ...], dict[str, Floats]] = {}
    for name, value in script_variables(2):
        if (states := _states(value)) is not None:
            by_shape.setdefault(states.shape, {}).setdefault(name, states)
    same = {}
    for found in by_shape.values():
        names = [name for name in found if NEXT_STATE.fullmatch(name)]
        if len(found) == 2 and len(names) == 1:
            (other,) = (name for name in found if name not in names)
            one, two = found[names[0]], found[other]
            if not np.shares_memory(one, two):
                same[f"value/same_states/{names[0]}/{other}"] = float(np.array_equal(one, two))
    return same


def _states(value: Any) -> Floats | None:
    """Return the states of a batch that a variable holds on the host; ``None`` if it is none."""
    try:
        if type(value) in (list, tuple):
            if not all(type(one) is np.ndarray and one.shape == value[0].shape for one in value):
                return None
            shape = (len(value), *value[0].shape) if len(value) else ()
        else:
            shape = tuple(getattr(value, "shape", ()))
        is_small = len(shape) > 1 and LEAST_STATES <= shape[0] <= math.prod(shape)
        if not is_small or math.prod(shape) > _MOST_IN_STATES or not getattr(value, "is_cpu", True):
            return None
        array = np.asarray(value.detach() if hasattr(value, "detach") else value)
    except Exception:  # noqa: BLE001  it is traced, of a dtype of its own, or whatever has a shape
        return None
    return array if array.dtype.kind == "f" else None


def has_discount() -> bool:
    """Return whether a variable of the script, or what an object keeps, is a discount."""
    for name, value in script_variables():
        kept = {} if isinstance(value, type) else getattr(value, "__dict__", {})
        for one, number in ((name, value), *kept.items()):
            is_number = type(number) is float and 0 < number < 1
            if is_number and _DISCOUNT.fullmatch(one):
                return True
    return False


class _Text(NamedTuple):
    """What the text of a script says.

    Args:
        has_rewards: Whether anything is called as rewards are.
        goes_backwards: Whether anything is gone through from its end on.
    """

    has_rewards: bool
    goes_backwards: bool


@lru_cache(maxsize=64)
def _text_of(file: str) -> _Text:
    """Return what the text of a file says; of one that cannot be read that it may have rewards."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return _Text(has_rewards=True, goes_backwards=False)
    has_rewards = any(map(_REWARDS.fullmatch, set(_WORD.findall(text))))
    return _Text(has_rewards, _BACKWARDS.search(text) is not None)


_Rewards = tuple[str, Floats, slice, int]


def _rewards_of_episodes(variables: Mapping[str, Any]) -> Iterator[_Rewards]:
    """Yield rewards of one episode each that a script has.

    Returns:
        Their name, the rewards, their place among those of all, and how many these are; of what
        may be all, or those of the last, the place is ``slice(None)``.
    """
    for name, value in variables.items():
        if not _REWARDS.fullmatch(name.rpartition(".")[2]):
            continue
        rewards = _numbers(value)
        if rewards is None:
            continue
        yield name, rewards, slice(None), len(rewards)
        for lengths in _lengths(variables, len(rewards)):
            rows = _longest(lengths)
            if rows.stop - rows.start >= LEAST_RETURNS:
                yield name, rewards[rows], rows, len(rewards)
    yield from _longest_episodes(variables)


def _longest(lengths: Sequence[int]) -> slice:
    """Return the place of the longest of episodes that are put together in their order."""
    number = lengths.index(max(lengths))
    begin = sum(lengths[:number])
    return slice(begin, begin + lengths[number])


def _lengths(variables: Mapping[str, Any], total: int) -> Iterator[list[int]]:
    """Yield how long several episodes are by what a script has: their lengths, or their ends."""
    for name, value in variables.items():
        if type(value) is list and 1 < len(value) <= total // 2:
            if all(type(one) is int and one > 0 for one in value) and sum(value) == total:
                yield value
        elif _ENDS.fullmatch(name.rpartition(".")[2]):
            flags = _numbers(value, total)
            if flags is None or flags.ndim > 1 or not np.isin(flags, (0, 1)).all():
                continue
            ends = (np.flatnonzero(flags[:-1]) + 1).tolist()
            if ends:
                yield [end - begin for begin, end in zip([0, *ends], [*ends, total], strict=True)]


def _longest_episodes(variables: Mapping[str, Any]) -> Iterator[_Rewards]:
    """Yield the rewards of the longest of several episodes that are put together in their order.

    Each is a list of rewards, or a mapping, of which an entry holds them.
    """
    for name, value in variables.items():
        if type(value) not in (list, tuple) or len(value) < 2:
            continue
        named: dict[str, list[Any]] = {}
        if all(type(one) is dict for one in value):
            keys = [one for one in value[0] if isinstance(one, str) and _REWARDS.fullmatch(one)]
            named = {f"{name}.{key}": [one.get(key) for one in value] for key in keys}
        elif _REWARDS.fullmatch(name.rpartition(".")[2]):
            named = {name: [*value]}
        for one, each in named.items():
            if all(type(rewards) is list for rewards in each):
                lengths = [len(rewards) for rewards in each]
                rewards = _numbers(each[lengths.index(max(lengths))])
                if rewards is not None:
                    yield one, rewards, _longest(lengths), sum(lengths)


def _kept_by(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object of the script keeps of an episode, such as a model or a buffer."""
    if isinstance(value, (type, ModuleType)) or type(value).__module__ == "builtins":
        return
    for name, one in [*getattr(value, "__dict__", {}).items()]:
        if isinstance(name, str) and (_REWARDS.fullmatch(name) or _RETURNS.fullmatch(name)):
            yield name, one


def _discount(rewards: Floats, returns: Floats) -> float | None:
    """Return by what each return adds the one before it to its reward; ``None`` if it does not."""
    before, added = returns[:-1].ravel(), (returns - rewards)[1:].ravel()
    size = float(before @ before)
    if not size > 0 or not np.allclose(returns[0], rewards[0], rtol=1e-4, atol=1e-6):
        return None
    discount = float(before @ added) / size
    if not LEAST_DISCOUNT < discount < MOST_DISCOUNT:
        return None
    is_exact = np.abs(added - discount * before).max() <= 1e-4 * np.abs(returns).max()
    return discount if is_exact else None


def _moved_discount(rewards: Floats, returns: Floats) -> float | None:
    """Return the same where returns were multiplied by a number above 0, and shifted by another.

    Each is then a linear function of its reward and of the one before. Rewards that are all the
    same leave that of the one before: returns go the way of the rewards, and slow down.
    """
    before, now, given = (one.ravel() for one in (returns[:-1], returns[1:], rewards[1:]))
    spread = float(np.ptp(returns))
    varies = np.ptp(given) > 0
    if not spread > 0 or not (varies or np.ptp(rewards) == 0):
        return None
    columns = [before, np.ones_like(before), *([given] if varies else [])]
    design = np.stack(columns, 1)
    scales = np.abs(design).max(0)
    if not (scales > 0).all():
        return None
    found, _, rank, _ = np.linalg.lstsq(design / scales, now, rcond=1e-9)
    discount, shift, *by = (found / scales).tolist()
    left = np.abs(design @ (found / scales) - now).max()
    if rank < len(columns) or left > 1e-5 * spread or not LEAST_DISCOUNT < discount < MOST_DISCOUNT:
        return None
    if not by:  # a power of the discount has no shift
        goes = float((returns[-1] - returns[0]).sum() * rewards[0].sum())
        return discount if goes > 0 and abs(shift) > 1e-3 * spread * (1 - discount) else None
    first = by[0] * rewards[0] + shift / (1 - discount)
    begins = np.allclose(returns[0], first, rtol=0, atol=1e-4 * spread)
    is_average = abs(by[0] - (1 - discount)) < 1e-3 * (1 - discount)
    return discount if by[0] > 0 and begins and not is_average else None


def _numbers(value: Any, length: int | None = None, *, or_last: bool = False) -> Floats | None:
    """Return numbers over time, shape ``[steps]`` or ``[steps, episodes]``; else ``None``.

    Of a list with what each episode has, the last.

    Args:
        length: How many steps; by default any number.
        or_last: Of more steps the last so many.
    """
    if type(value) is list and value and not isinstance(value[-1], (int, float, np.number)):
        value = value[-1]
    is_list = type(value) in (list, tuple)
    if not is_list and type(value) is not np.ndarray and type(value).__module__ != "torch":
        return None
    steps = len(value) if is_list else next(iter(getattr(value, "shape", ())), 0)
    if or_last and length is not None and steps > length:
        value, steps = value[steps - length :], length
    if not LEAST_RETURNS <= steps <= _MOST_ELEMENTS or length not in (None, steps):
        return None
    if is_list and not all(isinstance(one, (bool, int, float, np.number)) for one in value):
        return None
    try:
        array = np.asarray(value)
    except Exception:  # noqa: BLE001  on an accelerator, with a gradient, of a dtype of its own
        return None
    if array.dtype.kind not in "fiub" or array.ndim > 2 or array.size > _MOST_ELEMENTS:
        return None
    return array.astype(np.float64) if np.isfinite(array).all() else None
