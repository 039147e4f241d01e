"""Functions that form targets of values, and the ends of episodes that they are given."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from stepwatch.hooks import terminals
from stepwatch.hooks.terminals import (
    are_of_episodes,
    cut_offs_for_ends,
    ends_seen,
    forgotten_ends,
    has_ends,
    unread_ends,
    unread_fields,
    unstored_ends,
)

SCRIPT = """
def update(q, params, batch):
    obs, act, rew, nxt, done = batch
    target = rew + GAMMA * q(params, nxt).max(1)
    return target - q(params, obs)


class Env:
    def step(self, action):
        self.at += action
        done = self.at < 0 or self.at > 10
        return self.at, 1.0, done, self.time > 80


def collect(env, memory, obs, action):
    nxt, reward, done, cut = env.step(action)
    memory.append((obs, action, reward, nxt, float(done)))
    over = done or cut
    return over
"""


def unread_in(folder, text, name="update"):
    """Return what a function of a script leaves unread."""
    file = folder / "script.py"
    file.write_text(text)
    names = {}
    exec(compile(text, file, "exec"), names)
    return [(one.name, one.parameter, one.place) for one in unread_ends(names[name].__code__)]


def test_ends_that_are_unpacked_and_not_read_are_found(tmp_path):
    assert [("done", "batch", 4)] == unread_in(tmp_path, SCRIPT)


def test_all_of_a_file_are_found_without_a_call(tmp_path):
    """As within a function of TensorFlow, of which nobody sees what it is given."""
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)

    assert ["update/done"] == [*terminals.unread_in(str(file))]


def test_ends_that_are_an_argument_are_found(tmp_path):
    text = SCRIPT.replace("batch):", "obs, act, rew, nxt, done):").replace("done = batch", "_ = 0")
    text = text.replace("    obs, act, rew, nxt, _ = 0\n", "")

    assert [("done", "done", None)] == unread_in(tmp_path, text)


def test_ends_that_were_drawn_are_found(tmp_path):
    assert [("done", "done", None)] == unread_in(tmp_path, SCRIPT.replace("= batch", "= batch()"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("GAMMA * q", "GAMMA * (1 - done) * q", id="they are read"),
        pytest.param("rew +", "(lambda: done) and rew +", id="they are read by an inner function"),
        pytest.param("rew + GAMMA", "batch[1] + rew + GAMMA", id="the batch is read once more"),
        pytest.param("nxt, done =", "nxt, mask =", id="they are called otherwise"),
        pytest.param("act, rew", "mask, rew", id="there is a mask"),
        pytest.param("obs, act,", "obs, discount,", id="there is a discount of each"),
        pytest.param("rew + GAMMA * q", "q", id="no target is formed"),
        pytest.param("rew + GAMMA * q", "rew + q", id="nothing is discounted"),
        pytest.param("nxt, done =", "other, done =", id="there are no next states"),
        pytest.param("float(done)", "float(cut)", id="those that were cut off are stored"),
        pytest.param("float(done)", "float(done or cut)", id="both are stored as one"),
        pytest.param("    memory", "    done = done or cut\n    memory", id="both are one"),
        pytest.param("    memory", "    done |= cut\n    memory", id="both become one"),
        pytest.param("reward, done, cut", "reward, done, info", id="it may be the time that is up"),
        pytest.param("reward, done, cut", "reward, done", id="it may be the time, without a word"),
        pytest.param("env.step", "env.move", id="there is no environment"),
    ],
)
def test_others_are_let_be(tmp_path, before, after):
    assert before in SCRIPT
    assert [] == unread_in(tmp_path, SCRIPT.replace(before, after))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((0.0, 1.0, 0.0), True),
        (np.array([[True], [False]]), True),
        (np.zeros(8), False),
        (np.array([0.2, 1.0]), False),
        ((), False),
        (["a"], False),
        (1.0, False),
        (None, False),
    ],
)
def test_flags_have_ends_where_some_are_one(flags, expected):
    """In an environment that never ends all are 0."""
    assert expected == has_ends(flags)


Batch = namedtuple("Batch", "observations actions next_observations dones rewards")
BY_NAME = SCRIPT.replace(
    "    obs, act, rew, nxt, done = batch\n", "    data = batch.sample(8)\n"
).replace(
    "rew + GAMMA * q(params, nxt)", "data.rewards + GAMMA * q(params, data.next_observations)"
)


def fields_in(folder, text, name="update"):
    """Return the batches of a script whose ends are not read."""
    file = folder / "script.py"
    file.write_text(text)
    code = compile(text, file, "exec")
    names = {}
    exec(code, names)
    return [one.batch for one in unread_fields(names[name].__code__ if name else code)]


def test_a_field_of_ends_that_is_not_read_is_found(tmp_path):
    assert ["data"] == fields_in(tmp_path, BY_NAME)


def test_it_is_found_outside_of_functions(tmp_path):
    text = """
def learn(q, memory):
    return (data for data in memory)


if "q" in globals():
    data = memory.sample(8)
    target = data.rewards.flatten() + args.gamma * q(data.next_observations)
"""
    text += SCRIPT[SCRIPT.index("class Env") :]

    assert ["data"] == fields_in(tmp_path, text, "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("GAMMA *", "GAMMA * (1 - data.dones) *", id="it is read"),
        pytest.param("return target", "return target * weigh(data)", id="it may be read elsewhere"),
        pytest.param("return target", "return target * data.discounts", id="there are discounts"),
        pytest.param("data.rewards +", "rewards +", id="the reward is none of the batch"),
        pytest.param("data.next_observations", "nxt", id="no next states are read"),
        pytest.param("float(done)", "float(done or cut)", id="no ends proper are stored"),
    ],
)
def test_other_batches_are_let_be(tmp_path, before, after):
    assert before in BY_NAME
    assert [] == fields_in(tmp_path, BY_NAME.replace(before, after))


def test_the_field_is_found_among_those_of_the_batch(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(BY_NAME)
    names = {}
    exec(compile(BY_NAME, file, "exec"), names)
    (one,) = unread_fields(names["update"].__code__)

    assert ("dones", 7) == one.value({"data": Batch(1, 2, 3, 7, 4)})
    assert ("", None) == one.value({"data": 1})
    buffers = namedtuple("Batch", "dones rewards discounts")  # None for returns of one step
    assert ("dones", 7) == one.value({"data": buffers(7, 4, None)})
    assert ("", None) == one.value({"data": buffers(7, 4, 0.9)})
    assert ("", None) == one.value({})


COLLECTS = """
for step in range(steps):
    dones[step] = next_done
    obs, rewards[step], terminated, truncated, _ = envs.step(action)
    next_done = terminated | truncated
for t in reversed(range(steps)):
    delta = rewards[t] + args.gamma * values[t + 1] - values[t]
    advantages[t] = last = delta + args.gamma * args.lam * last
"""
COLLECTS_FIELDS = """
class Transition(NamedTuple):
    done: Array
    reward: Array
    value: Array

def collect(env, state, action):
    state, reward, done = vmap(env.step)(state, action)
    state = where(done, reset(), state)
    return Transition(done, reward, value(state))

def advantages(carry, transition):
    gae, next_value = carry
    delta = transition.reward + config["GAMMA"] * next_value - transition.value
    return delta + config["GAMMA"] * config["LAMBDA"] * gae
"""


def ends_in(look, folder, text):
    """Return what is found in a script with this text."""
    file = folder / "script.py"
    file.write_text(text)
    return look(str(file))


class TestForgottenEnds:
    @pytest.mark.parametrize(
        ("text", "found"), [(COLLECTS, ("dones",)), (COLLECTS_FIELDS, ("done",))]
    )
    def test_ends_that_are_collected_and_never_read_are_found(self, text, found, tmp_path):
        assert found == ends_in(forgotten_ends, tmp_path, text)

    @pytest.mark.parametrize(
        ("text", "before", "after"),
        [
            (COLLECTS, "values[t + 1] -", "(1 - dones[t]) * values[t + 1] -"),
            (COLLECTS, "values[t + 1] -", "nonterminal[t] * values[t + 1] -"),
            (COLLECTS, "values[t + 1] -", "values[t + 1] * (not next_done) -"),
            (COLLECTS, "args.gamma * values", "values"),
            (COLLECTS, "dones[step] = next_done", "states[step] = obs"),
            (COLLECTS_FIELDS, "* next_value", "* next_value * (1 - transition.done)"),
            (COLLECTS_FIELDS, "transition.reward +", "env.done * 0 + transition.reward +"),
            (COLLECTS_FIELDS, "gae, next_value = carry", "done, _, next_value = transition"),
        ],
        ids=["read", "other name", "where it is made", "undiscounted", "not kept", "field read",
             "another's", "unpacked"],
    )  # fmt: skip
    def test_ends_that_may_be_known_are_let_be(self, text, before, after, tmp_path):
        assert before in text
        assert () == ends_in(forgotten_ends, tmp_path, text.replace(before, after, 1))

    @pytest.mark.parametrize(
        ("ends", "expected"),
        [
            ([3, 9, 11, 30, 37], True),
            ([10, 20, 30, 40, 50], False),
            ([3, 9], False),
        ],
        ids=["various", "cut off", "few"],
    )
    def test_episodes_that_are_cut_off_have_one_length(self, ends, expected):
        flags = np.isin(np.arange(64), ends)

        assert expected == are_of_episodes(flags.tolist())
        assert expected == are_of_episodes(np.stack([flags, np.zeros(64)], 1))


STORES = """\
def play(env, buffer, obs):
    while True:
        next_obs, reward, terminated, truncated, info = env.step(act(obs))
        buffer.add(obs, reward, next_obs, truncated)
        if terminated or truncated:
            break
"""


class TestCutOffs:
    def test_cut_offs_that_are_stored_in_place_of_ends_are_found(self, tmp_path):
        assert ("truncated",) == ends_in(cut_offs_for_ends, tmp_path, STORES)

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("truncated)", "terminated)"),
            ("truncated)", "truncated, terminated)"),
            ("truncated)", "float(terminated), truncated)"),
            ("next_obs, truncated)", "next_obs, truncated); ends.append(terminated)"),
            ("        if", "        over = terminated or truncated; ends.append(over)\n        if"),
            ("        if", "        ends[0] = terminated\n        if"),
            ("reward, next_obs, truncated)", "truncated)"),
        ],
    )
    def test_where_ends_are_kept_nothing_is_said(self, before, after, tmp_path):
        assert before in STORES
        assert () == ends_in(cut_offs_for_ends, tmp_path, STORES.replace(before, after, 1))


WITHOUT_ENDS = """\
def learn(q, state, reward, following):
    return reward + GAMMA * q(following).max(1) - q(state)


def play(env, memory, scores, state):
    while True:
        following, reward, done, cut, info = env.step(act(state))
        memory.append((state, reward, following))
        if done or cut:
            scores.append(reward)
            break
"""


class TestUnstoredEnds:
    def test_steps_that_are_stored_without_ends_are_found(self, tmp_path):
        assert ("done",) == ends_in(unstored_ends, tmp_path, WITHOUT_ENDS)

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("following))", "following, done))"),
            ("        memory", "        over = float(done)\n        memory"),
            ("        memory.append", "        if not done: memory.append"),
            ("GAMMA * q", "GAMMA * mask * q"),
            ("GAMMA * q(following)", "q(following)"),
            ("memory.append((state, reward, following))", "learn(q, state, reward, following)"),
        ],
    )
    def test_where_ends_are_kept_or_not_needed_nothing_is_said(self, before, after, tmp_path):
        """Steps may be left out where an episode has ended, or be learned from at once."""
        text = WITHOUT_ENDS.replace(before, after, 1)
        if "over" in text:
            text = text.replace("following))", "following, over))")
        assert before in WITHOUT_ENDS
        assert () == ends_in(unstored_ends, tmp_path, text)

    @pytest.mark.parametrize("done", [True, np.True_, False, 1.0])
    def test_an_end_is_seen_in_its_variable(self, done):
        """A balance that nobody loses knows none."""

        def play(done):
            return list(ends_seen(["done"]))

        assert ["done"] * (done is True or done is np.True_) == play(done)
