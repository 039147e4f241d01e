"""Logged learning rates, norms and losses that are not what was measured."""

from __future__ import annotations

import json

import pytest
import torch

from stepwatch import LiveWatch, TorchHook
from stepwatch.rules import Finding
from stepwatch.trial import Trial
from tests.support.rules.logged_programs import CASES, Regression
from tests.support.rules.rule_runs import assert_live_is_replay

pytestmark = pytest.mark.usefixtures("one_thread")
RULE = "logged_metric"


def judged(program, run):
    """Run a program whose scalars the hook saves; return what was found, and the statuses."""
    live = LiveWatch(RULE)
    with TorchHook(run=run, listeners=[live], say=lambda _: None, strict=True) as hook:
        program(hook.save_scalar)
    return live.findings, live.statuses()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.cause])
def test_what_is_logged_wrong_is_found(name, tmp_path):
    """By its cause, once, live and in replay."""
    case = CASES[name]
    found, statuses = judged(case.program, tmp_path / "run")

    assert [(case.cause, case.severity)] == [(one.evidence["cause"], one.severity) for one in found]
    assert_live_is_replay(tmp_path / "run", RULE, [one.to_json() for one in found], statuses)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.cause])
def test_what_is_logged_right_is_not_accused(name, tmp_path):
    found, statuses = judged(CASES[name].program, tmp_path / "run")

    assert [] == found
    assert ["NoIssuesFound"] == [one.status for one in statuses]


class TestLoggers:
    """Scalars that a script hands to a logger are saved, without a word in the script."""

    @pytest.fixture
    def writer(self, tmp_path):
        tensorboard = pytest.importorskip("torch.utils.tensorboard")
        with tensorboard.SummaryWriter(tmp_path / "board") as writer:
            yield writer

    @pytest.mark.parametrize("budget", [None, 1e-9])
    def test_of_tensorboard(self, writer, tmp_path, budget, monkeypatch):
        """Also in steps that are not observed in full, with the step that ends next."""
        monkeypatch.setattr("stepwatch.capture.budget.START_S", 0.0)
        with TorchHook(run=tmp_path / "run", say=lambda _: None, strict=True, budget=budget):
            training, logged = Regression(), []
            for step in range(60):
                logged += training.backward()
                writer.add_scalar("train/loss", torch.tensor(logged[-1]), step)
                training.optimizer.step()
        trial = Trial(tmp_path / "run")
        metric = trial.tensor("metric/train/loss")

        assert 60 == len(logged)
        assert logged == pytest.approx([metric.value(step).item() for step in metric.steps()])
        is_thin = len(trial.tensor("loop/backwards").steps()) < 60
        assert is_thin is (budget is not None)

    def test_of_tensorboard_are_judged(self, writer, tmp_path):
        live = LiveWatch(RULE)
        with TorchHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):
            CASES["divided loss"].program(lambda name, value: writer.add_scalar(name, value))

        assert ["divided"] == [one.evidence["cause"] for one in live.findings]

    @pytest.mark.slow  # it starts a process of its own
    def test_of_wandb(self, tmp_path):
        """By the function of the module, and by the method of the run."""
        wandb = pytest.importorskip("wandb")
        run = wandb.init(mode="offline", dir=str(tmp_path), settings=wandb.Settings(silent=True))
        with TorchHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            training = Regression()
            for step in range(4):
                loss = training.backward()[0]
                wandb.log({"loss": loss, "name": "text"})
                run.log({"twice": 2 * step})
                training.optimizer.step()
        run.finish()
        trial = Trial(tmp_path / "run")

        assert ["metric/loss", "metric/twice"] == sorted(trial.tensor_names("^metric/"))
        assert [0.0, 2.0, 4.0, 6.0] == [*trial.tensor("metric/twice").values().values()]

    def test_are_put_back(self, writer, tmp_path):
        """And what is not a number is left alone, as is a name of any length."""
        kind = type(writer)
        before = kind.add_scalar
        with TorchHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            training = Regression()
            for _ in range(2):
                training.backward()
                writer.add_scalar("x" * 1000, 1.0)
                training.optimizer.step()

            assert before is not kind.add_scalar
        assert before is kind.add_scalar
        assert [] == Trial(tmp_path / "run").tensor_names("^metric/")


def test_finding_says_what_was_logged_and_what_was_measured(tmp_path):
    found, _ = judged(CASES["divided loss"].program, tmp_path / "run")
    one = Finding.from_json(json.loads(json.dumps(found[0].to_json())))

    assert one.message.startswith("scalar/train/loss is ")
    assert "divided by the 4 micro-batches of a step" in one.message
