"""What variables of a script hold, by their shapes, numbers and names.

Some mistakes are in what a graph does not hold: whether weights of a policy are rewards or costs,
whether an episode has ended, how long somebody lived. The script has it in a variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ...script import LEAST_STATES, NEXT_STATE, has_discount, script_variables
from ..tensors import readable

#: Of more rows a list is not looked at.
_MOST_ROWS = 1 << 16


def columns(rows: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield what variables of the script hold for each row of a batch, shape ``[rows]``.

    Or what they hold at the rows that another variable chooses. On the host only.
    """
    tensors = {}
    for name, value in script_variables():
        if type(value) is torch.Tensor and value.is_cpu and value.dim() <= 2:
            if (found := readable(value)) is not None:
                tensors[name] = found.detach().reshape(-1)
        elif type(value) is np.ndarray and value.size == rows <= _MOST_ROWS:
            if value.dtype.kind in "biuf":  # whole numbers may choose rows
                kind = np.int64 if value.dtype.kind in "iu" else np.float64
                tensors[name] = torch.tensor(value.reshape(-1).astype(kind))
        elif isinstance(value, (tuple, list)) and len(value) == rows <= _MOST_ROWS:
            are_numbers = all(type(one) in (bool, int, float) for one in value)
            tensors |= {name: torch.tensor(value)} if are_numbers else {}
    chosen = [
        value
        for value in tensors.values()
        if value.dtype == torch.int64 and len(value) == rows and int(value.min()) >= 0
    ]
    for name, value in tensors.items():
        if len(value) == rows:
            yield name, value
        elif len(value) > rows:
            yield from ((name, value[one]) for one in chosen if int(one.max()) < len(value))


#: Of fewer pairs, and of more, nothing is looked at.
_LEAST_PAIRS, _MOST_PAIRS = 32, 1 << 19


def pairs() -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """Yield what variables of the script hold of pairs of whole numbers, shape ``[pairs, 2]``.

    Lists of tuples, arrays and tensors on the host.
    """
    for name, value in script_variables():
        found: Any = value
        if type(value) in (list, tuple):
            is_known = _LEAST_PAIRS <= len(found) <= _MOST_PAIRS and _are_pairs(found)
        elif type(value) in (np.ndarray, torch.Tensor):
            is_of_pairs = found.ndim == 2 and found.shape[1] == 2
            is_known = is_of_pairs and _LEAST_PAIRS <= len(found) <= _MOST_PAIRS
            is_known &= type(value) is np.ndarray or (found.is_cpu and readable(value) is not None)
        else:
            continue
        if not is_known:
            continue
        array = np.asarray(found)
        if array.dtype.kind in "iu" and int(array.min()) >= 0:
            yield name, array.astype(np.int64)


def crossed_rows() -> Iterator[tuple[str, str]]:
    """Yield two variables of the script whose rows were laid out in the order of different axes.

    As states of shape ``[steps, places, ...]`` and advantages of shape ``[places, steps]``, each
    flattened to rows: row ``i`` of one belongs to another step and place than row ``i`` of the
    other. Both flat tensors, and what they are views of, are variables.
    """
    flat: dict[tuple[int, int], str] = {}
    known: list[tuple[str, torch.Tensor]] = []
    for name, value in script_variables():
        if type(value) is torch.Tensor and value.layout == torch.strided and value.numel():
            known.append((name, value))
            flat.setdefault((value.data_ptr(), len(value) if value.dim() else 0), name)
    rows: dict[tuple[int, int], str] = {}
    for name, value in known:
        if value.dim() < 2 or not value.is_contiguous():
            continue
        first, second = value.shape[:2]
        made = flat.get((value.data_ptr(), first * second))
        if made is not None and made != name and min(first, second) > 1:
            rows.setdefault((first, second), made)
    for (first, second), made in rows.items():
        if first < second and (second, first) in rows:
            yield made, rows[second, first]


def _are_pairs(values: Sequence[Any]) -> bool:
    return all(
        type(one) in (list, tuple)
        and len(one) == 2
        and all(isinstance(each, (int, np.integer)) and each >= 0 for each in one)
        for one in values
    )


def are_flags(column: torch.Tensor) -> bool:
    """Return whether all are 0 or 1."""
    return bool(((column == 0) | (column == 1)).all())


# What more of is better, by the names that people give it. Of a cost, or of what was negated, it is
# less.
_REWARDS = re.compile(
    r"(ret(urn)?s?|rew(ard)?s?|r|g|gs|gae|adv(antage)?s?|disc(ounted)?(_?(ret(urn)?|rew(ard)?)s?)?)"
    r"(_(t|tensor|batch|norm(ed|alized)?|to_go))?",
    re.IGNORECASE,
)


def rewarded_by(weights: torch.Tensor) -> str:
    """Return what a script calls the returns, or advantages, of its actions.

    Empty where it has no variable for them or calls it otherwise, and where its optimizer goes
    uphill.
    """
    found = ""
    for name, value in script_variables():
        if isinstance(value, torch.optim.Optimizer):
            if any(group.get("maximize") for group in value.param_groups):
                return ""
        elif type(value) is torch.Tensor and value.data_ptr() == weights.data_ptr():
            found = found or name * bool(_REWARDS.fullmatch(name))
    return found


# What people call the rewards of a batch, and what says whether an episode has ended, or has not.
_REWARD = re.compile(r"b?_?(r|rews?|rewards?)(_(b|batch|t))?", re.IGNORECASE)
_END = re.compile(
    r"_|b?_?(d|dn|nd|(not_?)?dones?|terms?|terminals?|terminated|ends?|ended|masks?)(_(b|batch|t))?",
    re.IGNORECASE,
)
#: Targets of equal rewards are equal if they differ by less than this part of how all differ.
_EQUAL = 1e-3


def ignores_ends(target: torch.Tensor) -> bool | None:
    """Return whether targets of values go on where an episode has ended; ``None`` if unknown.

    There a target is the reward alone, so that of equal rewards it is equal. Rewards and ends are
    variables of the script.

    Args:
        target: Shape ``[batch]``.
    """
    known = list(columns(target.numel()))
    rewards, ends = (
        [column for name, column in known if names.fullmatch(name)] for names in (_REWARD, _END)
    )
    goal = target.reshape(-1).to(torch.float64)
    limit = _EQUAL * float(goal.std())
    is_known = False
    for end in ends if rewards and limit > 0 else ():
        if not are_flags(end):
            continue
        for value in (1, 0):  # 0 in a mask of those that go on
            spreads = _spreads_by(rewards[0][end == value], goal[end == value])
            if spreads and max(spreads) <= limit:
                return False
            is_known |= bool(spreads) and value == 1
    return True if is_known else None


def bootstraps(target: torch.Tensor) -> bool | None:
    """Return whether targets of values are more than the rewards; ``None`` if that is not known.

    It is where the script has next states, and a discount between 0 and 1 to count their values by.

    Args:
        target: Shape ``[batch]``.
    """
    rows = target.numel()
    if rows < LEAST_STATES or not (_has_next_states(rows) and has_discount()):
        return None  # as in most trainings: columns are read of the others alone
    rewards = [column for name, column in columns(rows) if _REWARD.fullmatch(name)]
    goal = target.detach().reshape(-1).double()
    return not any(torch.equal(goal, one.double()) for one in rewards) if rewards else None


def _has_next_states(rows: int) -> bool:
    return any(
        type(value) is torch.Tensor and value.dim() > 1 and len(value) == rows
        for name, value in script_variables(2)
        if NEXT_STATE.fullmatch(name)
    )


def _spreads_by(keys: torch.Tensor, values: torch.Tensor) -> list[float]:
    """Return how far values of equal keys are apart, for each key that comes twice or more."""
    groups: dict[float, list[float]] = {}
    for key, value in zip(keys.tolist(), values.tolist(), strict=True):
        groups.setdefault(key, []).append(value)
    return [max(group) - min(group) for group in groups.values() if len(group) > 1]
