"""What differs where two runs part, tensor by tensor, what that says of the cause, and with which
other settings they were started.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

from ..formats.findings import read_statuses
from ..model.collection import SPECS
from ..numerics.statistics import COUNT, NAN, NEGINF, POSINF, SUM, Row
from ..trial.trial import Trial
from .align import EVERYTHING
from .comparison import Compared, Outcome, compare_statistics, compare_values, is_floating
from .divergence import Divergence, Search


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that differs between two runs; empty in a run that does not have it."""

    what: str
    here: str
    there: str


def other_settings(here: Trial, there: Trial) -> list[Setting]:
    """Return the settings that differ: hints at why two runs part."""
    mine, theirs = _settings(here), _settings(there)
    return [
        Setting(what, mine.get(what, ""), theirs.get(what, ""))
        for what in {**mine, **theirs}
        if mine.get(what, "") != theirs.get(what, "")
    ]


def _settings(trial: Trial) -> dict[str, str]:
    manifest = trial.reader.manifest
    rules = sorted(str(status["rule"]) for status in read_statuses(trial.store))
    return {
        "command": " ".join(manifest.command),
        "script (SHA-256)": manifest.script_sha256[:16],
        "folder": manifest.folder,
        "host": manifest.host,
        "workers": str(manifest.num_workers),
        "format": manifest.run_format,
        **{f"version of {name}": version for name, version in manifest.versions.items()},
        **{f"saved of {one.name}": _saved(asdict(one.policy)) for one in manifest.collections},
        "rules": ", ".join(rules),
    }


def _saved(policy: dict[str, object]) -> str:
    return "; ".join(f"{what} {_schedule(when)}" for what, when in policy.items() if when)


def _schedule(when: object) -> str:
    fields: dict[str, object] = dict(when)  # type: ignore[call-overload]
    steps = fields.pop("steps")
    if steps:
        return f"steps={'+'.join(map(str, sorted(steps)))}"  # type: ignore[call-overload]
    return ",".join(f"{name}={value}" for name, value in fields.items() if value is not None)


@dataclass(frozen=True, slots=True)
class Stage:
    """Something that happens in every step.

    Args:
        name: What it is called.
        meaning: Why two runs part here, if all that comes before it is the same.
        needs: Collections that come before it and must have been compared to say so.
    """

    name: str
    meaning: str
    needs: tuple[str, ...] = ()


STATE = Stage(
    "weights",
    "other weights after the same step: the optimizer or its settings, or something that changed "
    "them between the steps",
    ("gradients", "learning_rates"),
)
#: What the state means where there is no step before.
INITIAL = (
    "other weights from the beginning: another seed, another initialization or another checkpoint"
)
STAGES = (
    STATE,
    Stage(
        "data",
        "other data: another seed or order of the loader, another dataset, or other augmentation",
    ),
    Stage(
        "outputs",
        "another output of the same weights and data: random numbers in the forward, such as "
        "dropout, a kernel that is not deterministic, or other code",
        ("weights", "batches"),
    ),
    Stage(
        "losses",
        "another loss of the same outputs: other targets, or another loss",
        ("outputs",),
    ),
    Stage(
        "gradients",
        "other gradients of the same loss: a kernel of the backward that is not deterministic, "
        "other clipping or accumulation, or gradients of an earlier step",
        ("losses",),
    ),
    Stage(
        "learning rate",
        "another learning rate: its schedule, or the settings of the optimizer",
    ),
    Stage(
        "optimizer",
        "another step of the optimizer from the same gradients: its settings, its state, or a "
        "kernel that is not deterministic",
        ("gradients",),
    ),
)
OTHER = Stage("other", "something that the script or the training loop counts or measures")
# What it means if a count of the loop is the first that differs.
_OF_COUNTS = {
    "scheduler_steps": "the learning rate schedule is stepped more often in one, as after each"
    " batch in the place of each epoch",
    "schedulers_stepped": "the learning rate schedule is stepped in one only, or later",
    "schedulers": "one has more learning rate schedules",
    "scheduler_total": "the learning rate schedule is made for another number of steps",
    "scheduler_level": "another learning rate schedule",
    "optimizer_steps": "one steps its optimizers more often",
    "backwards": "gradients of more losses, or of more micro-batches, in one",
    "loss_weight": "another scale of the loss, as where it is divided by the micro-batches",
    "modules": "more dropout or batch normalization in one",
    "modules_in_eval": "one model is in evaluation mode: model.train() was not called again",
    "modules_in_train": "one model is evaluated in training mode: model.eval() was not called",
}


def stage_of(collection: str) -> Stage:
    """Return the stage to which tensors of a built-in collection belong."""
    spec = SPECS.get(collection)
    return next((stage for stage in STAGES if spec and spec.diff_stage == stage.name), OTHER)


# Fields that are elements, so that they can be counted in neighbouring numbers.
_ELEMENTS = ("min", "max", "abs_min")
# What no stage of the same step computes: if it differs, that is a cause, whatever else differs.
_GIVEN = ("batches", "samples", "learning_rates")


@dataclass(frozen=True, slots=True)
class Difference:
    """A tensor that differs where two runs part.

    Args:
        worker: The worker that observed it.
        collection: Its built-in collection.
        found: How far it is apart, and where.
    """

    worker: str
    collection: str
    found: Compared

    @property
    def absolute(self) -> float:
        """How far apart the two numbers are; nan where they are not known."""
        return abs(self.found.recorded - self.found.replayed)


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason that does not follow from another one.

    Args:
        stage: The stage of the step.
        tensor: The first one of this stage that differs.
        meaning: What can have made it differ.
        not_compared: Collections without which this is not sure.
    """

    stage: str
    tensor: str
    meaning: str
    not_compared: tuple[str, ...] = ()


def differences(search: Search, divergence: Divergence, *, most: int) -> list[Difference]:
    """Return the first tensors, ``most`` of them, that differ there, in the order of execution."""
    runs, block = search.runs, divergence.block
    names = list(runs.tensors)
    found = []
    for row in divergence.rows[:most].tolist():
        name, worker = names[block.tensor[row]], runs.workers[block.worker[row]]
        compared = _compared(search, divergence, row, name, worker)
        found.append(Difference(worker, runs.tensors[name], compared))
    return found


def causes(search: Search, divergence: Divergence) -> list[Cause]:
    """Return why they part, as far as what was saved tells: at least one cause."""
    runs, block = search.runs, divergence.block
    names = list(runs.tensors)
    found: dict[str, Cause] = {}
    for position, row in enumerate(divergence.rows.tolist()):
        name = names[block.tensor[row]]
        kind = runs.tensors[name]
        stage = stage_of(kind)
        if stage.name not in found and (position == 0 or kind in _GIVEN):
            found[stage.name] = _cause(search, divergence, stage, name)
    return list(found.values())


def _cause(search: Search, divergence: Divergence, stage: Stage, name: str) -> Cause:
    index = _before(search, divergence.index) if stage is STATE else divergence.index
    if index is None:
        return Cause(stage.name, name, INITIAL)
    meaning = _OF_COUNTS.get(name.removeprefix("loop/"), stage.meaning)
    compared = _kinds_at(search, index)
    missing = tuple(kind for kind in stage.needs if kind not in compared)
    return Cause(stage.name, name, meaning, missing)


def _before(search: Search, index: int) -> int | None:
    """Return the pair of steps before one that is of the same mode."""
    mode = search.runs.pair(index).mode
    before = (
        earlier for earlier in range(index - 1, -1, -1) if search.runs.pair(earlier).mode is mode
    )
    return next(before, None)


def _kinds_at(search: Search, index: int) -> set[str]:
    """Return the collections of which something was compared at a pair of steps."""
    block = search.blocks.around(index, None, EVERYTHING)
    kinds = list(search.runs.tensors.values())
    return {kinds[tensor] for tensor in np.unique(block.tensor[block.at == index]).tolist()}


def _compared(search: Search, divergence: Divergence, row: int, name: str, worker: str) -> Compared:
    """Compare by full values if both have them, else by statistics."""
    runs, block = search.runs, divergence.block
    texts = [block.texts[code] for code in block.kinds[:, row].tolist()]
    if texts[1] != texts[3]:
        shapes = f"{texts[0]}{texts[1]} and {texts[2]}{texts[3]}"
        return Compared(name, Outcome.DIFFERENT, "statistics", shapes, np.nan, np.nan, np.inf)
    dtype, pair = np.dtype(texts[0]), runs.pair(divergence.index)
    if block.has_values[row]:
        values = [
            trial.tensor(name).value(step, worker=worker)
            for trial, step in ((runs.here, pair.here), (runs.there, pair.there))
        ]
        found = compare_values(name, *values)
        if found.ulp != 0.0:
            return found if is_floating(dtype) else replace(found, ulp=None)
    if block.elsewhere[row]:
        return Compared(name, Outcome.DIFFERENT, "digest", "", np.nan, np.nan, np.nan)
    here, there = block.here[row], block.there[row]
    if _is_number(here) and _is_number(there) and here[SUM] != there[SUM]:
        one, other = float(here[SUM]), float(there[SUM])
        relative = abs(one - other) / max(abs(one), abs(other))
        found = Compared(name, Outcome.DIFFERENT, "value", "", one, other, relative)
        return _with_ulp(found, dtype)
    found = compare_statistics(name, here, there, dtype)
    if texts[0] != texts[2]:
        return replace(found, at=f"{found.at} ({texts[0]} and {texts[2]})")
    return _with_ulp(found, dtype) if found.at in _ELEMENTS else found


def _is_number(row: Row) -> bool:
    """Return whether statistics are those of one finite number, which is then their sum."""
    return bool(row[COUNT] == 1 and not row[[NAN, POSINF, NEGINF]].any())


def _with_ulp(found: Compared, dtype: np.dtype[np.generic]) -> Compared:
    """Count how many numbers of a floating dtype lie between, where both numbers are of it."""
    if not is_floating(dtype) or dtype.kind == "c":
        return found
    numbers = np.array([found.recorded, found.replayed])
    typed = numbers.astype(dtype)
    if not np.array_equal(typed.astype(np.float64), numbers):
        return found
    return replace(found, ulp=compare_values(found.name, typed[:1], typed[1:]).ulp)
