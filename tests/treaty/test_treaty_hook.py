"""The same trainings under the real smdebug and under our hook leave the same behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.treaty.real_smdebug import ANSWERS, ask, interpreter

pytestmark = pytest.mark.treaty

SCRIPT = Path(__file__).parents[2] / "tests" / "support" / "compat" / "pytorch_trainings.py"
#: Scalars from before the first step: the real hook holds them until a step that is saved, which
#: is its second here; ours saves them with the first.
EARLY_AT = {"windows": "scalar/before 1 worker_0"}


def trainings() -> list[str]:
    """Return the names of the trainings."""
    lines = SCRIPT.read_text().splitlines()
    return [
        line[4:].partition("(")[0] for line in lines if line.startswith("def ") and "(out):" in line
    ]


def train(python: str, folder: Path) -> Path:
    """Run all trainings under an interpreter."""
    folder.mkdir()
    environment = {**os.environ, "SMDEBUG_LOG_LEVEL": "critical", "OMP_NUM_THREADS": "1"}
    command = [python, "-W", "ignore", str(SCRIPT), str(folder), *trainings()]
    ran = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the real Trial says of the runs of the real hook, and of ours."""
    folder = tmp_path_factory.mktemp("hooks")
    real = train(interpreter(), folder / "real")
    ours = train(sys.executable, folder / "ours")
    names = trainings()
    answers = ask(ANSWERS, *(place / name for place in (real, ours) for name in names), seconds=300)
    return (
        dict(zip(names, answers[: len(names)], strict=True)),
        dict(zip(names, answers[len(names) :], strict=True)),
    )


def tensors_of(both, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is told of the tensors of a training, but for scalars that were early."""
    real, ours = (dict(answers[name]["tensors"]) for answers in both)
    early = EARLY_AT.get(name)
    if early is not None:
        ours[early] = ours.pop(early.replace(" 1 ", " 0 "))
    return real, ours


class TestHook:
    @pytest.mark.timeout(600)
    @pytest.mark.parametrize("name", trainings())
    def test_the_same_tensors_are_saved_at_the_same_steps(self, both, name):
        """Names, global steps and workers."""
        real, ours = tensors_of(both, name)

        assert real.keys() == ours.keys()
        assert real

    @pytest.mark.timeout(600)
    @pytest.mark.parametrize("name", trainings())
    def test_values_and_shapes_are_the_same(self, both, name):
        """Values bit by bit, with their dtypes."""
        real, ours = tensors_of(both, name)

        for tensor in real:
            assert real[tensor]["value"] == ours[tensor]["value"], tensor
            assert real[tensor]["shape"] == ours[tensor]["shape"], tensor

    @pytest.mark.timeout(600)
    @pytest.mark.parametrize("name", trainings())
    def test_reductions_are_the_same(self, both, name):
        """To six digits: ours are summed in float64."""
        real, ours = tensors_of(both, name)

        for tensor in real:
            there, here = real[tensor]["reductions"], ours[tensor]["reductions"]
            assert there.keys() == here.keys(), tensor
            for reduction, (dtype, shape, elements) in there.items():
                assert [dtype, shape] == here[reduction][:2], tensor
                number = float(here[reduction][2][0])
                assert pytest.approx(float(elements[0]), rel=1e-6, abs=1e-7, nan_ok=True) == number

    @pytest.mark.timeout(600)
    @pytest.mark.parametrize("name", [one for one in trainings() if one not in EARLY_AT])
    def test_steps_within_modes_and_workers_are_the_same(self, both, name):
        """As the real Trial counts them."""
        real, ours = both

        assert real[name]["steps"] == ours[name]["steps"]
        assert real[name]["workers"] == ours[name]["workers"]

    @pytest.mark.timeout(600)
    @pytest.mark.parametrize("name", trainings())
    def test_collections_hold_at_least_the_same(self, both, name):
        """The real ones know only the tensors of the first steps."""
        real, ours = both

        assert real[name]["collections"].keys() == ours[name]["collections"].keys()
        for collection, tensors in real[name]["collections"].items():
            assert set(tensors) <= set(ours[name]["collections"][collection]), collection
