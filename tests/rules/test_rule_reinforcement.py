"""Rules on learning by rewards: from real trainings, from the names that are logged, from steps."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
import torch
from rulebench.faults import rewards as faults
from rulebench.healthy import rewards as healthy
from rulebench.trainings.rewards import Dqn, Grpo, Ppo
from torch import nn
from torch.distributions import Categorical

from stepwatch.rules import StepView
from stepwatch.rules.reinforcement import QUANTITIES, RlCollapse
from tests.support.rules.made_steps import full_record, judged, steps_at
from tests.support.rules.rule_runs import assert_live_is_replay, judge

pytestmark = pytest.mark.usefixtures("one_thread")

FAULTS = [
    ("wrong_direction", faults.PpoAscends, {"steps": 20}),
    ("wrong_direction", faults.PpoTakesLarger, {"steps": 12}),
    ("wrong_direction", faults.GrpoAscends, {"steps": 20}),
    ("stale_log_probs", faults.PpoOtherOrder, {"steps": 90}),
    ("stale_log_probs", faults.GrpoShiftedOld, {"steps": 60}),
    ("never_off", faults.PpoOldIsNew, {"steps": 160, "epochs": 20}),
    ("one_sign", faults.GrpoNotCentred, {"steps": 80}),
    ("constant_advantage", faults.PpoMeanAdvantage, {"steps": 30}),
    ("no_signal", faults.GrpoConstantReward, {"steps": 20}),
    ("unlearnt_value", Ppo, {"steps": 140, "living": 2.0, "value_weight": 1e-6}),
    ("frozen_target", faults.DqnFrozenTarget, {"steps": 320}),
    ("copied_target", faults.DqnCopiedTarget, {"steps": 60}),
    ("through_target", faults.DqnThroughTarget, {"steps": 30}),
    ("one_transition", faults.DqnOneTransition, {"steps": 30}),
    ("unbounded", faults.DqnGrows, {"steps": 300}),
]
HEALTHY = [
    (Ppo, {"steps": 200}),
    (healthy.ClippedValues, {"steps": 130}),
    (healthy.A2c, {"steps": 80}),
    (Dqn, {"steps": 320}),
    (healthy.Polyak, {"steps": 80}),
    (healthy.SquaredByHand, {"steps": 80}),
    (Grpo, {"steps": 80}),
    (healthy.OnPolicyGrpo, {"steps": 80}),
    (healthy.NearReference, {"steps": 60}),
    (healthy.SelfPlay, {"steps": 100}),
]
#: Of these, the others take seconds each.
QUICK = (Grpo, healthy.Polyak, healthy.SquaredByHand)


def train(training, **options):
    training(0, eval_every=10**6, **options).train()


def reinforce(*, reverses):
    """REINFORCE on a task with a reward of 1 at each step; returns may stay as they were made."""
    torch.manual_seed(0)
    policy = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for episode in range(12):
        length = 12 + episode
        choice = Categorical(logits=policy(torch.randn(length, 3)))
        returns = [0.0]
        for _ in range(length):
            returns.append(1 + 0.99 * returns[-1])
        weights = torch.tensor(returns[1:])
        weights = (weights - weights.mean()) / weights.std()
        loss = -(choice.log_prob(choice.sample()) * (weights if reverses else weights.flip(0)))
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()


def reinforce_by_sign(name, *, ascends, maximize=False):
    """REINFORCE whose weights have a name, with a minus or without it."""
    torch.manual_seed(0)
    policy = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2, maximize=maximize)
    for _ in range(12):
        choice = Categorical(logits=policy(torch.randn(16, 3)))
        weights = {name: torch.randn(16)}
        locals_of_script = {"choice": choice, "optimizer": optimizer, **weights}
        code = (  # the name is what is looked at
            f"loss = {'-' * ascends}(choice.log_prob(choice.sample()) * {name}).mean()\n"
            "optimizer.zero_grad()\nloss.backward()\noptimizer.step()"
        )
        exec(compile(code, "script.py", "exec"), {}, locals_of_script)


def reinforce_by_rewards(*, backward, gamma=0.9, by_episode=False, appends=False):
    """REINFORCE with normalized returns of rewards that a script has as variables."""
    torch.manual_seed(0)
    policy = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for _ in range(6):
        rewards = np.random.default_rng(0).normal(size=(16, 4) if by_episode else 16)
        returns, total = np.zeros_like(rewards), 0.0
        for at in reversed(range(16)) if backward else range(16):
            total = rewards[at] + gamma * total
            returns[15 - at if appends else at] = total
        weights = torch.tensor((returns - returns.mean()) / returns.std()).reshape(-1)
        choice = Categorical(logits=policy(torch.randn(len(weights), 3)))
        loss = -(choice.log_prob(choice.sample()) * weights).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def learns_values(*, copies):
    """Learn the values of actions from a memory whose states may be one array."""
    torch.manual_seed(0)
    values, target = nn.Linear(3, 2), nn.Linear(3, 2)
    optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
    state, memory = np.zeros(3, np.float32), []
    for episode in range(40):
        if episode % 4 == 0:
            state = np.random.default_rng(episode).normal(size=3).astype(np.float32)
        before = state.copy() if copies else state
        state += 0.1
        memory.append((before, state.copy() if copies else state))
    for _ in range(12):
        states, next_states = (torch.tensor(np.array(one)) for one in zip(*memory, strict=True))
        with torch.no_grad():
            goal = 1 + 0.9 * target(next_states).max(1).values
        chosen = values(states).gather(1, torch.arange(40)[:, None] % 2).squeeze(1)
        loss = nn.functional.mse_loss(chosen, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def learns_with_ends(mask):
    """Learn the values of actions; say what the next value is multiplied by, given the ends."""
    torch.manual_seed(0)
    values, target = nn.Linear(3, 2), nn.Linear(3, 2)
    optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
    for _ in range(12):
        states, next_states = torch.randn(2, 64, 3)
        rewards, dones = torch.randint(0, 2, (2, 64)).float()
        with torch.no_grad():
            goal = 0.1 * rewards + 0.9 * mask(dones) * target(next_states).max(1).values
        chosen = values(states).gather(1, torch.arange(64)[:, None] % 2).squeeze(1)
        loss = nn.functional.mse_loss(chosen, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


#: Rewards are all different, so that targets do not show whether they go on past the ends.
LEARNS_FROM_MEMORY = """
import random
import numpy as np
import torch
from torch import nn

gamma = 0.9


class Env:
    def step(self, action):
        return torch.randn(3), random.random(), FLAG, random.random() < 0.05, {}


def learn(values, target, optimizer, memory):
    obs, action, reward, nxt, done = map(torch.tensor, zip(*random.sample(memory, 32)))
    with torch.no_grad():
        goal = reward + gamma * target(nxt).max(1).values
    chosen = values(obs).gather(1, action[:, None]).squeeze(1)
    loss = nn.functional.mse_loss(chosen, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


values, target = nn.Linear(3, 2), nn.Linear(3, 2)
optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
env, memory, obs = Env(), [], torch.zeros(3)
for number in range(80):
    action = random.randrange(2)
    nxt, reward, terminated, truncated, _ = env.step(action)
    memory.append((obs.tolist(), action, reward, nxt.tolist(), float(terminated)))
    obs = nxt
    if number >= 60:
        learn(values, target, optimizer, memory)
"""

# The same of a batch whose parts have names.
LEARNS_BY_NAME = (
    LEARNS_FROM_MEMORY.replace(
        "import random\n", "import random\nfrom collections import namedtuple\n"
    )
    .replace(
        "class Env", "Batch = namedtuple('Batch', 'obs action reward nxt done')\n\n\nclass Env"
    )
    .replace(
        "obs, action, reward, nxt, done = map(torch.tensor, ", "batch = Batch(*map(torch.tensor, "
    )
    .replace("random.sample(memory, 32)))", "random.sample(memory, 32))))")
    .replace("reward + gamma * target(nxt)", "batch.reward + gamma * target(batch.nxt)")
    .replace("values(obs).gather(1, action", "values(batch.obs).gather(1, batch.action")
)

# The same outside of functions, of ends in an array.
LEARNS_OUTSIDE = (
    LEARNS_FROM_MEMORY.partition("def learn(")[0]
    + """
values, target = nn.Linear(3, 2), nn.Linear(3, 2)
optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
env, memory, obs = Env(), [], torch.zeros(3)
for number in range(80):
    action = random.randrange(2)
    nxt, reward, terminated, truncated, _ = env.step(action)
    memory.append((obs.tolist(), action, reward, nxt.tolist(), float(terminated)))
    obs = nxt
    if number >= 60:
        S, A, R, S2, done = map(np.array, zip(*random.sample(memory, 32)))
        S, R, S2 = (torch.tensor(one, dtype=torch.float32) for one in (S, R, S2))
        with torch.no_grad():
            goal = R + gamma * target(S2).max(1).values
        chosen = values(S).gather(1, torch.tensor(A)[:, None]).squeeze(1)
        loss = nn.functional.mse_loss(chosen, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


class TestRlUpdate:
    @pytest.mark.parametrize(
        ("goal", "found"),
        [
            ("R + gamma *", ["past_the_end"]),
            ("R + torch.tensor(1 - done).float() * gamma *", []),
        ],
    )
    @pytest.mark.parametrize("rewards", ["random.random()", "1.0"])
    def test_a_script_that_reads_no_ends_outside_of_functions_is_found(
        self, goal, found, rewards, tmp_path
    ):
        """By its text, or by its targets where all rewards are equal."""
        text = LEARNS_OUTSIDE.replace("FLAG", "random.random() < 0.2")
        text = text.replace("R + gamma *", goal).replace(
            "random.random(), random", f"{rewards}, random"
        )
        file = tmp_path / "script.py"
        file.write_text(text)
        code = compile(file.read_text(), file, "exec")

        findings, _ = judge(lambda: exec(code, {}), "rl_update", tmp_path / "run")

        assert found == [json.loads(one)["condition"] for one in findings]

    @pytest.mark.parametrize(
        ("flag", "goal", "found"),
        [
            ("random.random() < 0.2", "reward + gamma *", ["past_the_end"]),
            ("random.random() < 0.2", "reward + (1 - batch.done) * gamma *", []),
            ("False", "reward + gamma *", []),
        ],
    )
    def test_a_field_of_ends_that_is_never_read_is_found(self, flag, goal, found, tmp_path):
        file = tmp_path / "script.py"
        file.write_text(LEARNS_BY_NAME.replace("FLAG", flag).replace("reward + gamma *", goal))
        code = compile(file.read_text(), file, "exec")

        findings, _ = judge(lambda: exec(code, {}), "rl_update", tmp_path / "run")

        assert found == [json.loads(one)["condition"] for one in findings]

    @pytest.mark.parametrize(
        ("flag", "goal", "found"),
        [
            ("random.random() < 0.2", "reward + gamma *", ["past_the_end"]),
            ("random.random() < 0.2", "reward + (1 - done) * gamma *", []),
            ("False", "reward + gamma *", []),  # nothing ends, as a pendulum
        ],
    )
    def test_ends_that_are_never_read_are_found(self, flag, goal, found, tmp_path):
        file = tmp_path / "script.py"
        file.write_text(LEARNS_FROM_MEMORY.replace("FLAG", flag).replace("reward + gamma *", goal))
        code = compile(file.read_text(), file, "exec")

        findings, _ = judge(lambda: exec(code, {}), "rl_update", tmp_path / "run")

        assert found == [json.loads(one)["condition"] for one in findings]

    @pytest.mark.parametrize("by_episode", [False, True])
    @pytest.mark.parametrize(
        ("options", "found"),
        [
            ({"backward": False}, ["past_rewards"]),
            ({"backward": True, "appends": True}, ["reversed_returns"]),
            ({"backward": True}, []),
            ({"backward": False, "gamma": 1.0}, []),  # a sum of what was is no rare variable
        ],
    )
    def test_returns_that_add_up_past_rewards(self, by_episode, options, found, tmp_path):
        """Variables of the script show it, whatever was made of the returns later."""
        training = partial(reinforce_by_rewards, by_episode=by_episode, **options)
        findings, _ = judge(training, "rl_update", tmp_path)

        assert found == [json.loads(one)["condition"] for one in findings]

    @pytest.mark.parametrize(
        ("mask", "found"),
        [
            (lambda dones: 1 - dones, []),
            (lambda goes_on: goes_on, []),  # it may be the other way round
            (lambda _: 1, ["past_the_end"]),
        ],
    )
    def test_targets_that_go_on_past_the_end_are_found(self, mask, found, tmp_path):
        findings, _ = judge(partial(learns_with_ends, mask), "rl_update", tmp_path)

        assert found == [json.loads(one)["condition"] for one in findings]

    @pytest.mark.parametrize(
        ("goes_on", "found"), [(0.0, ["no_bootstrap"]), (1.0, [])], ids=["masked", "counted"]
    )
    def test_targets_that_are_the_rewards_alone_are_found(self, goes_on, found, tmp_path):
        """As where what a buffer keeps as ``not_done`` is ``done``."""

        def learns():
            torch.manual_seed(0)
            critic = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
            optimizer = torch.optim.Adam(critic.parameters())
            gamma = 0.9
            for _ in range(14):
                state, action, next_state = (
                    torch.randn(16, 4),
                    torch.rand(16, 1),
                    torch.randn(16, 4),
                )
                reward, not_done = torch.randn(16, 1), torch.full((16, 1), goes_on)
                with torch.no_grad():
                    after = critic(torch.cat([next_state, action], 1))
                    target = reward + not_done * gamma * after
                optimizer.zero_grad()
                nn.functional.mse_loss(critic(torch.cat([state, action], 1)), target).backward()
                optimizer.step()

        findings, _ = judge(learns, "rl_update", tmp_path / "run")
        assert found == [json.loads(one)["condition"] for one in findings]

    @pytest.mark.parametrize("copies", [True, False])
    def test_states_that_are_one_array_are_found(self, copies, tmp_path):
        findings, _ = judge(partial(learns_values, copies=copies), "rl_update", tmp_path)

        conditions = [json.loads(one)["condition"] for one in findings]
        assert ([] if copies else ["same_states"]) == conditions

    @pytest.mark.parametrize(
        ("name", "options", "found"),
        [
            ("returns", {"ascends": False}, ["wrong_direction"]),
            ("adv", {"ascends": False}, ["wrong_direction"]),
            ("returns", {"ascends": True}, []),
            ("returns", {"ascends": False, "maximize": True}, []),
            ("costs", {"ascends": False}, []),
            ("neg_returns", {"ascends": False}, []),
        ],
    )
    def test_returns_without_a_minus_are_found(self, name, options, found, tmp_path):
        findings, _ = judge(partial(reinforce_by_sign, name, **options), "rl_update", tmp_path)

        assert found == [json.loads(one)["condition"] for one in findings]

    @pytest.mark.parametrize("reverses", [True, False])
    def test_returns_in_the_reverse_order_are_found(self, reverses, tmp_path):
        findings, statuses = judge(partial(reinforce, reverses=reverses), "rl_update", tmp_path)

        assert (["reversed_returns"] if reverses else []) == [
            json.loads(one)["condition"] for one in findings
        ]
        assert_live_is_replay(tmp_path, "rl_update", findings, statuses)

    @pytest.mark.slow
    @pytest.mark.parametrize(("condition", "training", "options"), FAULTS)
    def test_a_loss_that_is_put_together_wrongly_is_found(
        self, condition, training, options, tmp_path
    ):
        """By that condition and no other, and nothing of it is logged."""
        found, statuses = judge(lambda: train(training, **options), "rl_update", tmp_path / "run")

        conditions = {json.loads(one)["condition"] for one in found}
        assert {condition} == conditions, statuses[0].details

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("training", "options"),
        [one if one[0] in QUICK else pytest.param(*one, marks=pytest.mark.slow) for one in HEALTHY],
    )
    def test_a_healthy_training_by_rewards_is_let_be(self, training, options, tmp_path):
        found, statuses = judge(lambda: train(training, **options), "rl_update", tmp_path / "run")

        assert ("NoIssuesFound", []) == (statuses[0].status, found) or (
            training is healthy.SelfPlay and found == []
        )

    @pytest.mark.slow
    def test_a_stored_run_is_judged_as_it_was_live(self, tmp_path):
        found, statuses = judge(
            lambda: train(faults.DqnFrozenTarget, steps=320), "rl_update", tmp_path / "run"
        )

        assert_live_is_replay(tmp_path / "run", "rl_update", found, statuses)

    @pytest.mark.slow
    def test_what_is_no_training_by_rewards_is_not_judged(self, tmp_path):
        from rulebench.trainings.small import Regression

        _, statuses = judge(lambda: train(Regression, steps=5), "rl_update", tmp_path / "run")

        assert ("NotEvaluated", True) == (statuses[0].status, statuses[0].idle)


class TestNames:
    @pytest.mark.parametrize("quantity", QUANTITIES)
    def test_names_of_libraries_stand_for_one_quantity(self, quantity):
        """And those beside them for another, or none."""
        rule, one = RlCollapse(), QUANTITIES[quantity]

        assert {quantity} == {rule._kind(f"metric/{name}") for name in one.names}
        assert quantity not in {rule._kind(f"metric/{name}") for name in one.others}

    def test_losses_and_metrics_of_a_classifier_stand_for_none(self):
        rule = RlCollapse()
        names = ("loss", "accuracy", "learning_rate", "grad_norm", "epoch", "f1_score", "kl_weight")

        assert {""} == {rule._kind(f"metric/{name}") for name in names}


def logged(step, **numbers):
    named = {f"metric/{name}": np.float64(value) for name, value in numbers.items()}
    return StepView([full_record({"metrics": named}, step)])


NOISE = np.random.default_rng(0).standard_normal(400)


class TestRlCollapse:
    def test_a_divergence_that_jumps_is_found(self):
        """Of noise around a level, even a high one, nothing is said."""
        steps = [logged(s, reward=0.0, kl=3 + NOISE[s] if s < 60 else 80.0) for s in range(80)]

        assert [62] == steps_at("rl_collapse", steps)

    def test_a_divergence_that_grows_slowly_is_let_be(self):
        steps = [logged(s, reward=0.0, kl=0.1 * s) for s in range(200)]

        assert [] == steps_at("rl_collapse", steps)

    def test_a_divergence_of_an_autoencoder_is_none_of_a_policy(self):
        steps = [logged(s, kl=0.01 if s < 60 else 80.0) for s in range(80)]

        assert [] == steps_at("rl_collapse", steps)

    def test_a_reward_that_is_lost_again_is_found(self):
        rewards = [min(s, 100, max(0, 250 - s)) / 100 + 0.02 * NOISE[s] for s in range(400)]
        steps = [logged(s, reward=rewards[s]) for s in range(400)]

        assert 1 == len(steps_at("rl_collapse", steps))

    @pytest.mark.parametrize("period", [40, 90])
    def test_a_reward_that_goes_up_and_down_is_let_be(self, period):
        """As in a game against itself."""
        rewards = np.sin(2 * np.pi * np.arange(400) / period) + 0.2 * NOISE
        steps = [logged(s, reward=rewards[s]) for s in range(400)]

        assert [] == steps_at("rl_collapse", steps)

    def test_groups_of_which_none_varies_are_found(self):
        steps = [logged(s, reward=0.5, frac_reward_zero_std=1.0) for s in range(20)]

        assert [9] == steps_at("rl_collapse", steps)

    def test_ratios_that_are_all_clipped_are_found(self):
        steps = [logged(s, reward=0.5, **{"losses/clipfrac": 0.9}) for s in range(20)]

        assert [9] == steps_at("rl_collapse", steps)

    def test_values_that_explain_nothing_are_found_late(self):
        """At first they explain nothing anywhere."""
        name = "train/explained_variance"
        bad = [logged(s, reward=0.5, **{name: -1.0}) for s in range(120)]
        good = [logged(s, reward=0.5, **{name: -2.0 if s < 60 else 0.1}) for s in range(120)]

        assert [99] == steps_at("rl_collapse", bad)
        assert [] == steps_at("rl_collapse", good)

    def test_samplers_of_another_policy_are_found(self):
        difference = {"sampling/sampling_logp_difference/mean": 0.4}
        ratio = {"sampling/importance_sampling_ratio/mean": 0.4}

        assert [9] == steps_at("rl_collapse", [logged(s, **difference) for s in range(20)])
        assert [9] == steps_at("rl_collapse", [logged(s, **ratio) for s in range(20)])

    def test_random_actions_that_stay_are_found(self):
        steps = [logged(s, reward=0.5, **{"charts/epsilon": 1.0}) for s in range(80)]
        falls = [logged(s, reward=0.5, **{"charts/epsilon": 1 - s / 80}) for s in range(80)]

        assert [59] == steps_at("rl_collapse", steps)
        assert [] == steps_at("rl_collapse", falls)

    def test_a_reward_that_rises_while_answers_vanish_is_told(self):
        steps = [
            logged(s, reward=s / 100, entropy=2 / (1 + s / 20),
                   **{"completions/mean_length": 200 / (1 + s / 20)})
            for s in range(120)
        ]  # fmt: skip
        found, _ = judged("rl_collapse", steps)

        assert ["info"] == [one.severity for one in found]
