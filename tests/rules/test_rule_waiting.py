"""Optimizers that never step while others do."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stepwatch import LiveWatch, TorchHook
from stepwatch.rules import Finding
from tests.support.rules.rule_runs import assert_live_is_replay, judge

pytestmark = pytest.mark.usefixtures("one_thread")

RULE = "untrained_parameter"


def autoencoder(
    *, begins=None, zeroed=True, freezes=False, also=False, by_hand=False, detached=False, steps=120
):
    """Train an encoder and a decoder by an optimizer each.

    Args:
        begins: The first step at which that of the encoder steps; ``None`` for never.
        zeroed: Whether it sets gradients to zero.
        freezes: Whether the encoder is frozen.
        also: Whether the optimizer of the decoder holds the encoder, too.
        by_hand: Whether the script updates the encoder itself.
        detached: Whether no gradients go back to the encoder.
    """
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 3), nn.Sequential(nn.Linear(3, 6))
    encoder.requires_grad_(not freezes)
    held = [*decoder.parameters(), *(encoder.parameters() if also else ())]
    first = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    second = torch.optim.SGD(held, lr=1e-3)
    for step in range(steps):
        x = torch.randn(8, 6)
        second.zero_grad()
        if zeroed:
            first.zero_grad()
        code = encoder(x)
        nn.functional.mse_loss(decoder(code.detach() if detached else code), x).backward()
        second.step()
        if begins is not None and step >= begins:
            first.step()
        if by_hand:
            with torch.no_grad():
                for parameter in encoder.parameters():
                    parameter -= 1e-3 * parameter.grad


def found_by(tmp_path, **how):
    found, statuses = judge(lambda: autoencoder(**how), RULE, tmp_path / "run")
    assert_live_is_replay(tmp_path / "run", RULE, found, statuses)
    findings = map(Finding.from_json, found)
    return [one for one in findings if one.evidence.get("cause") == "never_stepped"]


def test_gradients_that_an_earlier_training_left_are_not_computed_anew(tmp_path):
    """As in a notebook, where the model of the cell before lives on."""
    earlier = nn.Linear(6, 1)
    optimizer = torch.optim.Adam(earlier.parameters())
    earlier(torch.randn(8, 6)).sum().backward()

    assert [] == found_by(tmp_path, begins=0)
    assert not optimizer.state


def test_one_that_is_zeroed_and_never_steps_is_named(tmp_path):
    (found,) = found_by(tmp_path)

    assert "warning" == found.severity
    assert found.message.startswith("Adam never stepped in 120 TRAIN steps")
    assert "gradients of 2 parameters" in found.message
    assert "call step() of this optimizer" in found.remedy


def test_it_is_named_though_most_steps_are_observed_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr("stepwatch.capture.budget.START_S", 0.0)
    live = LiveWatch(RULE)
    run = tmp_path / "run"
    with TorchHook(run=run, listeners=[live], say=lambda _: None, strict=True, budget=1e-9):
        autoencoder()
    (found,) = live.findings

    assert "never_stepped" == found.evidence["cause"]


def test_one_that_is_not_even_zeroed_may_be_left_over(tmp_path):
    (found,) = found_by(tmp_path, zeroed=False)

    assert "info" == found.severity


@pytest.mark.slow
@pytest.mark.parametrize("begins", [0, 20, 110])
def test_one_that_begins_later_is_not_accused(tmp_path, begins):
    assert [] == found_by(tmp_path, begins=begins)


@pytest.mark.parametrize("budget", [None, 1e-9])
def test_one_that_begins_between_full_steps_is_not_accused(tmp_path, budget, monkeypatch):
    monkeypatch.setattr("stepwatch.capture.budget.START_S", 0.0)
    live = LiveWatch(RULE)
    run = tmp_path / "run"
    with TorchHook(run=run, listeners=[live], say=lambda _: None, strict=True, budget=budget):
        autoencoder(begins=90)

    assert [] == live.findings


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [{"freezes": True}, {"also": True}, {"by_hand": True}, {"detached": True}, {"steps": 60}],
    ids=lambda how: next(iter(how)),
)
def test_what_waits_for_a_reason_is_not_accused(tmp_path, how):
    """Frozen, trained by another one, updated by the script, cut off, or a training too short."""
    assert [] == found_by(tmp_path, **how)
