"""Models that do worse than the labels of the nearest samples."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from stepwatch.hooks.torch import TorchHook
from stepwatch.judge.step_view import StepNumber
from stepwatch.rules import watch
from stepwatch.rules.baselines import Compared
from stepwatch.trial import Trial


def clusters(number, seed):
    """Return points of four clusters, two for each class, and their classes."""
    made = torch.Generator().manual_seed(seed)
    corners = torch.randint(0, 2, (number, 2), generator=made)
    points = 4.0 * corners + 0.5 * torch.randn(number, 2, generator=made)
    return points, (corners[:, 0] ^ corners[:, 1])


def fit(run, *, is_deep=True, of_numbers=False):
    """Fit a network and evaluate it every 20 steps; return what is found.

    Args:
        is_deep: It can tell the classes.
        of_numbers: Learn them as numbers.
    """
    torch.manual_seed(0)
    (x, y), (held_out, labels) = clusters(256, 1), clusters(128, 2)
    hidden = [nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2)] if is_deep else [nn.Linear(2, 2)]
    model = nn.Sequential(*hidden)
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    y, labels = (F.one_hot(one).float() if of_numbers else one for one in (y, labels))
    loss_of = F.mse_loss if of_numbers else F.cross_entropy
    with TorchHook(run=run, say=lambda _: None):
        for step in range(200):
            rows = torch.randint(0, len(x), (32,))
            optimizer.zero_grad()
            loss_of(model(x[rows]), y[rows]).backward()
            optimizer.step()
            if step % 20 == 19:
                model.eval()
                with torch.no_grad():
                    loss_of(model(held_out), labels)
                model.train()
    found = watch(Trial(run), ["chance_level"])
    return [one.condition for one in found]


@pytest.mark.parametrize("of_numbers", [False, True])
@pytest.mark.parametrize("is_deep", [False, True])
def test_what_neighbours_tell_and_the_model_does_not(tmp_path, is_deep, of_numbers):
    """No line parts the classes."""
    found = fit(tmp_path / "run", is_deep=is_deep, of_numbers=of_numbers)

    assert ("nearest" in found) is not is_deep


@pytest.mark.parametrize(
    ("others", "is_told"),
    [
        ("columns swapped", True),
        ("columns swapped, at the end only", True),
        ("alike", False),
        ("columns swapped after they were learned", False),  # it may have forgotten them
        ("few columns swapped", False),
    ],
)
def test_evaluated_data_that_the_same_weights_take_for_something_else(tmp_path, others, is_told):
    """The second column says nothing where the first one says the class."""
    torch.manual_seed(0)
    (x, _), (held_out, _) = clusters(256, 1), clusters(128, 2)
    y, labels = (x[:, 0] > 2).long(), (held_out[:, 0] > 2).long()
    swapped = held_out.flip(1)[: 16 if "few" in others else None]
    model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    with TorchHook(run=tmp_path / "run", say=lambda _: None):
        for step in range(200):
            rows = torch.randint(0, len(x), (32,))
            optimizer.zero_grad()
            F.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
            if step % 20 < 19:
                continue
            is_odd = "swapped" in others and ("after" not in others or step > 150)
            evaluated = [held_out, swapped if is_odd else held_out.clone()]
            model.eval()
            with torch.no_grad():
                for data in evaluated[: 1 if "end only" in others and step < 199 else 2]:
                    for rows, of_rows in DataLoader(TensorDataset(data, labels[: len(data)]), 64):
                        F.cross_entropy(model(rows), of_rows)
            model.train()
    found = [one.condition for one in watch(Trial(tmp_path / "run"), ["chance_level"])]

    assert is_told is ("other_data" in found)


@pytest.mark.parametrize(
    ("number", "off", "nearest", "guessing", "is_worse"),
    [
        (128, 40, 4, math.nan, True),
        (128, 14, 4, math.nan, False),  # too near
        (16, 10, 0, math.nan, False),  # too few
        (40, 12, 6, math.nan, False),  # by chance
        (64, 30, 10, 40, True),
        (64, 15, 10, 40, False),
        (64, 3, 0, 40, False),  # it has learned most
    ],
)
def test_thresholds_of_the_nearest_neighbour_baseline(number, off, nearest, guessing, is_worse):
    compared = Compared(StepNumber(9, 9), "worker_0", number, off, nearest, guessing)

    assert is_worse is compared.is_worse()


@pytest.mark.parametrize(("balanced", "is_worse"), [(30.0, False), (70.0, True)])
def test_a_model_that_finds_rare_classes_better_is_no_worse(balanced, is_worse):
    """Though it is wrong more often: it may be trained for them."""
    at, wrong = StepNumber(9, 9), (128, 40, 4, math.nan)

    assert is_worse is Compared(at, "worker_0", *wrong, balanced, 60.0).is_worse()
