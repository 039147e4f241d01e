"""``report_to="stepwatch"``: a trainer by whose arguments a run is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
ROOT = Path(__file__).parents[3]
TRAINS = """\
from transformers import Trainer, TrainingArguments
from tests.support.frameworks.transformers.transformers_trainings import samples, tiny_model

options = {"report_to": ["stepwatch"], "use_cpu": True, "save_strategy": "no", "logging_steps": 1}
arguments = TrainingArguments("out", num_train_epochs=2, disable_tqdm=True, **options)
trainer = Trainer(tiny_model(), arguments, train_dataset=samples(16))
trainer.train()
print(sum(type(one).__name__ == "TransformersHook" for one in trainer.callback_handler.callbacks))
"""


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ([], "import stepwatch.integrations.transformers\n"),
        (["-m", "stepwatch", "run"], ""),
        (["-m", "stepwatch", "run"], "import stepwatch.integrations.transformers\n"),
    ],
    ids=["by the import alone", "under run", "both"],
)
def test_a_trainer_that_reports_to_stepwatch_has_one_hook_and_one_run(tmp_path, command, first):
    (tmp_path / "train.py").write_text(first + TRAINS)
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    told = subprocess.run(
        [sys.executable, *command, "train.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "1") == (told.returncode, told.stdout.splitlines()[-1]), told.stderr
    (run,) = (tmp_path / "runs").iterdir()
    trial = Trial(run)
    assert ("finished", 8) == (trial.state, 2 * len(trial.steps()))
    assert {"loss/Trainer", "metric/learning_rate"} <= set(trial.tensor_names())
