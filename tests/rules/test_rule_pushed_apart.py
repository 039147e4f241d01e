"""Criteria that a script writes itself, and which way they push predictions."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stepwatch.rules import Finding
from tests.support.rules.rule_runs import assert_live_is_replay, judge

pytestmark = pytest.mark.usefixtures("one_thread")

RULE = "loss_direction"


class Criterion(nn.Module):
    """A criterion that takes logits, or probabilities."""

    is_logits = True

    def forward(self, prediction, target):
        p = torch.sigmoid(prediction) if self.is_logits else prediction
        return self.of(p.flatten(1), target.flatten(1))


class Score(Criterion):
    """What falls as the overlap does."""

    def of(self, p, y):
        return ((2 * (p * y).sum(1) + 1) / (p.sum(1) + y.sum(1) + 1)).mean()


class Overlap(Criterion):
    def of(self, p, y):
        return ((p * y).sum(1) / (p + y - p * y).sum(1)).mean()


class Squared(Criterion):
    """A mean square with the sign of a score."""

    def of(self, p, y):
        return (2 * p * y - p * p).mean()


class OfProbabilities(Score):
    is_logits = False


class Dice(Score):
    def of(self, p, y):
        return 1 - super().of(p, y)


class Tversky(Criterion):
    """Of products with the targets and with their opposite, healthy."""

    def of(self, p, y):
        hit, wrong, missed = (p * y).sum(1), (p * (1 - y)).sum(1), ((1 - p) * y).sum(1)
        return 1 - ((hit + 1) / (hit + 0.7 * wrong + 0.3 * missed + 1)).mean()


class OfTheOther(Criterion):
    """What is predicted is the background, and compared as such."""

    def of(self, p, y):
        q = 1 - p
        return 1 - ((2 * (q * y).sum(1) + 1) / (q.sum(1) + y.sum(1) + 1)).mean()


class Contrastive(nn.Module):
    """Distances of pairs are to be small where these are alike."""

    def forward(self, distance, is_alike):
        apart = torch.relu(2 - distance)
        return (is_alike * distance**2 + (1 - is_alike) * apart**2).mean()


class Penalty(Dice):
    """A loss of the mask, to which something is added that is never larger."""

    def of(self, p, y):
        return super().of(p, y) + 0.1 * (p * y).mean()


def segments(criterion, *, ends=None, rare=False, wrong_at=(), given=None, steps=40):
    """Find squares in noise.

    Args:
        criterion: The loss.
        ends: What the model ends in.
        rare: Whether next to nothing belongs to a square.
        wrong_at: Steps at which the score is minimized.
        given: Makes what is minimized of what the criterion returns.
    """
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1), *([ends] if ends else [])
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    score = Score()
    for step in range(steps):
        target = torch.zeros(8, 1, 12, 12)
        target[:, :, 2 : 4 if rare else 8, 3 : 5 if rare else 9] = 1
        x = target + 0.3 * torch.randn(target.shape)
        prediction = model(x)
        loss = (score if step in wrong_at else criterion)(prediction, target)
        optimizer.zero_grad()
        (given(loss) if given else loss).backward()
        optimizer.step()


def pairs(steps=40):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Softplus())
    optimizer, criterion = torch.optim.Adam(model.parameters(), lr=1e-2), Contrastive()
    for _ in range(steps):
        is_alike = (torch.rand(64, 1) > 0.5).float()
        x = is_alike + 0.3 * torch.randn(64, 4)
        loss = criterion(model(x), is_alike)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def found_by(program, tmp_path):
    found, statuses = judge(program, RULE, tmp_path / "run")
    assert_live_is_replay(tmp_path / "run", RULE, found, statuses)
    findings = map(Finding.from_json, found)
    return [one for one in findings if one.condition == "pushed_apart"]


@pytest.mark.parametrize("criterion", [Score, Overlap, Squared])
def test_a_score_that_is_minimized_is_named(criterion, tmp_path):
    (found,) = found_by(lambda: segments(criterion()), tmp_path)

    assert f"{criterion.__name__} falls as the model gets worse" in found.message
    assert "the loss is 1 - score" in found.remedy
    assert found.mode_step < 30


def test_so_is_one_of_probabilities(tmp_path):
    assert found_by(lambda: segments(OfProbabilities(), ends=nn.Sigmoid()), tmp_path)


def test_so_is_a_loss_that_is_taken_from_one_outside(tmp_path):
    assert found_by(lambda: segments(Dice(), given=lambda loss: 1 - loss), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {"criterion": Dice()},
        {"criterion": Dice(), "rare": True},
        {"criterion": Tversky()},
        {"criterion": OfTheOther()},
        {"criterion": Penalty()},
        {"criterion": Score(), "given": lambda loss: 1 - loss},
        {"criterion": Dice(), "wrong_at": range(5)},
    ],
    ids=["dice", "rare", "tversky", "other", "penalty", "outside", "at_first"],
)
def test_one_that_pulls_predictions_to_targets_is_not_accused(how, tmp_path):
    assert [] == found_by(lambda: segments(**how), tmp_path)


def test_a_distance_may_be_meant_to_fall(tmp_path):
    assert [] == found_by(pairs, tmp_path)
