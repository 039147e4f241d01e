"""Whether samples that are alike have one label, and what is said of a training that guesses."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch.hooks.nearest import pairing
from tests.support.rules.rule_runs import judge

RNG = np.random.default_rng(0)
LABELS = np.arange(32) % 4
SAMPLES = np.eye(4)[LABELS] * 10 + RNG.normal(size=(32, 4))


@pytest.mark.parametrize(
    "labels",
    [LABELS, LABELS[:, None], np.eye(4, dtype=np.float32)[LABELS], LABELS.astype(np.uint8)],
    ids=["numbers", "column", "one-hot", "bytes"],
)
def test_samples_in_clusters_have_the_label_of_the_nearest(labels):
    alike, paired, by_chance = pairing(SAMPLES, labels)

    assert (32, 32) == (alike, paired)
    assert 4 * 8 * 7 / 31 == pytest.approx(by_chance)


def test_no_element_counts_more_for_its_unit():
    scaled = SAMPLES * [1, 1000, 1, 0.001]
    assert pairing(SAMPLES, LABELS) == pairing(scaled, LABELS)


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        (SAMPLES, np.zeros(32, int)),
        (SAMPLES, RNG.normal(size=32)),
        (SAMPLES, np.arange(32)),
        (SAMPLES[:4], LABELS[:4]),
        (SAMPLES.astype(int), LABELS),
        (SAMPLES, LABELS[:16]),
        (np.where(SAMPLES > 9, np.nan, SAMPLES), LABELS),
    ],
    ids=["one class", "numbers", "all differ", "few", "tokens", "other count", "nan"],
)
def test_of_anything_else_nothing_is_known(given, labels):
    assert np.isnan(pairing(given, labels)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("apart", "said"), [(True, "no more often than by chance, as where"), (False, "do belong")]
)
def test_a_loss_at_chance_level_says_whether_labels_match_their_samples(apart, said, tmp_path):
    """They were shuffled; or they are right, and the predictions are made too small to matter."""

    def train():
        torch.manual_seed(0)
        rng = np.random.default_rng(0)
        model, scale = nn.Linear(4, 4), 1.0 if apart else 1e-3
        nn.init.normal_(model.weight, std=0.01)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(700):
            labels = rng.integers(0, 4, 32)
            samples = np.eye(4)[labels] * 4 + rng.normal(size=(32, 4))
            given = torch.tensor(samples, dtype=torch.float32)
            target = torch.tensor(rng.permutation(labels) if apart else labels)
            optimizer.zero_grad()
            nn.functional.cross_entropy(scale * model(given), target).backward()
            optimizer.step()

    rules = ["chance_level:num_steps=100", "loss_not_decreasing:num_steps=100,smooth=25"]
    found, _ = judge(train, rules, tmp_path / "run")

    messages = [json.loads(one)["message"] for one in found]
    assert [said in one for one in messages].count(True), messages
