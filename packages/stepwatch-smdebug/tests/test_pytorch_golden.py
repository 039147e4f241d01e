"""The trainings of the golden runs, with our hook, against what the real one wrote."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import smdebug.pytorch as smd
from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.store import open_store
from tests.support.compat.pytorch_trainings import TRAININGS

GOLDEN = Path(__file__).parents[3] / "tests" / "golden" / "runs"
ALONE = ("modes_saveall", "reductions_shapes", "tensorboard")


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """The runs of our hook."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ALONE:
        TRAININGS[name](str(folder / name))
        smd.del_hook()
    return folder


def reader_of(run: Path) -> SmdebugReader:
    """Open a run."""
    reader = SmdebugReader(open_store(run))
    reader.refresh()
    return reader


def indexes_of(run: Path) -> dict[str, object]:
    """Return of every index file what it says, but for where in the event file."""
    found = {}
    for file in sorted((run / "index").rglob("*.json")):
        document = json.loads(file.read_text())
        payload = [entry["tensorname"] for entry in document["tensor_payload"]]
        found[file.name] = (document["meta"], payload, document["shape_payload"])
    return found


def values_of(run: Path) -> dict[tuple[str, int, str], np.ndarray]:
    """Return every value that is stored."""
    reader = reader_of(run)
    return {
        (worker, step, name): reader.value(worker, step, name)
        for worker in reader.workers
        for ranges in reader.step_ranges(worker)
        for step in range(ranges.first, ranges.last + 1)
        if (saved := reader.saved(worker, step)) is not None
        for name in saved.contents.byte_ranges
    }


def differences(real: Path, ours: Path) -> list[str]:
    """Return what is not the same, to the rounding in which two processors' products may differ."""
    there, here = values_of(real), values_of(ours)
    assert there, "nothing to compare"
    wrong = [str(key) for key in there.keys() ^ here.keys()]
    for key in there.keys() & here.keys():
        expected, value = there[key], here[key]
        if expected.dtype != value.dtype or expected.shape != value.shape:
            wrong.append(f"{key}: {value.dtype} {value.shape}")
        elif not np.allclose(expected, value, rtol=1e-6, atol=1e-7, equal_nan=True):
            wrong.append(f"{key}: {value} is not {expected}")
    return wrong


class TestGoldenTrainings:
    @pytest.mark.parametrize("name", ALONE)
    def test_every_value_is_that_of_the_real_hook(self, runs, name):
        """Raw values and reductions are the same to six digits."""
        assert [] == differences(GOLDEN / f"pt_{name}", runs / name)

    @pytest.mark.parametrize("name", ALONE)
    def test_indexes_say_the_same_in_the_same_order(self, runs, name):
        """Modes, steps within them, and the order of the tensors of a step."""
        assert indexes_of(GOLDEN / f"pt_{name}") == indexes_of(runs / name)

    @pytest.mark.slow
    def test_two_ranks_write_what_the_real_hook_wrote(self, tmp_path):
        """Distributed training: every rank its own gradients, before they are averaged."""
        TRAININGS["ddp_all"](str(tmp_path / "run"))

        assert [] == differences(GOLDEN / "pt_ddp_all", tmp_path / "run")
