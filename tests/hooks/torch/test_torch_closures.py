"""Gradients that an optimizer has computed within its step are those of that step."""

from __future__ import annotations

import torch
from torch import nn

from stepwatch.hooks.torch import TorchHook
from stepwatch.model.steps import Mode
from stepwatch.trial import Trial


class TestClosures:
    def test_gradients_are_those_that_the_closure_computes(self, tmp_path):
        """By place or by name, at every step, and what it returns is what the step returns."""
        model = nn.Linear(2, 1, bias=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        returned, gradients = [], []

        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(1, 2) * (1 + len(gradients))).sum()
            loss.backward()
            gradients.append(model.weight.grad.sum().item())
            return loss

        with TorchHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            for step in range(4):
                returned.append(
                    optimizer.step(closure) if step % 2 else optimizer.step(closure=closure)
                )

        trial = Trial(tmp_path / "run")
        seen = trial.tensor("gradient/weight").statistics(mode=Mode.TRAIN)["sum"]
        assert [2.0, 4.0, 6.0, 8.0] == gradients == list(seen)
        assert all(isinstance(loss, torch.Tensor) for loss in returned)

    def test_of_several_calls_the_first_is_of_the_weights(self, tmp_path):
        """LBFGS tries other weights within its step."""
        model = nn.Linear(1, 1, bias=False)
        nn.init.constant_(model.weight, 2.0)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
        first = []

        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(1, 1)).pow(2).sum()
            loss.backward()
            first.append(model.weight.grad.item())
            return loss

        with TorchHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            optimizer.step(closure)

        trial = Trial(tmp_path / "run")
        statistics = trial.tensor("gradient/weight").statistics(mode=Mode.TRAIN)
        assert len(first) > 1
        assert (1, [4.0]) == (statistics["count"][0], list(statistics["sum"]))
