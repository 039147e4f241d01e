"""A model that is trained in a cross-validation begins anew in each fold, or goes on."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from sklearn.model_selection import KFold
from torch import nn

from stepwatch import TorchHook
from stepwatch.hooks.data_helpers import FOLDS
from stepwatch.trial import Trial


@pytest.fixture
def folds(monkeypatch):
    for name in ("_found", "_told"):
        monkeypatch.setattr(FOLDS, name, set())
    monkeypatch.setattr(FOLDS, "_goes_on", {})
    FOLDS.begin()
    yield FOLDS
    FOLDS.end()


def _made_anew(model, first):
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def _given_back(model, first):
    model.load_state_dict(first)
    return model


def _drawn_anew(model, first):
    for layer in model:
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
    return model


def _goes_on(model, first):
    return model


@pytest.mark.parametrize(
    ("begins", "found"),
    [(_goes_on, True), (_made_anew, False), (_given_back, False), (_drawn_anew, False)],
)
@pytest.mark.parametrize("budget", [None, 0.03])
def test_a_model_that_goes_on_from_fold_to_fold_is_reported(begins, found, budget, folds, tmp_path):
    """In steps of which only losses are observed, too."""
    torch.manual_seed(0)
    x = torch.randn(80, 4)
    y = (x[:, 0] > 0).long()
    model = _made_anew(None, None)
    first = deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with TorchHook(run=tmp_path / "run", budget=budget, say=lambda _: None):
        for train, test in KFold(4).split(np.zeros(80)):
            model = begins(model, first)
            if begins is _made_anew:
                optimizer = torch.optim.SGD(model.parameters(), 0.1)
            for _ in range(4):
                for at in torch.tensor(train).split(10):
                    optimizer.zero_grad()
                    F.cross_entropy(model(x[at]), y[at]).backward()
                    optimizer.step()
            with torch.no_grad():
                model(x[test])

    told = [info.name for info, _ in folds.found()]
    assert told == (["evaluation/folds/Sequential"] if found else [])
    given = Trial(tmp_path / "run").tensor_names("^checkpoint/given/")
    assert bool(given) == (begins in (_given_back, _drawn_anew))


def test_what_draws_first_values_takes_its_arguments_by_name_too(tmp_path):
    """As a mode of torch calls it for a subclass of tensors."""
    weight = torch.empty(2, 2)
    with TorchHook(run=tmp_path / "run", say=lambda _: None):
        assert nn.init.constant_(tensor=weight, val=3.0) is weight
    assert (weight == 3).all()
