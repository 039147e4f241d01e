"""How many samples of an evaluation were trained on, from looks at some steps only."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepwatch.model.steps import Mode
from stepwatch.rules.leakage import Overlap
from tests.support.rules.made_steps import full_step, judged


def trained(samples, *, looks=30, shuffled=True, size=16, every=10):
    """Return what is known of a training on these samples, of which some steps were looked at."""
    overlap = Overlap(min_samples=20)
    random = np.random.default_rng(0)
    for look in range(looks):
        rows = random.permutation(samples) if shuffled else np.roll(samples, -size * (look % 3))
        overlap.train(rows[:size].tolist(), every * look + 1)
    return overlap


def evaluate(overlap, *evaluated, batch=16):
    """Evaluate some samples at a time, twice, each evaluation with its number."""
    for _ in range(2):
        for number, samples in enumerate(evaluated, 1):
            for start in range(0, len(samples), batch):
                part = list(samples[start : start + batch])
                overlap.evaluate(part, math.nan if start else number)
        overlap.train([1, 2], 1001)
    return overlap.share, overlap.is_all


SHUFFLED = np.random.default_rng(1).permutation


class TestOverlap:
    @pytest.mark.parametrize(
        ("evaluated", "share", "everything"),
        [
            ([range(100)], 0, True),
            ([range(200, 280)], 0, False),
            ([SHUFFLED(range(60, 140))], 0.5, False),
            # Both the training set and another one are evaluated on purpose.
            ([range(100), range(200, 280)], 0, False),
            ([range(100), SHUFFLED(range(60, 140))], 0.5, False),
        ],
    )
    def test_an_evaluation_overlaps_the_training_by_none_some_or_all_of_its_samples(
        self, evaluated, share, everything
    ):
        """Though of the training only some samples are known."""
        found, is_all = evaluate(trained(np.arange(100)), *evaluated)

        assert (pytest.approx(share, abs=0.1), everything) == (found, is_all)

    def test_batches_in_order_are_not_taken_for_shared_samples(self):
        """Looks at every tenth step may meet the same few batches of an epoch again and again."""
        assert (0, False) == evaluate(trained(np.arange(100), shuffled=False), range(100), batch=20)

    def test_single_samples_among_others_are_though_the_training_is_in_order(self):
        overlap = trained(np.arange(48), shuffled=False, every=1)
        rows = np.where(np.arange(48) % 3, np.arange(1000, 1048), np.arange(48))
        share, _ = evaluate(overlap, rows, rows)

        assert pytest.approx(1 / 3) == share

    @pytest.mark.parametrize(("dtype", "found"), [("int32", []), ("float32", ["overlap"])])
    def test_texts_that_come_again_by_themselves_are_not_judged(self, dtype, found):
        """Windows of a text of few words are alike in its first pass, before any repeats."""
        random, steps = np.random.default_rng(0), []
        # Which window each one is the same as; none is twice in a batch.
        rows = np.concatenate([random.permutation(400) for _ in range(4)])
        for at in range(200):
            is_train = at % 5 < 4
            chosen = rows[at * 16 % 1600 :][:16] if is_train else 350 + random.permutation(100)[:16]
            values = {
                "batches": {"batch/0": chosen[:, None].astype(dtype)},
                "samples": {"sample/0": chosen.astype(np.uint64)},
                "loop": {"loop/epoch": at / 100},
            }
            steps.append(full_step(values, at, Mode.TRAIN if is_train else Mode.EVAL))

        assert found == [one.condition for one in judged("label_leak", steps)[0]]

    @pytest.mark.parametrize(("by_reward", "found"), [(False, {"overlap"}), (True, set())])
    def test_states_that_a_policy_acts_in_are_no_evaluation(self, by_reward, found):
        """They are remembered, and learnt from later, as those that follow them are."""
        random, steps = np.random.default_rng(0), []
        for at in range(200):
            is_train = at % 5 < 4
            states = random.permutation(100)[:16] + (0 if is_train else 60)
            values = {
                "batches": {"batch/0": states[:, None].astype(np.float32)},
                "samples": {"sample/0": states.astype(np.uint64)},
            }
            if by_reward and is_train:
                values["policy"] = {"value/target": 1.0}
            steps.append(full_step(values, at, Mode.TRAIN if is_train else Mode.EVAL))

        assert found == {one.condition for one in judged("label_leak", steps)[0]}

    @pytest.mark.parametrize(("num_targets", "found"), [(40, ["overlap"]), (8, [])])
    def test_a_graph_is_given_whole_in_training_and_in_evaluation(self, num_targets, found):
        """The loss of each is of some of its nodes."""
        nodes, steps = np.arange(40), []
        for at in range(60):
            values = {
                "batches": {"batch/0": nodes[:, None].astype(np.float32)},
                "samples": {"sample/0": nodes.astype(np.uint64)},
                "labels": {"label/L": nodes[:num_targets] % 3},
            }
            steps.append(full_step(values, at, Mode.EVAL if at % 2 else Mode.TRAIN))

        assert found == [one.condition for one in judged("label_leak", steps)[0]]

    def test_samples_that_are_never_seen_again_tell_nothing(self):
        """Of an endless stream it is not known how much a look misses."""
        assert (0, False) == evaluate(trained(np.arange(100_000)), range(80))


def fold(overlap, at):
    """Train on four fifths of a hundred samples, and evaluate the rest."""
    held = range(20 * at, 20 * at + 20)
    rest = [one for one in range(100) if one not in held]
    random = np.random.default_rng(at)
    for step in range(20):
        overlap.train(random.choice(rest, 40, replace=False).tolist(), 20 * at + step + 1)
    overlap.evaluate(list(held), 1)
    return overlap.num_released


def test_a_model_that_goes_on_from_fold_to_fold_is_evaluated_on_what_it_was_trained_on():
    overlap = Overlap(min_samples=20)

    assert [0, 0, 20, 20, 20] == [fold(overlap, at) for at in range(5)]


def sampled(at, mode, name):
    """Return a step at which digests of 40 samples of 160 were taken."""
    samples = np.random.default_rng(at).choice(160, 40, replace=False)
    return full_step({"samples": {f"sample/{name}": samples}}, at, mode)


def test_a_model_that_is_trained_no_longer_labels_data_for_another():
    """A teacher, trained before, is given all that the student is trained on."""
    steps = [sampled(at, Mode.TRAIN, "teacher") for at in range(30)]
    for at in range(30, 90, 2):
        steps += [sampled(at, Mode.TRAIN, "student"), sampled(at + 1, Mode.EVAL, "teacher")]

    assert [] == judged("label_leak", steps)[0]
    asked = [sampled(at + 100, Mode.TRAIN if at == 5 else Mode.EVAL, "student") for at in range(10)]
    assert ["overlap"] == [one.condition for one in judged("label_leak", [*steps, *asked])[0]]
