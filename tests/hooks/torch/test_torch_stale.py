"""Gradients that nobody zeroed: told where they are, and only there."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.hooks.torch.test_torch_steps import train_gan
from tests.support.hooks.torch.trainings import X, Y, mlp, sgd

STALE, LEFT = "optimizer/stale_gradients", "optimizer/left_gradients"


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


class TestLeft:
    """What the backward pass for one optimizer leaves in the parameters of another."""

    def play(self, before=None, after=None):
        """Train a generator, and a discriminator that is zeroed before or after its own turn."""
        torch.manual_seed(0)
        generator, discriminator = nn.Linear(2, 4), nn.Linear(4, 1)
        both = [sgd(generator, lr=0.01), sgd(discriminator, lr=0.01)]
        for _ in range(4):
            made = generator(torch.randn(8, 2))
            judged = discriminator(made.detach()).mean() - discriminator(X).mean()
            if before is not None and discriminator.weight.grad is not None:
                before(both[1])
            judged.backward()
            both[1].step()
            if after is not None:
                after(both[1])
            both[0].zero_grad()
            (-discriminator(generator(torch.randn(8, 2))).mean()).backward()
            both[0].step()

    def test_those_of_a_generator_in_its_discriminator_are_counted(self, watched):
        """Zeroed after each update, they are filled before the next."""
        with watched() as seen:
            self.play(after=lambda optimizer: optimizer.zero_grad())

        assert [0, 2, 2] == seen.series(LEFT)
        assert {0.0} == set(seen.series(STALE))

    @pytest.mark.parametrize(
        "zero",
        [
            lambda optimizer: optimizer.zero_grad(),
            lambda optimizer: optimizer.zero_grad(set_to_none=False),
            zero_through_data,
        ],
        ids=["to none", "to zero", "through data"],
    )
    def test_those_that_are_zeroed_before_the_next_loss_are_not(self, watched, zero):
        with watched() as seen:
            self.play(before=zero)

        assert [0, 0, 0] == seen.series(LEFT)

    def test_one_loss_of_both_that_is_stepped_by_in_turn_leaves_nothing(self, watched):
        """The next backward pass finds them zeroed."""
        model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
        both = [sgd(one, lr=0.01) for one in model]
        with watched() as seen:
            for _ in range(4):
                model.zero_grad()
                F.mse_loss(model(X), Y).backward()
                both[0].step()
                both[1].step()

        assert [0, 0, 0] == seen.series(LEFT)

    def test_a_trunk_may_be_meant_to_have_the_gradients_of_all_heads(self, watched):
        """It lies before what the other optimizer updates."""
        trunk, heads = nn.Linear(4, 3), [nn.Linear(3, 1), nn.Linear(3, 1)]
        optimizers = [
            torch.optim.SGD(heads[0].parameters(), lr=0.01),
            torch.optim.SGD([*trunk.parameters(), *heads[1].parameters()], lr=0.01),
        ]
        with watched() as seen:
            for _ in range(4):
                for optimizer in optimizers:
                    optimizer.zero_grad()
                for head, optimizer in zip(heads, optimizers, strict=True):
                    F.mse_loss(head(trunk(X)), Y).backward()
                    optimizer.step()

        assert [0, 0, 0] == seen.series(LEFT)

    @pytest.mark.parametrize(
        ("num_judged", "detaches", "left"), [(1, False, 4), (3, False, 4), (3, True, 0)]
    )
    def test_a_trunk_whose_own_loss_pulls_the_other_way_is_not(
        self, watched, num_judged, detaches, left
    ):
        """A generator that is zeroed first, and is in the loss of its critic; each step has it."""
        torch.manual_seed(0)
        generator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
        makes, judges = sgd(generator, lr=0.01), sgd(critic, lr=0.01)
        with watched() as seen:
            for _ in range(4):
                makes.zero_grad()
                for _ in range(num_judged):
                    made = generator(torch.randn(32, 4))
                    judged = critic(made.detach() if detaches else made)
                    loss = judged.mean() - critic(torch.randn(32, 2) + 2).mean()
                    judges.zero_grad()
                    loss.backward()
                    judges.step()
                (-critic(generator(torch.randn(32, 4))).mean()).backward()
                makes.step()

        assert {left} == set(seen.series(LEFT)[-2:])

    def test_a_head_may_gather_gradients_over_several_steps_of_its_trunk(self, watched):
        """Its own loss is that by which the trunk is updated."""
        trunk, head = nn.Linear(4, 3), nn.Linear(3, 1)
        often, rarely = sgd(trunk, lr=0.01), sgd(head, lr=0.01)
        with watched() as seen:
            for number in range(8):
                often.zero_grad()
                F.mse_loss(head(trunk(X)), Y).backward()
                often.step()
                if number % 2:
                    rarely.step()
                    rarely.zero_grad()

        assert {0.0} == set(seen.series(LEFT))

    def test_of_one_optimizer_nothing_is_said(self, watched):
        with watched() as seen:
            train(lambda optimizer: optimizer.zero_grad())

        assert LEFT not in seen.trial.tensor_names()


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
