"""How many samples of an evaluation were trained on, from looks at some steps only."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.model.steps import Mode
from stepwatch.rules.leakage import Overlap
from tests.support.rules.made_steps import full_step, judged


def trained(samples, *, looks=30, shuffled=True, size=16):
    """Return what is known of a training on these samples, of which some steps were looked at."""
    overlap = Overlap(min_samples=20)
    random = np.random.default_rng(0)
    for look in range(looks):
        rows = random.permutation(samples) if shuffled else np.roll(samples, -size * (look % 3))
        overlap.train(rows[:size].tolist())
    return overlap


class TestOverlap:
    @pytest.mark.parametrize(
        ("evaluated", "part", "everything"),
        [
            (range(80), False, True),
            (range(200, 280), False, False),
            (range(60, 140), True, False),
        ],
    )
    def test_none_some_and_all_are_told_apart(self, evaluated, part, everything):
        """Though of the training only some samples are known."""
        overlap = trained(np.arange(100))
        for _ in range(2):
            assert overlap.evaluate(list(evaluated))

        assert (part, everything) == (overlap.is_part, overlap.is_all)
        assert overlap.is_compared

    def test_batches_in_order_are_not_compared(self):
        """Looks at every tenth step may meet the same few batches of an epoch again and again."""
        overlap = trained(np.arange(100), shuffled=False)
        overlap.evaluate(list(range(100)))

        assert (False, False) == (overlap.is_part, overlap.is_all)

    def test_where_all_of_one_and_nothing_of_another_was_seen_it_is_meant(self):
        overlap = trained(np.arange(100))
        for samples in (range(60), range(200, 260)):
            overlap.evaluate(list(samples))

        assert (False, False) == (overlap.is_part, overlap.is_all)

    def test_samples_that_are_never_seen_again_tell_nothing(self):
        """Of an endless stream it is not known how much a look misses."""
        overlap = trained(np.arange(100_000))
        overlap.evaluate(list(range(80)))

        assert not overlap.shares


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
    asked = [sampled(at + 100, Mode.EVAL, "student") for at in range(10)]
    assert ["overlap"] == [one.condition for one in judged("label_leak", [*steps, *asked])[0]]
