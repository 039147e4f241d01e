"""Gradients that nobody zeroed: told where they are, and only there."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.hooks.torch.test_torch_steps import train_gan
from tests.support.hooks.torch.trainings import X, Y, mlp, sgd

STALE = "optimizer/stale_gradients"


def train(zero, steps=4):
    model = mlp()
    optimizer = sgd(model, lr=0.01)
    for _ in range(steps):
        F.mse_loss(model(X), Y).backward()
        optimizer.step()
        zero(optimizer)


def zero_through_data(optimizer):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad.data.zero_()


class TestStaleGradients:
    def test_a_missing_zero_grad_is_counted(self, watched):
        """From the second step on every gradient holds what was there before."""
        with watched() as seen:
            train(lambda optimizer: None)

        assert [0, 4, 4, 4] == seen.series(STALE)

    @pytest.mark.parametrize(
        "zero",
        [
            lambda optimizer: optimizer.zero_grad(),
            lambda optimizer: optimizer.zero_grad(set_to_none=False),
            zero_through_data,
        ],
        ids=["to none", "to zero", "through data"],
    )
    def test_gradients_that_were_zeroed_are_not(self, watched, zero):
        """However it was done."""
        with watched() as seen:
            train(zero)

        assert [0, 0, 0, 0] == seen.series(STALE)

    def test_a_forgotten_part_is_counted_alone(self, watched):
        """``model[0].zero_grad()`` zeroes two of four."""
        model = mlp()
        optimizer = sgd(model, lr=0.01)
        with watched() as seen:
            for _ in range(3):
                model[0].zero_grad()
                F.mse_loss(model(X), Y).backward()
                optimizer.step()

        assert [0, 2, 2] == seen.series(STALE)

    def test_a_gan_raises_no_false_alarm(self, watched):
        """The generator's backward fills the discriminator's gradients, which are zeroed later."""
        with watched() as seen:
            train_gan(steps=4)

        assert [0, 0, 0, 0] == seen.series(STALE)

    def test_accumulation_within_a_step_is_none(self, watched):
        """Micro-batches add up on purpose."""
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            for _ in range(3):
                for part, target in zip(X.split(4), Y.split(4), strict=True):
                    F.mse_loss(model(part), target).backward()
                optimizer.step()
                optimizer.zero_grad()

        assert [0, 0, 0] == seen.series(STALE)

    def test_sparse_gradients_do_no_harm(self, watched):
        """They have no address; nothing is said of them."""
        model = nn.Embedding(10, 4, sparse=True)
        optimizer = torch.optim.SparseAdam(list(model.parameters()))
        with watched() as seen:
            for _ in range(3):
                optimizer.zero_grad()
                model(torch.tensor([1, 2])).sum().backward()
                optimizer.step()

        assert [0, 0, 0] == seen.series(STALE)


class TestByHand:
    """A loop that takes the gradients off the weights itself."""

    def train(self, *, zeroes, every=1, data=False):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 2)
        for number in range(8):
            (model(torch.randn(3, 4)) ** 2).mean().backward()
            if number % every == every - 1:
                for weight in model.parameters():
                    with torch.no_grad():
                        if data:
                            weight.data -= 0.1 * weight.grad.data
                        else:
                            weight -= 0.1 * weight.grad
                    if zeroes:
                        weight.grad.zero_()

    @pytest.mark.parametrize("data", [False, True])
    def test_gradients_that_stay_are_counted(self, watched, data):
        with watched() as seen:
            self.train(zeroes=False, data=data)
        assert [2.0] * 6 == seen.series(STALE)[-6:]
        assert "loop/takes_turns" not in seen.trial.tensor_names()

    def test_gradients_that_are_zeroed_are_not(self, watched):
        with watched() as seen:
            self.train(zeroes=True)
        assert {0.0} == set(seen.series(STALE))

    def test_as_long_as_weights_stay_gradients_are_meant_to_add_up(self, watched):
        with watched() as seen:
            self.train(zeroes=True, every=4)
        assert {0.0} == set(seen.series(STALE))

    @pytest.mark.parametrize("forgets", [False, True])
    def test_of_two_networks_each_has_its_turn(self, watched, forgets):
        """What one backward leaves in the other network is zeroed before the other's own."""
        torch.manual_seed(0)
        generator, discriminator = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)

        def update(model, loss):
            if not forgets:
                model.zero_grad()
            loss.backward()
            with torch.no_grad():
                for weight in model.parameters():
                    weight -= 0.1 * weight.grad

        with watched() as seen:
            for _ in range(4):
                made = generator(torch.randn(3, 2)).detach()
                update(discriminator, discriminator(made).square().mean())
                made = generator(torch.randn(3, 2))
                update(generator, -discriminator(made).mean())

        stale = [2.0] * 5 if forgets else [0.0] * 5
        assert stale == seen.series(STALE)[-5:]
        assert [1.0] * 5 == seen.series("loop/takes_turns")
