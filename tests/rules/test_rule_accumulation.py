"""Micro-batches that are put together to a step in another way than was meant."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from stepwatch import LiveWatch, TorchHook
from stepwatch.model.steps import Mode
from stepwatch.rules import Finding
from stepwatch.trial import Trial
from tests.support.rules.accumulation_programs import TOKENS
from tests.support.rules.rule_runs import assert_live_is_replay, judge

pytestmark = pytest.mark.usefixtures("one_thread")
RULE = "grad_accumulation_scale"


#: These say the same of other ways to write it, and train for long.
_LONG = ("means of padded texts", "means by a module")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in _LONG else [])
        for name, one in TOKENS.items()
        if one.must_fire
    ],
)
def test_targets_that_count_unlike_are_found(name, tmp_path):
    """One finding: the means of micro-batches count alike, whatever they are means over."""
    found, statuses = judge(TOKENS[name].program, RULE, tmp_path / "run")

    assert [("token_weight", "warning")] == [
        (one.condition, one.severity) for one in map(Finding.from_json, found)
    ]
    assert_live_is_replay(tmp_path / "run", RULE, found, statuses)


@pytest.mark.parametrize("name", [name for name, one in TOKENS.items() if not one.must_fire])
@pytest.mark.slow
def test_targets_that_count_alike_are_no_fault(name, tmp_path):
    found, _ = judge(TOKENS[name].program, RULE, tmp_path / "run")

    assert [] == found


@pytest.mark.parametrize("apart", [True, False])
def test_losses_of_two_optimizers_are_no_micro_batches(apart, tmp_path):
    """As of twin critics and an actor: two losses of the first, and one that goes through it."""
    torch.manual_seed(0)
    critic, actor = torch.nn.Linear(6, 2), torch.nn.Linear(4, 2)
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.01) for one in (critic, actor)]
    live = LiveWatch(RULE)
    with TorchHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):
        for _ in range(20):
            state, action, value = torch.randn(16, 4), torch.randn(16, 2), torch.randn(16)
            if apart:
                first, second = critic(torch.cat([state, action], 1)).unbind(1)
                optimizers[0].zero_grad()
                (F.mse_loss(first, value) + F.mse_loss(second, value)).backward()
                optimizers[0].step()
                optimizers[1].zero_grad()
                (-critic(torch.cat([state, actor(state)], 1))).mean().backward()
                optimizers[1].step()
            else:
                optimizers[0].zero_grad()
                for one in torch.cat([state, action], 1).chunk(2):
                    F.mse_loss(critic(one)[:, 0], value[:8]).backward()
                optimizers[0].step()

    expected = [] if apart else ["sum"]
    assert expected == [one.condition for one in live.findings]


def trains(run, *, asked, parts, divided_by, steps=40, change=None):
    """Train with so many micro-batches a step; return the conditions that are found.

    Args:
        asked: Of how many a trainer says that a step is made.
        parts: Of how many it is.
        divided_by: By what the loss of each is divided.
        change: Asked for from half of the steps on.
    """
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    live = LiveWatch(RULE)
    with TorchHook(run=run, listeners=[live], say=lambda _: None, strict=True) as hook:
        hook.accumulates(asked)
        for step in range(steps):
            if change and step == steps // 2:
                hook.accumulates(change)
                parts = divided_by = change
            optimizer.zero_grad()
            for _ in range(parts):
                loss = F.cross_entropy(model(torch.randn(16, 8)), torch.randint(4, (16,)))
                (loss / divided_by).backward()
            optimizer.step()
    return sorted(one.condition for one in live.findings)


def test_fewer_micro_batches_than_were_asked_for_are_found(tmp_path):
    """As where accumulate() is not entered, or an epoch ends sooner."""
    assert ["fewer"] == trains(tmp_path / "one", asked=4, parts=1, divided_by=4)
    assert ["fewer"] == trains(tmp_path / "two", asked=4, parts=2, divided_by=4)


def test_a_loss_that_is_divided_twice_is_found(tmp_path):
    """By the script, and by accelerate."""
    assert ["divided_twice"] == trains(tmp_path / "run", asked=4, parts=4, divided_by=16)


def test_a_loss_that_is_not_divided_is_found_whatever_was_asked_for(tmp_path):
    assert ["sum"] == trains(tmp_path / "run", asked=4, parts=4, divided_by=1)


@pytest.mark.slow
def test_what_was_asked_for_is_no_fault(tmp_path):
    """Nor are several calls of backward() for each, nor a number that a callback changes."""
    assert [] == trains(tmp_path / "four", asked=4, parts=4, divided_by=4)
    assert [] == trains(tmp_path / "one", asked=1, parts=1, divided_by=1)
    assert [] == trains(tmp_path / "changes", asked=4, parts=4, divided_by=4, change=2)


def test_calls_of_backward_are_counted_in_steps_that_are_not_observed_in_full(
    tmp_path, monkeypatch
):
    """Else what thin steps did would be missing from the average."""
    monkeypatch.setattr("stepwatch.capture.budget.START_S", 0.0)
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with TorchHook(run=tmp_path / "run", say=lambda _: None, strict=True, budget=1e-9) as hook:
        hook.accumulates(2)
        for _ in range(100):
            optimizer.zero_grad()
            for _ in range(2):
                loss = F.cross_entropy(model(torch.randn(4, 8)), torch.randint(4, (4,)))
                (loss / 2).backward()
            optimizer.step()
    trial = Trial(tmp_path / "run")
    calls = trial.tensor("loop/backward_calls")
    steps = calls.steps(Mode.TRAIN)

    assert len(steps) < len(trial.steps(Mode.TRAIN))
    assert [2 * (step + 1) for step in steps] == [calls.value(step) for step in steps]
