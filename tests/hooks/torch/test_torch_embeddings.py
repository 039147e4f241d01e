"""What the rows of embeddings are like."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch.hooks.torch.collectors import embedding
from stepwatch.hooks.torch.collectors.embedding import MOST_COMPARED, MOST_ROWS, row_norms
from tests.support.hooks.torch.summaries_seen import as_on_an_accelerator, names, train, value
from tests.support.hooks.torch.trainings import TinyLSTM, inputs, mlp

EVERY = "embeddings:raw"
IDS = torch.tensor([[3, 0, 0, 7], [0, 3, 0, 0]])


def mean_cosine(rows):
    """Return it of all pairs, one by one."""
    units = rows.double() / rows.double().norm(dim=1, keepdim=True)
    cosines = units @ units.T
    return cosines[~torch.eye(len(rows), dtype=torch.bool)].mean().item()


class TestRowNorms:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    def test_of_few_rows_all_are_told(self, dtype):
        """Norms from the smallest to the largest, and how alike rows are."""
        weight = (inputs(101, 8) * torch.arange(101)[:, None].add(1) + 1.0).to(dtype)
        norms = weight.double().norm(dim=1).sort().values
        expected = [norms[rank].item() for rank in (0, 5, 50, 95, 100)]
        found = row_norms(weight, None)

        assert expected == pytest.approx(found[:5].tolist(), rel=1e-5)
        assert mean_cosine(weight) == pytest.approx(found[5].item(), abs=1e-5)
        assert math.isnan(found[6])

    def test_equal_rows_have_a_cosine_of_one(self):
        """And opposite ones of minus one."""
        row = inputs(1, 8)
        assert row_norms(row.expand(20, 8), None)[5].item() == pytest.approx(1.0, abs=1e-5)
        assert row_norms(torch.cat([row, -row]), None)[5].item() == pytest.approx(-1.0, abs=1e-5)

    def test_zero_rows_have_no_direction(self):
        """They are left out of the cosine; of one row alone there is none."""
        rows = inputs(6, 8)
        padded = torch.cat([torch.zeros(1, 8), rows])
        found = row_norms(padded, None)
        assert mean_cosine(rows) == pytest.approx(found[5].item(), abs=1e-5)
        assert found[0] == 0.0
        assert math.isnan(row_norms(padded[:2], None)[5])

    def test_rows_without_gradient_are_counted(self):
        """Zero in every element, however small the others are."""
        gradient = torch.zeros(10, 4)
        gradient[3, 1], gradient[4] = 1e-30, 2.0
        assert row_norms(inputs(10, 4), gradient)[6].item() == pytest.approx(0.8)

    def test_of_many_rows_evenly_spaced_ones_are_told(self):
        """No more than so many, from all over the table."""
        rows = 3 * MOST_ROWS + 1
        weight = torch.arange(rows)[:, None].float().expand(rows, 2)
        norms = row_norms(weight, None)[:5] / math.sqrt(2)
        expected = [0.0, 0.05 * rows, 0.5 * rows, 0.95 * rows, rows]
        assert expected == pytest.approx(norms.tolist(), abs=rows / MOST_COMPARED)


class TestEmbeddings:
    def test_weights_of_embeddings_are_told_and_no_others(self, watched):
        """As they are before the step; rows that nobody asked for have no gradient."""
        with watched(policy=[EVERY]) as seen:
            train(TinyLSTM(), IDS)

        weight = TinyLSTM().embed.weight.detach()
        found = value(seen, "row_norms/embed.weight")
        assert ["row_norms/embed.weight"] == names(seen, "embeddings")
        np.testing.assert_allclose(found[:6], row_norms(weight, None)[:6], rtol=1e-6)
        assert 8 / 11 == pytest.approx(found[6])

    def test_every_tenth_step_is_the_default(self, watched):
        """From the first on."""
        with watched() as seen:
            train(TinyLSTM(), IDS, steps=11)

        assert [0, 10] == list(seen.trial.tensor("row_norms/embed.weight").statistics().steps)

    def test_at_other_steps_nothing_is_computed(self, watched, monkeypatch):
        """No pass over the table."""
        steps, losses = [], []
        original = embedding.row_norms
        monkeypatch.setattr(
            embedding, "row_norms", lambda *of: (steps.append(len(losses)), original(*of))[1]
        )
        with watched():
            train(TinyLSTM(), IDS, steps=12, losses=losses)

        assert [0, 10] == steps

    def test_of_sparse_gradients_rows_are_not_known(self, watched):
        """The norms are."""
        model = nn.Sequential(nn.Embedding(11, 6, sparse=True))
        with watched(policy=[EVERY]) as seen:
            train(model, IDS)

        found = value(seen, "row_norms/0.weight")
        assert math.isnan(found[6])
        assert np.isfinite(found[:6]).all()

    def test_those_of_an_accelerator_come_with_the_end_of_the_step(self, watched, monkeypatch):
        """They are the same; here the CPU plays the accelerator."""
        found = []
        for _ in range(2):
            with watched() as seen:
                train(TinyLSTM(), IDS)
            found.append(value(seen, "row_norms/embed.weight"))
            as_on_an_accelerator(monkeypatch)

        np.testing.assert_array_equal(*found)

    def test_models_without_embeddings_have_none(self, watched):
        """A frozen table is in no optimizer and has none either."""
        frozen = TinyLSTM()
        frozen.embed.weight.requires_grad_(False)
        with watched(policy=[EVERY]) as seen:
            train(mlp(), inputs(3, 4))
            made = torch.optim.SGD([p for p in frozen.parameters() if p.requires_grad], 0.1)
            frozen(IDS).sum().backward()
            made.step()

        assert [] == names(seen, "embeddings")


class TestParametrized:
    def test_what_computes_the_weight_is_not_run(self, watched):
        """It may draw random numbers, or change with each call."""

        class Noise(nn.Module):
            calls = 0

            def forward(self, weight):
                Noise.calls += 1
                return weight + torch.randn(())

        def calls():
            Noise.calls = 0
            model = nn.Sequential(nn.Embedding(11, 6), nn.Linear(6, 1))
            nn.utils.parametrize.register_parametrization(model[0], "weight", Noise())
            train(model, IDS)
            return Noise.calls

        alone = calls()
        with watched(policy=[EVERY]):
            assert alone == calls()
