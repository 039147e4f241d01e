"""What a model is given is told apart by its digests."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from stepwatch.numerics.digest import digest
from tests.support.hooks.torch.trainings import X, Y, fit, inputs, mlp, sgd


@dataclass
class Given:
    ids: torch.Tensor
    name: str


class Taking(nn.Module):
    """A model that takes things of all kinds."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.fc = nn.Linear(4, 1)

    def forward(self, x, more=None, *, scale=None, options=None):
        del more, options
        return self.fc(x) * (1.0 if scale is None else scale)


def train(model, batches, run=lambda model, batch: model(batch)):
    optimizer = sgd(model)
    for batch in batches:
        optimizer.zero_grad()
        run(model, batch).pow(2).mean().backward()
        optimizer.step()


def batches_of(seen):
    return seen.trial.tensor_names(collection="batches")


def digests(seen, name="batch/0", mode="GLOBAL"):
    return list(seen.trial.tensor(name).digests(mode).values())


class TestNames:
    def test_they_are_places_keywords_and_paths(self, watched):
        """Of all tensors that are found in what the model is called with."""
        ids = torch.arange(3)

        def run(model, x):
            return model(
                x, [ids, {"mask": ids > 1}], scale=torch.tensor(2.0), options=Given(ids, "")
            )

        with watched() as seen:
            train(Taking(), [X], run)

        assert [
            "batch/0",
            "batch/1/0",
            "batch/1/1/mask",
            "batch/options/ids",
            "batch/scale",
        ] == batches_of(seen)

    def test_the_parts_of_a_model_are_given_none(self, watched):
        """What they get is computed."""
        with watched() as seen:
            fit(mlp())
        assert ["batch/0"] == batches_of(seen)

    def test_further_models_and_parts_that_are_called_alone_have_their_own(self, watched):
        """As their outputs have."""
        whole, other = mlp(), Taking()

        def run(model, x):
            return model(x) + other(x) + model[2](inputs(16, 8))

        with watched() as seen:
            train(whole, [X], run)
        assert ["batch/0", "batch/2/0", "batch/Taking/0"] == batches_of(seen)

    def test_what_another_model_made_is_none(self, watched):
        """Also where it is detached, or nothing is differentiated: it changes while that trains."""
        encoder, judge = nn.Linear(4, 3), nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*encoder.parameters(), *judge.parameters()], lr=0.1)
        x = torch.randn(8, 4)
        with watched() as seen:
            for _ in range(2):
                optimizer.zero_grad()
                (judge(encoder(x).detach()).mean() + judge(encoder(x)).mean()).backward()
                optimizer.step()
                with torch.no_grad():
                    judge(encoder(x))

        assert {"batch/0"} == {
            name.replace("batch_1/", "batch/") for name in seen.trial.tensor_names("^batch")
        }

    def test_micro_batches_are_numbered(self, watched):
        """Their digests do not merge, and a difference in any is to be found."""
        first, second = inputs(4, 4), inputs(4, 4, seed=2)
        with watched() as seen:
            train(mlp(), [0, 1], lambda model, _: model(first) + model(second))

        assert ["batch/0", "batch_1/0"] == batches_of(seen)
        assert [digest(first.numpy())] * 2 == digests(seen)
        assert [digest(second.numpy())] * 2 == digests(seen, "batch_1/0")


class TestValues:
    def test_statistics_and_digests_are_there_at_every_step(self, watched):
        """Of the very values, whatever the dtype."""
        tokens = [torch.randint(0, 9, (2, 3), generator=torch.Generator()) for _ in range(3)]
        model = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 1))
        with watched() as seen:
            train(model, tokens)

        assert [digest(one.numpy()) for one in tokens] == digests(seen)
        assert [one.double().mean().item() for one in tokens] == seen.series("batch/0")
        assert "int64" == seen.infos()["batch/0"].dtype

    def test_they_are_taken_before_the_model_runs(self, watched):
        """It may change what it is given, by keyword as well."""

        class Spoiling(Taking):
            def forward(self, x, scale):
                return self.fc(x.clone()) * scale.mul_(0.0)

        with watched() as seen:
            train(
                Spoiling(), range(2), lambda model, _: model(torch.ones(2, 4), scale=torch.ones(1))
            )
        assert [1.0, 1.0] == seen.series("batch/scale")

    def test_evaluations_are_told_as_well(self, watched):
        """Each forward of one is a step."""
        model = mlp()
        with watched() as seen:
            fit(model, steps=1)
            with torch.no_grad():
                for seed in (3, 4):
                    model(inputs(2, 4, seed=seed))

        expected = [digest(inputs(2, 4, seed=seed).numpy()) for seed in (3, 4)]
        assert expected == digests(seen, mode="EVAL")

    def test_none_switches_it_off(self, watched):
        """Nothing of it is stored."""
        with watched(policy=["batches:none"]) as seen:
            fit(mlp())
        assert [] == batches_of(seen)

    def test_statistics_alone_can_be_asked_for(self, watched):
        """They take the place of the default, digests included."""
        with watched(policy=["batches:statistics:every=2"]) as seen:
            fit(mlp())
        assert [0, 2] == list(seen.trial.tensor("batch/0").statistics().steps)
        assert [] == digests(seen)


class TestDataOrder:
    def run(self, watched, *, seed=3, changed=None):
        """Train on shuffled data, and spoil one sample of one step."""
        torch.manual_seed(0)
        loader = DataLoader(
            TensorDataset(X, Y),
            batch_size=4,
            shuffle=True,
            generator=torch.Generator().manual_seed(seed),
        )
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            for step, (x, y) in enumerate([batch for _ in range(3) for batch in loader]):
                if step == changed:
                    x = x.clone()
                    x[0, 0] = torch.nextafter(x[0, 0], x[0, 0] + 1)
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
        return digests(seen)

    def test_the_same_order_has_the_same_digests(self, watched):
        """Twelve batches of three epochs."""
        first, second = (self.run(watched) for _ in range(2))
        assert 12 == len(set(first))
        assert first == second

    def test_another_order_has_others(self, watched):
        """Nearly at every step."""
        first, second = (self.run(watched, seed=seed) for seed in (3, 4))
        assert not set(first) & set(second)

    def test_one_bit_in_one_step_is_found(self, watched):
        """At that step, and no other."""
        first, second = self.run(watched), self.run(watched, changed=7)
        assert [7] == [step for step in range(12) if first[step] != second[step]]
