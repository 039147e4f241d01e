"""Samples are known again by their digests, in whatever batch they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.hooks.torch.collectors import batch as samples
from stepwatch.hooks.torch.device import device_row_digests
from stepwatch.numerics.digest import digest, row_digests
from tests.support.hooks.torch.trainings import TinyCNN, TinyLSTM, X, Y, fit, inputs, mlp, sgd


def train(model, *batches):
    """Train one step on each batch."""
    optimizer = sgd(model)
    for batch in batches:
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()


def digests(seen, name="sample/0", mode="TRAIN"):
    values = seen.trial.tensor(name).values(mode=mode)
    return {step: list(found) for step, found in values.items()}


def of_one(watched, *batches, model=mlp):
    """Return the digests of each batch, from a run of its own steps."""
    with watched(policy="samples:raw:every=1") as seen:
        train(model(), *batches)
    return list(digests(seen).values())


class TestSamples:
    def test_place_in_the_batch_does_not_count(self, watched):
        """Nor do the others of the batch, or the step."""
        order = torch.randperm(16, generator=torch.Generator().manual_seed(0))
        one, other, part = of_one(watched, X, X[order], X[3:5])

        assert 16 == len(set(one))
        assert [one[place] for place in order] == other
        assert one[3:5] == part

    def test_place_in_the_sample_counts(self, watched):
        """As do the bits of every element."""
        changed = X.clone()
        changed[0, 1] += 1e-6
        one, flipped, other = of_one(watched, X, X.flip(1), changed)

        assert not set(one) & set(flipped)
        assert one[0] != other[0]
        assert one[1:] == other[1:]

    def test_dtype_and_shape_count(self, watched):
        """Zeros of one kind are not zeros of another."""
        model = nn.Flatten()
        kinds = [torch.zeros(2, 4), torch.zeros(2, 2, 2), torch.zeros(2, 4, dtype=torch.float64)]
        with watched(policy="samples:raw:every=1") as seen:
            for kind in kinds:
                nn.Sequential(model, nn.Linear(4, 1).to(kind.dtype))(kind)

        found = [
            value
            for name in seen.trial.tensor_names(collection="samples")
            for values in seen.trial.tensor(name).values().values()
            for value in values
        ]
        assert 3 == len(set(found))

    def test_training_and_evaluation_have_the_same(self, watched):
        """So that a sample of the one is found in the other."""
        model = mlp()
        with watched() as seen:
            fit(model, steps=1)
            with torch.no_grad():
                model.eval()(X[8:])

        assert digests(seen)[0][8:] == digests(seen, mode="EVAL")[0]

    def test_they_are_those_of_every_step(self, watched):
        with watched() as seen:
            fit(mlp(), steps=11)

        assert [*range(11)] == sorted(digests(seen))

    def test_micro_batches_follow_each_other(self, watched, monkeypatch):
        """Up to the most that are looked at in a step."""
        monkeypatch.setattr(samples, "MOST_SAMPLES", 12)
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            for part in (X[:8], X[8:]):
                model(part).sum().backward()
            optimizer.step()
        (whole,) = of_one(watched, X)

        assert whole == digests(seen)[0]
        assert 12 == len(whole)

    def test_images_and_texts_have_them(self, watched):
        """Whatever the layout in memory."""
        images = inputs(4, 1, 8, 8)
        one, other = of_one(
            watched, images, images.to(memory_format=torch.channels_last), model=TinyCNN
        )
        assert one == other
        tokens = torch.randint(11, (5, 7), generator=torch.Generator().manual_seed(0))
        (found,) = of_one(watched, tokens, model=TinyLSTM)
        assert 5 == len(set(found))

    def test_of_large_samples_some_elements_are_read(self, watched, monkeypatch):
        """Evenly spaced ones, the same in every layout."""
        monkeypatch.setattr(samples, "MOST_SAMPLE_ELEMENTS", 16)
        images = inputs(4, 1, 8, 8)
        unread, read = images.clone(), images.clone()
        unread[:, 0, 0, 1] += 1
        read[:, 0, 0, 4] += 1
        layouts = (images, images.to(memory_format=torch.channels_last), unread, read)
        one, other, same, different = of_one(watched, *layouts, model=TinyCNN)

        assert one == other == same
        assert not set(one) & set(different)

    def test_the_input_that_tells_the_samples_is_taken(self, watched):
        """No mask, and no label, though they come first."""

        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = mlp()

            def forward(self, attention_mask, labels, x):
                return F.mse_loss(self.net(x * attention_mask), labels)

        model = Masked()
        with watched() as seen:
            model(attention_mask=torch.ones(16, 1), labels=Y, x=X)

        assert ["sample/x"] == seen.trial.tensor_names(collection="samples")

    def test_other_models_have_their_own(self, watched):
        """And what has no samples has none."""

        class Scale(nn.Linear):
            def forward(self, scale, nothing=None):
                del nothing
                return super().forward(X * scale)

        with watched(policy="samples:raw:every=1") as seen:
            fit(mlp(), steps=1)
            Scale(4, 1)(torch.ones(()))
            Scale(4, 1)(torch.ones(1, 1))

        assert ["sample/0", "sample/Scale_2/0"] == seen.trial.tensor_names(collection="samples")

    def test_on_an_accelerator_they_are_the_same(self, watched, monkeypatch):
        """They come to the host with the rest of the step."""
        (here,) = of_one(watched, X)
        monkeypatch.setattr(samples, "on_host", lambda _: False)
        (there,) = of_one(watched, X)

        assert here == there

    def test_what_is_not_wanted_is_not_looked_at(self, watched, monkeypatch):
        """At the steps between as well."""
        monkeypatch.setattr(samples, "row_digests", None)
        with watched(policy="samples:none") as seen:
            fit(mlp(), steps=2)

        assert [] == seen.trial.tensor_names(collection="samples")


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int8, torch.bool]
)
def test_the_digest_of_a_row_is_that_of_the_row_alone(dtype):
    """On the host and on an accelerator."""
    rows = (inputs(6, 9) * 50).to(dtype)
    array = samples.to_numpy(rows)
    expected = [digest(row) for row in array]

    assert expected == row_digests(array).tolist()
    assert expected == row_digests(np.asfortranarray(array)).tolist()
    assert expected == device_row_digests(rows).numpy().view(np.uint64).tolist()
