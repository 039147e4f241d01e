"""Whatever a script does with torch works as it does without us."""

from __future__ import annotations

import copy
import gc
import io
import logging
import pickle
import warnings
import weakref

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from stepwatch.hooks.torch.observe import Observer
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd


class HoldsLoss(nn.Module):
    """Keeps a functional loss as an attribute, as many do."""

    def __init__(self):
        super().__init__()
        self.net, self.loss = mlp(), F.mse_loss

    def forward(self, x):
        return self.net(x)


class TestCopies:
    def test_models_and_optimizers_are_copied_and_pickled_as_ever(self, watched):
        """Nothing of ours is in them, and nothing of ours comes back with them."""
        model = mlp()
        optimizer = torch.optim.Adam(model.parameters())
        with watched() as seen:
            fit(model, optimizer)
            for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), saved(model)):
                assert not copied._forward_hooks
                torch.testing.assert_close(model(X), copied(X), rtol=0, atol=0)
            assert b"stepwatch" not in pickle.dumps((model, optimizer))
            copy.deepcopy(optimizer)
            saved(optimizer)

        assert 3 == len(seen.series("gradient/0.weight"))

    def test_a_model_that_holds_a_loss_is_pickled_whenever_it_was_made(self, watched):
        """Before the hook or under it; while it is there and after."""
        before = HoldsLoss()
        with watched():
            under = HoldsLoss()
            for model in (before, under):
                assert F.mse_loss is saved(model).loss
        for model in (before, under):
            assert F.mse_loss is saved(model).loss


def saved(thing):
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)


@pytest.mark.slow
class TestGraphs:
    def test_scripted_and_traced_models_work(self, watched):
        """Also functions that compute a loss, which is not a wrapper's business there."""
        with warnings.catch_warnings(), watched():
            warnings.simplefilter("ignore")
            scripted = torch.jit.script(lambda_free_loss)
            torch.testing.assert_close(F.mse_loss(X, X + 1), scripted(X, X + 1))
            traced = torch.jit.trace(mlp(), X)
            torch.testing.assert_close(mlp()(X), traced(X))
            assert 3 == len(fit(torch.jit.script(mlp())))

    @pytest.mark.parametrize("fullgraph", [pytest.param(False, marks=pytest.mark.slow), True])
    def test_compiled_models_lose_nothing(self, watched, fullgraph):
        """Equal losses, as many graphs as without us, and not one break more."""

        def train():
            torch._dynamo.reset()
            torch._dynamo.utils.counters.clear()
            model = mlp()
            loss = torch.compile(
                lambda x, y: F.mse_loss(model(x), y), fullgraph=fullgraph, backend="aot_eager"
            )
            compiled = torch.compile(mlp(), fullgraph=fullgraph, backend="aot_eager")
            losses = fit(compiled)
            optimizer = sgd(model)
            for _ in range(3):
                optimizer.zero_grad()
                value = loss(X, Y)
                value.backward()
                optimizer.step()
                losses.append(value.item())
            counters = torch._dynamo.utils.counters
            return losses, counters["stats"]["unique_graphs"], dict(counters["graph_break"])

        without = train()
        with warnings.catch_warnings(record=True) as warned, watched():
            warnings.simplefilter("always", append=True)
            within = train()

        assert without == within
        assert [] == [str(one.message) for one in warned if "global" in str(one.message)]

    def test_a_checkpointed_part_is_seen_once(self, watched):
        """It runs again in backward, which is no second observation."""

        class Checkpointed(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = mlp()

            def forward(self, x):
                return checkpoint(self.net, x, use_reentrant=False)

        with watched() as seen:
            fit(Checkpointed())

        assert [16 * 8] * 3 == seen.series("output/net.0", "count")

    def test_functional_transforms_work(self, watched):
        """What vmap and grad pass around are no plain tensors; they are let be."""
        model = mlp()
        parameters = dict(model.named_parameters())

        def loss(parameters, x, y):
            return F.mse_loss(torch.func.functional_call(model, parameters, (x[None],)), y[None])

        per_sample = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
        expected = per_sample(parameters, X, Y)
        with watched() as seen:
            found = per_sample(parameters, X, Y)
            fit(model)

        assert all(torch.equal(expected[name], found[name]) for name in expected)
        assert 3 == len(seen.series("gradient/0.weight"))

    def test_workers_of_a_data_loader_start_clean(self, watched):
        """They are forked in the middle, with hooks in place, and see nothing."""
        model = mlp()
        batches = DataLoader(
            WithModel(TensorDataset(X, Y)), batch_size=4, num_workers=2,
            multiprocessing_context="fork",
        )  # fmt: skip
        optimizer = sgd(model)
        with watched() as seen:
            for x, y in batches:
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()

        assert {"TRAIN": 4} == seen.counts


class WithModel(torch.utils.data.Dataset):
    """Runs a model for every sample, as a feature extractor would."""

    def __init__(self, data):
        self.data, self.features = data, nn.Linear(4, 4)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        x, y = self.data[index]
        with torch.no_grad():
            self.features(x)
        return x, y


def lambda_free_loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.mse_loss(a, b)


class FailsOnce(torch.optim.SGD):
    """Raises in its third step, as one that runs out of memory does."""

    taken = 0

    def step(self, closure=None):
        self.taken += 1
        if self.taken == 3:
            raise RuntimeError("out of memory")
        return super().step(closure)


class TestTheirFaults:
    def test_an_optimizer_that_raises_once_goes_on_being_seen(self, watched):
        """Torch tells nobody that a step was broken off; the next one is a step again."""
        model = mlp()
        optimizer = FailsOnce(model.parameters(), lr=0.1)
        with watched() as seen:
            for _ in range(6):
                optimizer.zero_grad()
                F.mse_loss(model(X), Y).backward()
                try:
                    optimizer.step()
                except RuntimeError as error:
                    assert "out of memory" == str(error)  # noqa: PT017 - caught as scripts do

        assert 5 <= seen.counts["TRAIN"] <= 6
        assert 5 <= len(seen.series("gradient/0.weight"))


class HoldsItself(nn.Module):
    """Returns a list that holds a tensor and itself, beside what it computed."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)

    def forward(self, batch):
        found = [self.net(batch[0])]
        found.append(found)
        return found


class TestStrangeValues:
    def test_containers_that_hold_themselves_are_looked_through_once(self, watched):
        """As what a model is given and as what it returns."""
        model = HoldsItself()
        batch = [X]
        batch.append(batch)
        with watched() as seen:
            for _ in range(2):
                model(batch)[0].mean().backward()

        names = seen.trial.tensor_names(collection="outputs")
        assert ["output/HoldsItself/0", "output/net"] == sorted(names)


class TestOurFaults:
    def fail(self, *_):
        raise ZeroDivisionError("a fault of ours")

    def test_one_is_told_once_and_training_goes_on(self, watched, monkeypatch, caplog):
        """The losses are those of a run without us, and the run says that it ended early."""
        expected = fit(mlp(), steps=6)
        with caplog.at_level(logging.WARNING), watched(strict=False) as seen:
            model = mlp()
            optimizer = sgd(model)
            losses = fit(model, optimizer)
            monkeypatch.setattr(Observer, "outputs", self.fail)
            losses += fit(model, optimizer)

        assert expected == losses
        assert ["capturing failed"] == [record.message[:16] for record in caplog.records]
        assert "finished" == seen.end.state
        assert "capturing failed" in seen.end.error
        assert {"TRAIN": 3} == seen.counts  # the step that was open is not told

    def test_strict_raises_it(self, watched, monkeypatch):
        """For tests, ours and those of plug-ins."""
        monkeypatch.setattr(Observer, "outputs", self.fail)
        with watched(), pytest.raises(ZeroDivisionError, match="a fault of ours"):
            fit(mlp())

    def test_a_model_that_raises_and_is_caught_goes_on_being_seen(self, watched):
        """Out of memory, smaller batch, next step."""
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            fit(model, optimizer)
            with pytest.raises(RuntimeError, match="shapes"):
                model(torch.ones(2, 3))
            with pytest.raises(RuntimeError):
                nn.MSELoss()(torch.ones(3), torch.ones(4))
            fit(model, optimizer)

        assert 6 == len(seen.series("loss/mse_loss"))


class Proxy:
    """What stands for an object that is not there, as those of web servers and trackers do."""

    @property
    def __class__(self):
        raise RuntimeError("there is none")


class TestVariablesOfTheScript:
    def test_a_proxy_among_the_variables_does_not_end_capture(self, watched):
        """Variables are searched for ids and schedules."""
        users, items = nn.Embedding(4, 2), nn.Embedding(8, 2)
        denoiser = Denoiser()
        tuned = torch.optim.SGD([*users.parameters(), *items.parameters(), *denoiser.parameters()])
        with watched() as seen:
            nothing = Proxy()
            for _ in range(12):
                ids, noise = torch.randint(4, (6,)), torch.randn(6, 2)
                scores = (users(ids) * items(ids)).sum()
                predicted = denoiser(torch.randn(6, 2), torch.randint(20, (6,)))
                (scores + nn.functional.mse_loss(predicted, noise)).backward()
                tuned.step()
                tuned.zero_grad()
            assert type(nothing) is Proxy

        assert 12 == len(seen.trial.steps("TRAIN"))

    def test_what_the_script_deletes_is_gone(self, watched):
        """Its memory is needed, and processes that train together wait for it to go."""
        with watched() as seen:
            denoiser = Denoiser()
            tuned = torch.optim.SGD(denoiser.parameters())
            for _ in range(12):
                noise = torch.randn(6, 2)
                predicted = denoiser(torch.randn(6, 2), torch.randint(20, (6,)))
                loss = nn.functional.mse_loss(predicted, noise)
                loss.backward()
                tuned.step()
                tuned.zero_grad()
            deleted = weakref.ref(denoiser)
            del denoiser, tuned, predicted, loss
            gc.collect()

            assert deleted() is None
        assert 12 == len(seen.trial.steps("TRAIN"))

    def test_its_own_locals_stay_as_they_were(self, watched):
        """As those that a script keeps as its settings."""
        with watched():
            width = 2
            settings = locals()
            denoiser = Denoiser()
            tuned = torch.optim.SGD(denoiser.parameters())
            for _ in range(12):
                noise = torch.randn(6, width)
                predicted = denoiser(torch.randn(6, 2), torch.randint(20, (6,)))
                nn.functional.mse_loss(predicted, noise).backward()
                tuned.step()
                tuned.zero_grad()

            assert {"self", "watched", "width"} == set(settings)


class Denoiser(nn.Module):
    """Predicts the noise in what it is given, at steps of a schedule."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x, t):
        return self.layer(x) + 0 * t[:, None]
