"""The real smdebug opens what we wrote and answers what was written."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from stepwatch.formats import RunTarget, Selection, open_writer
from stepwatch.formats.interface import RunWriter
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.smdebug.collections import RAW, Reduction, SavedCollection, Stored
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import NUM_FIELDS, summarize
from stepwatch.store import open_store
from tests.support.treaty.real_smdebug import ANSWERS, ask, told

pytestmark = pytest.mark.treaty

ALL = tuple(
    Reduction.parse(prefix + name)
    for prefix in ("", "abs_")
    for name in ("min", "max", "mean", "std", "variance", "sum", "prod", "l1", "l2")
)
#: What the old reader can read; bfloat16 and the floats of eight bits become float32.
DTYPES = {
    name: np.array([0, 1, 0, 1]).astype(np.dtype(name)).reshape(2, 2)
    for name in (
        *("float16", "float32", "float64", "int32", "int64", "uint8", "bool", "complex128"),
        *("bfloat16", "float8_e4m3fn", "float8_e5m2"),
    )
} | {
    "text": np.array(["foo", "barz", "é", ""]),
    "scalar": np.array(2.5),
    "nan": np.float32([np.nan, np.inf, -np.inf, -0.0]),
}


def record_of(arrays, step, mode=Mode.TRAIN, mode_step=None, worker="worker_0", *, raw=True):
    """Return a step on which these arrays were seen."""
    infos = [
        TensorInfo(name, "weights", str(array.dtype), array.shape) for name, array in arrays.items()
    ]
    rows = np.full((len(arrays), NUM_FIELDS), np.nan)
    for row, array in enumerate(arrays.values()):
        if array.dtype.kind not in "Uc":
            rows[row] = summarize(array)
    return StepRecord(
        worker, mode, step, step if mode_step is None else mode_step, 1_700_000_000 * 10**9,
        Layout(tuple(infos)), rows, dict(arrays) if raw else {},
    )  # fmt: skip


def begin(path: Path, rank=0, num_workers=1, stored=RAW, **arguments) -> RunWriter:
    """Open a run; the same of every tensor is stored, ``None`` for what our own hook stores."""
    manifest = Manifest("id", 1, num_workers=num_workers, run_format="smdebug")
    collection = SavedCollection("default", patterns=("t",), stored=stored or RAW)
    selection = Selection((lambda *_: stored) if stored else None, [collection] if stored else [])
    place = RunTarget(open_store(path), f"worker_{rank}", manifest, is_first=rank == 0, **arguments)
    return open_writer(place, selection)


def write(path: Path, records, **arguments) -> None:
    """Write a run of one worker that ends."""
    writer = begin(path, **arguments)
    for record in records:
        writer.write(record)
    writer.close(END)


END = End("finished", 1)
RANDOM = np.random.default_rng(0)
FLOATS = {f"t{n}:0": RANDOM.normal(size=(n + 1, 2)).astype(np.float32) for n in range(3)}
MODES = [(Mode.TRAIN, 0), (Mode.EVAL, 0), (Mode.TRAIN, 1), (Mode.PREDICT, 0), (Mode.GLOBAL, 4)]
FAR = [0, 127, 128, 999, 1000, 2500, 16_384, 10**12, 10**13]


def write_modes(path):
    write(path, [record_of(FLOATS, step, *one) for step, one in enumerate(MODES)])


def write_reduced(path):
    stored = Stored(raw=True, reductions=ALL, shape=True)
    write(path, [record_of(FLOATS, step) for step in range(3)], stored=stored)


def write_shapes(path):
    write(path, [record_of(FLOATS, 0, raw=False)], stored=Stored(shape=True))


def write_own(path):
    arrays = FLOATS | {"loss": np.array(0.25, np.float32)}
    write(path, [record_of(arrays, step, raw=False) for step in range(2)], stored=None)


def write_dtypes(path):
    write(path, [record_of(DTYPES, 0)])


def write_far(path):
    write(path, [record_of({"t": np.float64([step])}, step) for step in FAR])


def write_workers(path):
    writers = [begin(path, rank, 2) for rank in range(2)]
    for step in range(2):
        for rank, writer in enumerate(writers):
            arrays = {"t": np.float32([step, rank])}
            writer.write(record_of(arrays, step, worker=f"worker_{rank}"))
    for writer in writers:
        writer.close(END)


def write_one_of_two_ended(path):
    writers = [begin(path, rank, 2) for rank in range(2)]
    for rank, writer in enumerate(writers):
        writer.write(record_of({"t": np.float32([rank])}, 0, worker=f"worker_{rank}"))
        writer.flush()
    writers[0].close(END)


def write_after_crash(path):
    """Begin again where a run stopped, with half an index beside the first step."""
    crashed = begin(path)
    crashed.write(record_of({"t": np.float32([1])}, 0))
    crashed.flush()
    (path / "run.json").unlink()
    (path / "index/000000000/000000000000_worker_0.json.tmp").write_text('{"meta": {"mo')
    write(path, [record_of({"t": np.float32([2])}, 0)], over_unfinished=True)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the real Trial says of each run, by what wrote it; all asked in one process."""
    folder = tmp_path_factory.mktemp("runs")
    ways = [
        write_modes, write_reduced, write_shapes, write_own, write_dtypes, write_far,
        write_workers, write_one_of_two_ended, write_after_crash,
    ]  # fmt: skip
    for way in ways:
        way(folder / way.__name__)
    paths = [folder / way.__name__ for way in ways]
    found = ask(ANSWERS, *paths, f"{folder / 'write_far'}?128,2500")
    return dict(zip([*ways, "range"], found, strict=True))


def values(answer):
    """Return the values of an answer."""
    return {where: one["value"] for where, one in answer["tensors"].items()}


class TestTheRealOneReads:
    def test_steps_of_all_modes(self, answers):
        """Each mode's own count and the global one."""
        expected = {"TRAIN": [0, 1], "EVAL": [0], "PREDICT": [0], "GLOBAL": [0, 1, 2, 3, 4]}

        assert expected == answers[write_modes]["steps"]

    def test_raw_values(self, answers):
        """Of every tensor at every step, to the bit."""
        expected = {
            f"{name} {step} worker_0": told(array)
            for name, array in FLOATS.items()
            for step in range(len(MODES))
        }

        assert expected == values(answers[write_modes])

    def test_every_dtype_that_it_knows(self, answers):
        """And float32 in place of those that it does not."""
        expected = {}
        for name, array in DTYPES.items():
            known = array.dtype.type.__module__ != ml_dtypes.__name__
            expected[f"{name} 0 worker_0"] = told(array if known else array.astype(np.float32))

        assert expected == values(answers[write_dtypes])

    def test_reductions_beside_values(self, answers):
        """All eighteen, in the dtype of the tensor, under its name without ``:0``."""
        for where, one in answers[write_reduced]["tensors"].items():
            name = where.split()[0]
            if name.endswith(":0"):
                assert told(FLOATS[name]) == one["value"]
                continue
            array = FLOATS[f"{name}:0"].astype(np.float64)
            found = {key: float(value[2][0]) for key, value in one["reductions"].items()}
            for reduction in ALL:
                expected = by_numpy(array, reduction)
                np.testing.assert_allclose(found[reduction.stored], expected, rtol=1e-5)
            assert {("float32", ())} == {
                (dtype, tuple(shape)) for dtype, shape, _ in one["reductions"].values()
            }

    def test_shapes_alone(self, answers):
        """Without a value, and without an event file."""
        found = {where: one["shape"] for where, one in answers[write_shapes]["tensors"].items()}

        assert {f"{name} 0 worker_0": list(a.shape) for name, a in FLOATS.items()} == found

    def test_what_our_own_hook_captured(self, answers):
        """The loss as it was, of the others the reductions; a collection of each kind."""
        answer = answers[write_own]

        assert told(np.array(0.25, np.float32)) == values(answer)["loss 1 worker_0"]
        largest = answer["tensors"]["t1:0 1 worker_0"]["reductions"]["max"]
        assert told(np.array(FLOATS["t1:0"].max(), np.float64)) == largest
        assert sorted([*FLOATS, "loss"]) == answer["collections"]["weights"]

    def test_steps_far_apart(self, answers):
        """Beyond a thousand in other folders, beyond twelve digits in longer names."""
        expected = {f"t {step} worker_0": told(np.float64([step])) for step in FAR}

        assert expected == values(answers[write_far])

    def test_a_range_of_steps(self, answers):
        """Only the folders of the range are read."""
        assert [128, 999, 1000] == answers["range"]["steps"]["GLOBAL"]

    def test_two_workers(self, answers):
        """Each has its own value of a step."""
        expected = {
            f"t {step} worker_{rank}": told(np.float32([step, rank]))
            for step in range(2)
            for rank in range(2)
        }

        assert expected == values(answers[write_workers])
        assert ["worker_0", "worker_1"] == sorted(answers[write_workers]["workers"])

    def test_a_run_ends_with_its_last_worker(self, answers):
        """While one still writes, more is waited for."""
        assert [False, True] == [
            answers[write_one_of_two_ended]["ended"], answers[write_workers]["ended"]
        ]  # fmt: skip

    def test_a_run_gone_on_with_after_a_crash(self, answers):
        """What was half written is not looked at, what was written again counts."""
        assert {"t 0 worker_0": told(np.float32([2]))} == values(answers[write_after_crash])

    def test_members_of_collections(self, answers):
        """Those whose names the pattern finds."""
        assert {"default": sorted(FLOATS)} == answers[write_modes]["collections"]


def by_numpy(array, reduction):
    """Return a reduction of float64 elements, as the torch hook defines it."""
    array = np.abs(array) if reduction.of_abs else array
    if reduction.name in ("l1", "l2"):
        return np.linalg.norm(array.ravel(), int(reduction.name[1]))
    if reduction.name in ("std", "variance"):
        return array.std(ddof=1) if reduction.name == "std" else array.var(ddof=1)
    return getattr(array, reduction.name)()
