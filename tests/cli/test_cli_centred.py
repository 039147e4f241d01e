"""Centred means that a script gives to a forecast."""

from __future__ import annotations

import pytest

from stepwatch import Trial
from stepwatch.rules import watch
from tests.support.cli.commands import STEPWATCH, TRAINING, call

WINDOWS = """
import numpy as np, pandas as pd
from torch.utils.data import TensorDataset
frame = pd.DataFrame({"load": np.random.default_rng(0).normal(size=300).cumsum()})
frame["smooth"] = frame["load"].rolling(5, center=CENTER).mean()
values = frame.dropna().to_numpy("float32")
x = torch.tensor(np.stack([values[at : at + 12] for at in range(len(values) - 12)]))
for part in (slice(0, 200), slice(200, None)):
    TensorDataset(x[part], torch.tensor(values[12:, 0])[part])
train(3)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("center", "expected"), [("True", ["centred"]), ("False", [])])
def test_they_are_found_once(center, expected, tmp_path):
    (tmp_path / "script.py").write_text(TRAINING + WINDOWS.replace("CENTER", center))
    result = call(STEPWATCH, "run", "--run", "run", "script.py", cwd=tmp_path)

    assert result.returncode == 0, result.stderr
    found = watch(Trial(tmp_path / "run"), ["label_leak"])
    assert expected == [one.condition for one in found]
