"""What is known of the end of a training that did not end by itself, and what to do about it.

The black box says what the last step was given. Where that differs from all steps before it, in
shape, in type or in its numbers, this is most often why it is the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..model.steps import Mode
from ..numerics.measures import number
from ..numerics.statistics import MAX, MIN, NAN, NEGINF
from ..trial import Series, Trial
from ..trial.last_steps import Moment
from ..trial.tensor import fields_of

_FRAME = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+)', re.MULTILINE)
_FAR = 10.0
_NEARLY_FULL = 0.9
_GIB = 2**30
_USED, _LIMIT = "loop/host_memory_bytes", "loop/host_memory_limit_bytes"


def raised_at(traceback: str) -> str:
    """Return the file and line where a traceback leaves the code of who trains; ``""`` for none.

    That is the innermost frame that is neither of a library nor of Python, or the innermost of all.

    Example:
        >>> raised_at('  File "a.py", line 3, in f\\n    g()\\n  File "b.py", line 9, in g\\n')
        'b.py, line 9'
        >>> library = '  File "/lib/site-packages/torch/loss.py", line 7, in forward\\n'
        >>> raised_at('  File "a.py", line 3, in f\\n' + library), raised_at(library)
        ('a.py, line 3', '/lib/site-packages/torch/loss.py, line 7')
    """
    frames = [(found["file"], found["line"]) for found in _FRAME.finditer(traceback)]
    own = [frame for frame in frames if not _is_of_library(frame[0])]
    return next((f"{file}, line {line}" for file, line in reversed(own or frames)), "")


_OURS = str(Path(__file__).parents[1])
_LIBRARY = re.compile(r"[/\\](site|dist)-packages[/\\]|[/\\]lib[/\\]python\d|^<frozen ")


def _is_of_library(file: str) -> bool:
    return file.startswith(_OURS) or _LIBRARY.search(file) is not None


def is_incomplete(moments: Sequence[Moment]) -> bool:
    """Return whether the last step was not over: nothing was kept of its optimizer's step."""
    if not moments or moments[-1].record is None:
        return bool(moments)
    before = [one for one in moments[:-1] if one.mode == moments[-1].mode]
    return moments[-1].value("learning_rates") is None and any(
        one.value("learning_rates") is not None for one in before
    )


def last_batch(moments: Sequence[Moment]) -> tuple[str, str]:
    """Return how the batch of the last step differs from all before it, and what to do about it.

    Returns:
        Two sentences; empty where nothing differs, or is known.
    """
    if not moments:
        return "", ""
    last = moments[-1]
    before = [one for one in moments[:-1] if (one.worker, one.mode) == (last.worker, last.mode)]
    for given in last.batch:
        others = [one for moment in before for one in moment.batch if one["name"] == given["name"]]
        if others and (said := _layout(given, others)):
            smaller = said[1]
            return said[0], _SMALLER if smaller else ""
    return _numbers(last, before), ""


_SMALLER = (
    "the last batch of an epoch is smaller: do not assume its size, or leave it out with"
    " drop_last=True of the DataLoader"
)


def _layout(given: dict[str, Any], others: Sequence[dict[str, Any]]) -> tuple[str, bool] | None:
    """Return what differs in shape or type, and whether it is that there are fewer samples."""
    shapes = {tuple(one["shape"]) for one in others}
    dtypes = {str(one["dtype"]) for one in others}
    shape, dtype = tuple(given["shape"]), str(given["dtype"])
    if dtype not in dtypes:
        return f"the last batch was {dtype}, all before it {' or '.join(sorted(dtypes))}", False
    if shape in shapes:
        return None
    alone = len(shapes) == 1
    (usual, *_) = shapes
    if alone and shape and usual and shape[1:] == usual[1:]:
        samples = f"{shape[0]} sample{'' if shape[0] == 1 else 's'}"
        text = f"the last batch had {samples}, all before it {usual[0]}"
        return text, shape[0] < usual[0]
    listed = " or ".join(str(list(one)) for one in sorted(shapes)[:3])
    return f"the last batch was of shape {list(shape)}, all before it of {listed}", False


def _numbers(last: Moment, before: Sequence[Moment]) -> str:
    """Return which numbers of a batch are unlike those of all batches before it."""
    known = [one for one in before if one.record is not None]
    if last.record is None or not known:
        return ""
    for row in last.record.layout.rows_of.get("batches", []):
        name = last.record.layout.tensors[row].name
        now = last.record.statistics[row]
        then = np.array([
            one.record.statistics[one.record.layout.row_of[name]]
            for one in known
            if one.record is not None and name in one.record.layout.row_of
        ])  # fmt: skip
        if not len(then):
            continue
        bad = int(now[NAN : NEGINF + 1].sum())
        if bad and not then[:, NAN : NEGINF + 1].any():
            elements = "1 element" if bad == 1 else f"{bad} elements"
            return f"{elements} of {name} not finite in the last batch, and none before it"
        size = max(abs(now[MIN]), abs(now[MAX]))
        usual = float(np.abs(then[:, [MIN, MAX]]).max())
        if np.isfinite(size) and size > _FAR * usual > 0:
            return f"{name} went up to {number(size)} in magnitude, before it to {number(usual)}"
    return ""


def memory_seen(trial: Trial) -> str:
    """Return how much memory the process was last seen to use, of how much; ``""`` if unknown."""
    used, limit = (_last_value(trial, name) for name in (_USED, _LIMIT))
    if used is None:
        return ""
    of = "" if not limit else f" of {limit / _GIB:.3g} GiB"
    near = "; nearly all there is" if limit and used > _NEARLY_FULL * limit else ""
    return f"it was last seen to use {used / _GIB:.2g} GiB of memory{of}{near}"


def _last_value(trial: Trial, name: str) -> float | None:
    if name not in trial.reader.tensors():
        return None
    rows = trial.rows(frozenset([name]), fields_of("mean"), Mode.GLOBAL)
    return float(Series(rows)["mean"][-1]) if len(rows) else None


def remedies(state: str, *, batch: str, at: str, commands: Sequence[str]) -> Iterator[str]:
    """Yield what to do about an end, the most likely first.

    Args:
        state: See ``Trial.state``.
        batch: What to do about the last batch, if that was unlike the others.
        at: Where the exception was raised.
        commands: What runs again or shows the last steps.
    """
    replay = next((one for one in commands if one.startswith("stepwatch replay")), "")
    if state == "died":
        yield "see whether the kernel killed it: dmesg | grep -i -E 'out of memory|killed process'"
        yield "if so, take smaller batches or fewer workers of the DataLoader"
    elif batch:
        yield batch
    elif at:
        yield f"look at {at}"
    if replay:
        yield f"run its last steps again: {replay}"
