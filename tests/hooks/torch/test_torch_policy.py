"""What the graph of a loss shows of policies and values."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.distributions import Categorical

from stepwatch import TorchHook, Trial
from stepwatch.hooks.torch.collectors.policy import entropies, growth_of_returns, parts_of

STATES = torch.randn(16, 4, generator=torch.Generator().manual_seed(0))
ACTIONS = torch.arange(16) % 3
ADVANTAGES = torch.linspace(-1, 1, 16)
OLD = torch.full((16,), math.log(1 / 3))


def network():
    torch.manual_seed(0)
    return nn.Linear(4, 3)


def by_distribution(logits):
    return Categorical(logits=logits).log_prob(ACTIONS)


def by_probabilities(logits):
    return Categorical(probs=logits.softmax(-1)).log_prob(ACTIONS)


def by_log_softmax(logits):
    return logits.log_softmax(-1).gather(1, ACTIONS[:, None]).squeeze(1)


def by_index(logits):
    return F.log_softmax(logits, dim=-1)[torch.arange(16), ACTIONS]


def by_cross_entropy(logits):
    return -F.cross_entropy(logits, ACTIONS, reduction="none")


WAYS = [by_distribution, by_probabilities, by_log_softmax, by_index, by_cross_entropy]


def surrogate(log_probs, advantages=ADVANTAGES, clip=0.2):
    ratio = (log_probs - OLD).exp()
    return torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)


class TestSurrogate:
    @pytest.mark.parametrize("way", WAYS)
    def test_ratio_range_and_advantages_are_found(self, way):
        """However the log-probabilities are computed."""
        log_probs = way(network()(STATES))
        (found,) = parts_of(-surrogate(log_probs).mean()).surrogates

        torch.testing.assert_close((log_probs - OLD).exp().detach(), found.ratio)
        assert (pytest.approx(0.8), pytest.approx(1.2)) == (found.least, found.most)
        torch.testing.assert_close(ADVANTAGES, found.advantage)

    def test_as_a_maximum_of_what_is_negative_it_is_the_same(self):
        ratio = (by_index(network()(STATES)) - OLD).exp()
        loss = torch.max(-ADVANTAGES * ratio, -ADVANTAGES * torch.clamp(ratio, 0.8, 1.2)).mean()
        (found,) = parts_of(loss).surrogates

        torch.testing.assert_close(ADVANTAGES, found.advantage)
        assert found.is_minimized is True

    @pytest.mark.parametrize(
        ("loss", "expected"),
        [
            (lambda found: -found.mean(), True),
            (lambda found: -(found * torch.ones(16)).sum() / 16, True),
            (lambda found: 0.5 * -found.mean() - 0.01 * network()(STATES).mean(), True),
            (lambda found: 3.0 - found.mean(), True),
            (lambda found: found.mean(), False),
            (lambda found: -(0 - found.mean()), False),
            (lambda found: -found.mean() * -1, False),
            (lambda found: (found * ADVANTAGES).mean(), None),
        ],
    )
    def test_whether_it_is_minimized_is_known_by_its_signs(self, loss, expected):
        objective = surrogate(by_index(network()(STATES)))
        (found,) = parts_of(loss(objective)).surrogates

        assert expected is found.is_minimized

    def test_the_larger_of_both_is_no_bound(self):
        ratio = (by_index(network()(STATES)) - OLD).exp()
        larger = torch.max(ratio * ADVANTAGES, ratio.clamp(0.8, 1.2) * ADVANTAGES)

        assert parts_of(-larger.mean()).surrogates[0].is_minimized is False

    @pytest.mark.parametrize(
        ("ratio", "expected"),
        [
            (lambda new: (OLD - new).exp(), False),
            (lambda new: torch.exp(-(new - OLD)), False),
            (lambda new: torch.exp(-(OLD - new)), True),
            (lambda new: (new - OLD)[:, None].exp().squeeze(1), True),
        ],
        ids=["turned", "minus", "turned twice", "as usual"],
    )
    def test_the_ratio_of_old_to_new_probabilities_is_the_wrong_way_round(self, ratio, expected):
        found = ratio(by_index(network()(STATES)))
        smaller = torch.min(found * ADVANTAGES, found.clamp(0.8, 1.2) * ADVANTAGES)

        assert parts_of(-smaller.mean()).surrogates[0].is_minimized is expected

    def test_a_second_bound_around_it_is_none_of_it(self):
        """Dual clipping bounds the loss of negative advantages as well (Ye and others, 2020)."""
        ratio = (by_index(network()(STATES)) - OLD).exp()
        first = torch.max(-ADVANTAGES * ratio, -ADVANTAGES * ratio.clamp(0.8, 1.2))
        second = torch.min(first, -ADVANTAGES * 3.0)
        loss = torch.where(ADVANTAGES < 0, second, first).mean()

        assert parts_of(loss).surrogates[0].is_minimized is True

    def test_other_losses_have_none(self):
        logits = network()(STATES)
        for loss in (
            F.cross_entropy(logits, ACTIONS),
            logits.exp().clamp(0.8, 1.2).mean(),
            torch.max(logits, -logits).mean(),
        ):
            found = parts_of(loss)
            assert ([], []) == (found.surrogates, found.log_probabilities)


class TestSign:
    @pytest.mark.parametrize("way", WAYS)
    def test_by_which_a_loss_holds_log_probabilities_is_found(self, way):
        """Wherever the minus stands."""
        log_probs = way(network()(STATES))
        ascends = [-(log_probs * ADVANTAGES).mean(), (-log_probs * ADVANTAGES).sum() / 16]
        descends = [(log_probs * ADVANTAGES).mean(), -(ADVANTAGES * -log_probs).sum()]

        assert [-1, -1] == [parts_of(one).log_probabilities[0][2] for one in ascends]
        assert [1, 1] == [parts_of(one).log_probabilities[0][2] for one in descends]


def one_by_one(gives):
    """Return log-probabilities of single actions, as of the steps of an episode, and factors."""
    model = network()
    for state, action, advantage in zip(STATES, ACTIONS, ADVANTAGES, strict=True):
        chosen = Categorical(model(state).softmax(-1)).log_prob(action)
        yield gives(chosen, advantage)


def added_up(terms):
    total = 0
    for one in terms:
        total += one
    return total


def taken_off(terms):
    total = 0
    for one in terms:
        total -= one
    return total


class TestSteps:
    @pytest.mark.parametrize(
        ("gives", "together"),
        [
            (lambda chosen, weight: -chosen * weight, lambda terms: torch.stack(terms).sum()),
            (lambda chosen, weight: -(chosen * weight)[None], lambda terms: torch.cat(terms).sum()),
            (lambda chosen, weight: weight.item() * -chosen, sum),
            (lambda chosen, weight: -chosen * weight, added_up),
            (lambda chosen, weight: chosen * weight, taken_off),
        ],
    )
    def test_of_which_a_loss_is_put_together_are_as_one_tensor(self, gives, together):
        """In the order of the actions, whether they are stacked, summed or added to a total."""
        found = parts_of(together(list(one_by_one(gives))))
        ((_, factor, sign),) = found.log_probabilities

        assert (-1, (16, 3)) == (sign, found.probabilities.shape)
        assert torch.equal(ADVANTAGES, factor)

    def test_other_terms_are_none(self):
        """Of which some are no log-probabilities, or of the other sign."""
        terms = list(one_by_one(lambda chosen, weight: -chosen * weight))
        other = network()(STATES[0])[0]

        assert [] == parts_of(torch.stack([*terms, other]).sum()).log_probabilities
        mixed = torch.stack([*terms[:8], *(-one for one in terms[8:])])
        assert [] == parts_of(mixed.sum()).log_probabilities


class TestEntropies:
    def test_of_equal_probabilities_it_is_the_logarithm_of_their_number(self):
        assert [math.log(4)] * 2 == pytest.approx(entropies(torch.zeros(2, 4)).tolist())

    def test_what_is_forbidden_does_not_count(self):
        logits = torch.tensor([[0.0, 0.0, -math.inf]])

        assert [math.log(2)] == pytest.approx(entropies(logits).tolist())

    def test_of_many_rows_some_are_taken(self):
        assert 256 == len(entropies(torch.zeros(5000, 3)))


def observed(run, loss_of):
    """Train for two steps, and return the statistics of what was observed in the second."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with TorchHook(run=run, say=lambda _: None, strict=True):
        for _ in range(2):
            optimizer.zero_grad()
            loss_of(model).backward()
            optimizer.step()
    trial = Trial(run)
    names = [name for name in trial.tensor_names() if name.startswith(("policy/", "value/"))]
    return {name: trial.tensor(name) for name in names}


class TestObserved:
    @pytest.mark.parametrize("way", WAYS)
    def test_a_clipped_objective_is_observed(self, way, tmp_path):
        found = observed(tmp_path / "run", lambda model: -surrogate(way(model(STATES))).mean())

        assert {
            "policy/ratio",
            "policy/clipped",
            "policy/advantage",
            "policy/is_minimized",
            "policy/entropy",
        } == found.keys()

    def test_the_values_of_actions_are_observed_with_their_targets(self, tmp_path):
        """Also where the difference is squared by hand."""
        goals = torch.linspace(0, 3, 16)

        def by_function(model):
            values = model(STATES).gather(1, ACTIONS[:, None]).squeeze(1)
            return F.smooth_l1_loss(values, goals)

        def by_hand(model):
            values = model(STATES)[torch.arange(16), ACTIONS]
            return ((goals - values) ** 2).mean()

        for number, loss in enumerate((by_function, by_hand)):
            found = observed(tmp_path / str(number), loss)
            assert pytest.approx(1.5) == found["value/target"].statistics()["mean"][1]
            assert 0 == found["value/through_target"].statistics()["mean"][1]

    def test_targets_that_have_a_gradient_are_noticed(self, tmp_path):
        def loss(model):
            values = model(STATES).gather(1, ACTIONS[:, None]).squeeze(1)
            return F.mse_loss(values, 1 + 0.9 * model(-STATES).max(1).values)

        found = observed(tmp_path / "run", loss)
        assert 1 == found["value/through_target"].statistics()["mean"][1]

    def test_regression_alone_is_not_observed(self, tmp_path):
        found = observed(
            tmp_path / "run", lambda model: F.mse_loss(model(STATES), torch.zeros(16, 3))
        )

        assert {} == found


class TestGrowthOfReturns:
    def test_it_says_in_which_order_returns_stand(self):
        returns = [0.0]
        for _ in range(40):
            returns.append(1 + 0.97 * returns[-1])
        wrong = torch.tensor(returns[1:])

        for weights in (wrong, (wrong - wrong.mean()) / wrong.std(), -wrong):
            assert pytest.approx(0.97, rel=1e-4) == growth_of_returns(weights)
            assert pytest.approx(1 / 0.97, rel=1e-4) == growth_of_returns(weights.flip(0))

    def test_several_episodes_may_stand_one_after_the_other(self):
        """The script need have no rewards, nor say where an episode ends."""
        episodes = [(1 - 0.97 ** torch.arange(1, n + 1)) / 0.03 for n in (9, 31, 8, 12, 9)]

        for each in (episodes, [one.flip(0) for one in episodes]):
            returns = torch.cat(each)
            growth = growth_of_returns((returns - returns.mean()) / returns.std())
            expected = 0.97 if each is episodes else 1 / 0.97
            assert pytest.approx(expected, rel=1e-4) == growth

    @pytest.mark.parametrize(
        "weights",
        [
            torch.randn(40),
            torch.ones(40),
            torch.tensor([1.0, 2.0]),
            torch.full((40,), torch.nan),
            torch.randint(0, 2, (40,)).float(),
            torch.arange(10.0).repeat(4) ** 2,
            torch.randn(8).repeat_interleave(5),
            # Returns times gamma ** t, of one episode and of two.
            torch.tensor([0.97**t - 0.97**40 for t in range(40)]),
            torch.tensor([0.97**t - 0.97**20 for t in range(20)] * 2),
        ],
    )
    def test_of_other_weights_nothing_is_said(self, weights):
        assert growth_of_returns(weights) is None
