"""Returns that a script makes of rewards, told by its variables alone."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from stepwatch.hooks.script import next_states, returns_of_script


def added_up(rewards, gamma=0.97, *, backward=True, appends=False):
    """Return the discounted returns of an episode, made from its end on or from its beginning."""
    returns, running = [], 0.0
    for reward in reversed(rewards) if backward else rewards:
        running = reward + gamma * running
        returns.append(running)
    return np.array(returns[::-1] if backward and not appends else returns)


def told(rewards, G):  # noqa: N803
    """Return what is told of a function with these variables."""
    return returns_of_script()


def drawn(steps=40):
    return np.random.default_rng(0).normal(size=steps).tolist()


def normalized(returns):
    return (returns - returns.mean()) / (returns.std() + 1e-8)


def as_tensor(returns):
    return torch.tensor(returns, dtype=torch.float32) / 10


REWARDS = {"drawn": drawn(), "one each": [1.0] * 40, "minus one each": [-1.0] * 40}
MADE = {"normalized": normalized, "as a tensor": as_tensor, "as it is": lambda returns: returns}


@pytest.mark.parametrize("rewards", REWARDS.values(), ids=REWARDS)
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
class TestMovedReturns:
    """Returns of a helper function, of which the script has what it made of them."""

    def test_those_of_past_rewards_are_found(self, rewards, make):
        """Equal rewards do not tell, and this file goes through some from their end on."""
        ((name, discount),) = told(rewards, make(added_up(rewards, backward=False))).items()

        kind = "forward" if np.ptp(rewards) else "reversed"
        assert f"policy/{kind}_returns/rewards/G" == name
        assert pytest.approx(0.97, abs=1e-3) == discount

    def test_those_of_rewards_to_come_are_right(self, rewards, make):
        assert {} == told(rewards, make(added_up(rewards)))


def test_normalized_returns_in_the_reverse_order_are_found():
    rewards = drawn()
    returns = normalized(added_up(rewards, appends=True))

    assert ["policy/reversed_returns/rewards/G"] == list(told(rewards, returns))


def whole_episodes(rewards):
    return np.concatenate([added_up(rewards[:20]), added_up(rewards[20:])])


@pytest.mark.parametrize("rewards", REWARDS.values(), ids=REWARDS)
@pytest.mark.parametrize(
    "make",
    [
        lambda rewards: 0.97 ** np.arange(len(rewards)),
        lambda rewards: np.cumsum(rewards),
        lambda rewards: np.cumsum(rewards[::-1])[::-1],
        lambda rewards: normalized(whole_episodes(rewards)),
        lambda rewards: normalized(added_up(rewards, 0.97**0.5)),
        lambda rewards: -normalized(added_up(rewards)) if rewards[0] != rewards[1] else rewards,
        lambda rewards: 0.05 * added_up(rewards, 0.95, backward=False)
        if rewards[0] != rewards[1]
        else rewards,
        lambda rewards: np.full(len(rewards), sum(rewards)),
        lambda rewards: drawn(80)[40:],
    ],
    ids=["powers", "sums so far", "sums to come", "episodes", "other discount", "costs", "average",
         "one for all", "others"],
)  # fmt: skip
def test_what_else_is_made_of_rewards_is_let_be(rewards, make):
    assert {} == told(rewards, make(rewards))


def test_what_is_not_called_as_returns_must_be_what_rewards_add_up_to():
    """Such as an average of past rewards."""

    def smoothed_only(rewards, smoothed):
        return returns_of_script()

    rewards = drawn()
    assert {} == smoothed_only(rewards, normalized(added_up(rewards, backward=False)))


@pytest.mark.parametrize("reverses", [False, True])
def test_rewards_that_an_object_of_the_script_keeps_are_looked_at(reverses):
    """As a policy that remembers what an episode earned."""

    def finishes(model, returns):
        return returns_of_script()

    model = torch.nn.Linear(2, 2)
    model.rewards = drawn()
    found = finishes(model, normalized(added_up(model.rewards, appends=reverses)))

    assert found.keys() == (
        {"policy/reversed_returns/model.rewards/returns"} if reverses else set()
    )


@pytest.mark.parametrize("reverses", [False, True])
def test_advantages_are_what_differences_add_up_to(reverses):
    """As in generalized advantage estimation."""

    def trains(delta, advantage):
        return returns_of_script()

    delta = np.array(drawn())[:, None]
    advantages = added_up(delta[:, 0].tolist(), 0.95 * 0.98, appends=reverses)
    found = trains(delta, torch.tensor(advantages)[:, None])

    assert found.keys() == ({"policy/reversed_returns/delta/advantage"} if reverses else set())


@pytest.mark.parametrize(("appends", "found"), [(True, True), (False, False)])
def test_reversed_returns_of_concatenated_episodes_are_found(appends, found):
    """Of a list of what each episode has, in the order in which they are put together."""

    def returns_in(batch, ret):
        return returns_of_script()

    batch = [{"obs": [], "rew": [1.0] * steps} for steps in (12, 40, 9)]
    ret = np.concatenate([added_up(one["rew"], appends=appends) for one in batch])
    assert found == bool(returns_in(batch, ret))


@pytest.mark.parametrize("rewards", REWARDS.values(), ids=REWARDS)
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize(("appends", "found"), [(True, True), (False, False)])
class TestReturnsOfSeveralEpisodes:
    """One after the other, whatever the script still has of their rewards."""

    def returns(self, episodes, make, appends):
        return make(np.concatenate([added_up(one, appends=appends) for one in episodes]))

    def test_the_rewards_of_the_last_tell(self, rewards, make, appends, found):
        """As a loop over episodes leaves them."""
        returns = self.returns([rewards[:20], rewards[20:30], rewards[:12]], make, appends)

        assert found == bool(told(rewards[:12], returns))

    def test_lists_of_rewards_tell_by_the_longest(self, rewards, make, appends, found):
        episodes = [rewards[:20], rewards[20:30], rewards[:3]]

        assert found == bool(told(episodes, self.returns(episodes, make, appends)))

    @pytest.mark.parametrize("ends", ["lengths", "dones"])
    def test_all_rewards_tell_with_where_episodes_end(self, rewards, make, appends, found, ends):
        def trains(rewards, G, lengths, dones):  # noqa: N803
            return returns_of_script()

        episodes = [rewards[:20], rewards[20:30], rewards[:3]]
        lengths = [len(one) for one in episodes]
        dones = [step + 1 == len(one) for one in episodes for step in range(len(one))]
        returns = self.returns(episodes, make, appends)
        told = trains(
            [reward for one in episodes for reward in one],
            returns,
            lengths if ends == "lengths" else None,
            dones if ends == "dones" else None,
        )
        assert found == bool(told)


@pytest.mark.parametrize(
    ("goes_through", "kind"), [("rewards", "forward"), ("reversed(rewards)", "reversed")]
)
def test_the_order_of_equal_rewards_is_read_from_the_script(goes_through, kind, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from stepwatch.hooks.script import returns_of_script\n"
        "rewards, returns, running = [1.0] * 20, [], 0.0\n"
        f"for reward in {goes_through}:\n"
        "    running = reward + 0.97 * running\n"
        "    returns.append(running)\n"
        "print(*returns_of_script())\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, timeout=60
    )
    assert f"policy/{kind}_returns/rewards/returns" == done.stdout.strip()


@pytest.mark.parametrize("kind", [np.array, list, tuple, torch.tensor])
@pytest.mark.parametrize("leaves", [0.0, 1.0])
def test_states_before_and_after_actions_are_compared(kind, leaves):
    """In a batch that a script has drawn from its memory."""

    def trains(s, s2, actions):
        return next_states()

    states = np.ones((16, 3))
    before, after = states + np.arange(16.0)[:, None], states + np.arange(16.0)[:, None] + leaves
    found = trains(kind(before), kind(after), kind(np.ones((16, 1))))

    assert {"value/same_states/s2/s": float(not leaves)} == found


def test_no_other_variables_are_taken_for_states():
    """As where several are of their shape, and what only has a shape."""

    def trains(s, s2, s3, module):
        return next_states()

    class Odd:
        shape = len

    assert {} == trains(np.ones((16, 3)), np.ones((16, 3)), np.ones((16, 3)), Odd())
