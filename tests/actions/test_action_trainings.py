"""Trainings that a fault would end go on, and end well."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from stepwatch import LiveWatch, TorchHook, Trial
from stepwatch.actions.policy import parse_actions
from stepwatch.actions.reactions import Reactions
from stepwatch.formats.findings import read_actions


def train(run, policy, *, spoiled, steps=60):
    """Train with batches of which some hold a nan; return model, losses and what was said."""
    said = []
    reactions = Reactions(
        parse_actions(policy), said.append, restarted=lambda: rules.end_episodes()
    )
    rules = LiveWatch("non_finite_origin; exploding_tensor", on_finding=reactions.found)
    torch.manual_seed(0)
    inputs = torch.randn(32, 4)
    targets = inputs.sum(dim=1, keepdim=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    with TorchHook(
        model, run=run, listeners=[rules, reactions], hold=False, say=said.append
    ) as hook:
        reactions.attach(hook.control)
        for step in range(steps):
            batch = inputs.clone()
            if step in spoiled:
                batch[3, 2] = torch.nan
            optimizer.zero_grad()
            loss = mse_loss(model(batch), targets)
            loss.backward()
            optimizer.step()
            hook.recorder.flush()  # the rules have looked when the next step begins
            losses.append(loss.item())
    return model, losses, said


@pytest.mark.parametrize("policy", ["restore:every=5", "skip_batch"])
class TestPlantedNan:
    def test_the_training_goes_on_and_ends_healthy(self, policy, tmp_path):
        """Twice in a run, the second time within the same episode of its rule."""
        model, losses, _ = train(tmp_path / "run", policy, spoiled=(20, 40))

        assert losses[-1] < losses[15] < losses[0]
        assert all(value.isfinite().all() for value in model.state_dict().values())
        notes = [note for note in read_actions(Trial(tmp_path / "run").store)
                 if note.action != "warn" and not note.detail.startswith("already")]  # fmt: skip
        assert ["done", "done"] == [note.outcome for note in notes]
        assert [20, 40] == [note.step for note in notes]

    def test_a_healthy_training_is_what_it_is_without(self, policy, tmp_path):
        """Bit for bit."""
        plain, losses, _ = train(tmp_path / "plain", "warn", spoiled=(), steps=20)
        model, others, _ = train(tmp_path / "run", policy, spoiled=(), steps=20)

        assert losses == others
        for name, value in plain.state_dict().items():
            assert torch.equal(value, model.state_dict()[name])


def test_without_an_action_it_is_lost(tmp_path):
    """Else the tests above would show nothing."""
    _, losses, said = train(tmp_path / "run", "warn", spoiled=(20,))

    assert losses[-1] != losses[-1]
    assert any("non_finite_origin" in line for line in said)


def test_a_dry_run_changes_nothing_and_says_what_it_would(tmp_path):
    _, losses, said = train(tmp_path / "run", "restore:every=5,dry_run=yes", spoiled=(20,))

    assert losses[-1] != losses[-1]
    expected = "restore would be done about: First value that is not finite, step 20: "
    assert any(line.startswith(expected) for line in said)


def test_a_checkpoint_is_in_the_run(tmp_path):
    """Written in the background, and noted with its place."""
    train(tmp_path / "run", "checkpoint:at_most=1,rules=exploding*", spoiled=(20,), steps=30)

    (note,) = [
        note for note in read_actions(Trial(tmp_path / "run").store) if note.action == "checkpoint"
    ]
    assert "done" == note.outcome
    (path,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert path.name in note.detail
    assert torch.load(path, weights_only=True)["step"] >= 20
