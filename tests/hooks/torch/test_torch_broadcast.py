"""Values of samples that a loss broadcasts to all pairs of samples, by its graph."""

import pytest
import torch
from torch import nn

from stepwatch.hooks.torch.broadcast import targets_per_prediction

_BROADCAST = {
    "square": lambda p, y: (p - y).pow(2).mean(),
    "magnitude": lambda p, y: (y - p).abs().sum(),
    "log_cosh": lambda p, y: (p - y + nn.functional.softplus(-2 * (p - y)) - 1).mean() + 0.1,
    "one_of_two_terms": lambda p, y: 0.5 * ((p - y) ** 2).mean(1).sum() + p.square().mean(),
    "targets_in_a_column": lambda p, y: (p[:, 0] - y[:, None]).pow(2).mean(),
    "quantiles": lambda p, y: torch.maximum(0.9 * (y - p), -0.1 * (y - p)).mean() / 3,
    "quantiles_by_where": lambda p, y: torch.where(y > p, 0.9 * (y - p), 0.1 * (p - y)).mean(),
    "normal": lambda p, y: ((p - y) ** 2 / (2 * p.exp()) + p).mean(),
    "weights": lambda p, y: -(p * y).mean(),
    "weights_in_a_column": lambda p, y: (p[:, 0] * y[:, None]).mean(),
    "advantages": lambda p, y: -(p[:, 0] * (y[:, None] - y.flip(0))).mean(),
    "clipped": lambda p, y: -torch.min(p.exp() * y, p.exp().clamp(0.8, 1.2) * y).mean(),
    "one_by_one": lambda p, y: -(torch.stack([one * 2 for one in p]) * y).sum(),
    "penalty": lambda p, y: (p - y).abs().mean() + torch.ones(3, 3, requires_grad=True).sum(),
}
_MEANT = {
    "one_shape": lambda p, y: (p[:, 0] - y).pow(2).mean(),
    "one_shape_and_weights": lambda p, y: ((p[:, 0] - y).pow(2) * y).mean(),
    "similarities": lambda p, y: (p @ p.T - y).pow(2).mean(),
    "of_similar_ones": lambda p, y: ((p - y) * (p @ p.T)).mean(),
    "ranks": lambda p, y: (p - p.T - (y[:, None] - y)).pow(2).mean(),
    "mask": lambda p, y: -(p[:, 0] * (y[:, None] > y)).sum(),
    "plan": lambda p, y: ((p - y).square() * (y[:, None] * y).softmax(1)).sum(),
    "later_rewards": lambda p, y: -(p * (y[:, None] - y) * torch.ones(8, 8).triu()).sum(),
    "some_pairs": lambda p, y: torch.where(y[:, None] > y, (p - y).abs(), 0.0).mean(),
    "kernel": lambda p, y: (-(p - y).square()).exp().mean(),
    "nearest": lambda p, y: (p - y).abs().amin(1).mean(),
    "energy": lambda p, y: 2 * (p - y).abs().mean() - (p - p.T).abs().mean(),
    "at_risk": lambda p, y: (p.exp() * (y[:, None] >= y)).sum(0).log().mean() - p.mean(),
    "no_pairs": lambda p, y: p.mean(),
}


def _found(made, batch=8):
    torch.manual_seed(0)
    prediction = nn.Linear(3, 1)(torch.randn(8, 3))
    found = targets_per_prediction(made(prediction, torch.randn(8)), batch)
    return 1 if found is None else found.item()


@pytest.mark.parametrize("loss", _BROADCAST)
def test_values_that_meet_those_of_all_samples_are_found(loss):
    assert 8 == _found(_BROADCAST[loss])


@pytest.mark.parametrize("loss", _MEANT)
def test_pairs_that_are_meant_are_none(loss):
    """They are of predictions with each other, or are weighed, masked or picked."""
    assert 1 == _found(_MEANT[loss])


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda p, q, y: (p + q[:, 0] - y).square().mean(), 8),  # biases beside a product
        (lambda p, q, y: -(p * (y - q[:, 0])).mean(), 8),  # a critic that is not detached
        (lambda p, q, y: (p + q - y[:, None]).square().mean(), 1),
        (lambda p, q, y: nn.functional.softplus(p - p[:, 0] - q + q[:, 0]).mean(), 1),  # ranks
        (lambda p, q, y: (p + q.T).softmax(1).mean(), 1),
    ],
)
def test_values_of_two_models_that_meet_are_found(loss, expected):
    torch.manual_seed(0)
    x, y = torch.randn(8, 3), torch.randn(8)
    found = targets_per_prediction(loss(nn.Linear(3, 1)(x), nn.Linear(3, 1)(x), y), 8)

    assert expected == (1 if found is None else found.item())


@pytest.mark.parametrize(("loss", "expected"), [("one_by_one", 8), ("square", 1)])
def test_samples_are_those_of_the_batch_or_were_put_together(loss, expected):
    """Eight values of a batch of one are known by how they came about."""
    assert expected == _found(_BROADCAST[loss], batch=1)


def test_a_parameter_is_no_value_of_samples():
    """As many numbers as there are samples may be those of columns."""
    centre = torch.zeros(8, requires_grad=True)

    found = targets_per_prediction((torch.randn(8, 8) - centre).square().mean(), 8)

    assert found is None
