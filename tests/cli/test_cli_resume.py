"""``stepwatch run --resume``: a training that was killed goes on with its run."""

from __future__ import annotations

import json
import subprocess

import pytest

from stepwatch.testing import make_run
from stepwatch.trial import Trial
from tests.support import fork_server
from tests.support.cli.commands import STEPWATCH, call, environment

# As a script does that has checkpoints: it begins where the last one was made.
TRAINS = """
import os, signal, sys
import torch
from torch.nn.functional import mse_loss

first, last, killed = map(int, sys.argv[1:4])
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(first, last):
    optimizer.zero_grad()
    x = torch.full((4, 2), float(sys.argv[4]) if step != 9 else torch.nan)
    mse_loss(model(x), torch.zeros(4, 1)).backward()
    optimizer.step()
    if step == 9:
        model.load_state_dict({name: torch.zeros_like(v) for name, v in model.state_dict().items()})
if killed:
    import gc
    recorder = next(one for one in gc.get_objects() if type(one).__name__ == "Recorder")
    recorder.flush()
    recorder._writers[0].flush()
    recorder.profiler.spans.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.parametrize("format", ["native", pytest.param("smdebug", marks=pytest.mark.slow)])
def test_a_killed_training_goes_on_at_its_checkpoint(tmp_path, format):
    """Its run is one run, without the steps that were lost; the copy is as the run."""
    (tmp_path / "train.py").write_text(TRAINS)
    # With a budget, the last half second of the steps that are not seen in full dies with it.
    options = (
        *("run", "--run", "run", "--mirror", "copy", "--rules", "none", "--budget", "none"),
        *("--format", format),
    )
    first = call(STEPWATCH, *options, "train.py", 0, 15, 1, 1.0, cwd=tmp_path)
    then = call(STEPWATCH, *options, "--resume", 12, "train.py", 12, 20, 0, 2.0, cwd=tmp_path)

    assert (True, 0) == (first.returncode < 0, then.returncode), then.stderr
    for place in ("run", "copy"):
        trial = Trial(tmp_path / place)
        assert ("finished", list(range(20))) == (trial.state, trial.steps("TRAIN"))
        if format == "native":  # the other is not profiled by default
            assert list(range(20)) == trial.profile.steps().column("step").to_pylist()


@pytest.mark.slow
def test_a_watcher_sees_what_is_found_anew(tmp_path):
    """It stays while the training is dead to nobody's knowledge, as on another machine."""
    (tmp_path / "train.py").write_text(TRAINS)
    # Nobody is left to note that it is dead.
    options = ("run", "--no-companion", "--run", "run", "--rules", "none")
    call(STEPWATCH, *options, "train.py", 0, 15, 1, 1.0, cwd=tmp_path)
    note = tmp_path / "run" / "run.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "host": "elsewhere"}))
    watcher = fork_server.Popen(
        [STEPWATCH, "watch", "run", "--rules", "exploding_tensor"],
        cwd=tmp_path, env=environment(), text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    lines = iter(watcher.stdout.readline, "")
    found = [next(line for line in lines if line.endswith("rule exploding_tensor\n"))]
    call(STEPWATCH, *options, "--resume", 5, "train.py", 5, 15, 0, 1.0, cwd=tmp_path)
    found += [line for line in lines if line.endswith("rule exploding_tensor\n")]
    watcher.wait(60)

    steps = [line.split(" step ")[1].split()[0] for line in found]
    assert ["9", "9"] == [step for step in steps if step == "9"][:2], found


def test_what_cannot_be_resumed_is_refused_in_a_line(refused, tmp_path):
    """No run, no place, and a hook configuration, which resumes by itself."""
    (tmp_path / "train.py").write_text("")
    run = make_run(tmp_path / "run")

    assert "no run to resume" in refused("run", "--run", "none", "--resume", 3, "train.py")
    assert "--resume needs --run" in refused("run", "--resume", 3, "train.py")
    assert "already holds a run" in refused("run", "--run", run, "train.py")
