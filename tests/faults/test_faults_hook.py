"""A bug of ours while a training runs: that goes on, and the run says from where it is blind."""

from __future__ import annotations

import pytest
import torch

from stepwatch import TorchHook, Trial
from stepwatch.capture import Recorder
from stepwatch.capture.open_step import OpenStep
from stepwatch.hooks.torch.models import Names, Optimizers, Parameters
from stepwatch.hooks.torch.observe import Observer
from stepwatch.hooks.torch.steps import Steps

BROKEN = """
def break_it():
    observe = sys.modules.get("stepwatch.hooks.torch.observe")
    if observe is not None:
        def outputs(*given): raise ZeroDivisionError("a bug of ours")
        observe.Observer.outputs = outputs

train(faults={8: break_it}); {then}
"""

OURS = [
    (Names, "of"),
    (Observer, "outputs"),
    (Observer, "loss"),
    (Observer, "parameters"),
    (Observer, "scalar"),
    (Observer, "finish"),
    (OpenStep, "add_numbers"),
    (OpenStep, "add_read"),
    (OpenStep, "add_read_one"),
    (OpenStep, "close"),
    (Optimizers, "steps"),
    (Parameters, "of"),
    (Parameters, "free"),
    (Recorder, "open_step"),
    (Recorder, "take"),
    (Steps, "on_forward"),
    (Steps, "on_loss"),
    (Steps, "before_backward"),
    (Steps, "after_backward"),
    (Steps, "before_optimizer"),
    (Steps, "after_optimizer"),
    (Steps, "close"),
]


def losses_of(steps, each=lambda step: None):
    torch.manual_seed(0)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for step in range(steps):
        each(step)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class TestFailingCapture:
    def test_the_run_says_where_it_stopped_and_why(self, faulty):
        """Step 7 was the last that was seen, and all first steps are seen in full."""
        seen = faulty(BROKEN.replace("{then}", ""), alone="train()\n")

        seen.assert_unharmed()
        assert ["all after step 7 (capturing failed: ZeroDivisionError: a bug of ours)"] == (
            seen.shown("lost")
        )
        assert ("finished", list(range(8))) == (seen.trial.state, seen.trial.steps())
        assert 1 == seen.watched.told.count("is off from here on; training goes on")

    @pytest.mark.slow
    def test_what_ends_the_training_later_is_noted_beside_it(self, faulty):
        """Neither hides the other."""
        seen = faulty(BROKEN.replace("{then}", "raise RuntimeError('a bug of theirs')"))

        seen.assert_unharmed()
        assert ["RuntimeError: a bug of theirs"] == seen.shown("error")
        assert ["all after step 7 (capturing failed: ZeroDivisionError: a bug of ours)"] == (
            seen.shown("lost")
        )

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("owner", "name"), OURS, ids=[f"{owner.__name__}.{name}" for owner, name in OURS]
    )
    def test_whatever_of_ours_fails_training_is_as_ever(self, tmp_path, monkeypatch, owner, name):
        """From the fourth step on, in each place where torch or the script calls us."""
        expected = losses_of(8)

        def fail(*given, **named):
            raise ZeroDivisionError("a bug of ours")

        hook = TorchHook(run=tmp_path / "run", say=lambda line: None)
        with hook:
            found = losses_of(8, lambda step: step == 4 and monkeypatch.setattr(owner, name, fail))
        monkeypatch.undo()

        assert expected == found
        trial = Trial(tmp_path / "run")
        assert trial.steps() == list(range(len(trial.steps())))
        assert 3 <= len(trial.steps()) < 8
        assert "capturing failed: ZeroDivisionError" in trial.reader.ends()["worker_0"].lost
