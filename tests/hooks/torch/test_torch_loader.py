"""How long a script waits for its data loaders."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset, dataloader

from stepwatch.hooks.torch import patches
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd


class Clock:
    """A clock that moves only when it is told to."""

    now = 100.0

    def __call__(self):
        return self.now


class Slow(Dataset):
    """A data set each of whose samples takes a second of a clock."""

    def __init__(self, clock):
        self.clock = clock

    def __len__(self):
        return len(X)

    def __getitem__(self, place):
        self.clock.now += 1
        return X[place], Y[place]


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(patches, "perf_counter", clock)
    monkeypatch.setattr("stepwatch.hooks.torch.collectors.loop.perf_counter", clock)
    return clock


def train(batches, clock, *, seconds=3.0):
    model = mlp()
    optimizer = sgd(model)
    for x, y in batches:
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()
        clock.now += seconds


def waits(seen, mode="TRAIN"):
    return seen.series("loop/data_wait_seconds", mode=mode)


class TestWaits:
    def test_a_wait_belongs_to_the_step_of_its_batch(self, watched, clock):
        """The first step has no time, for nothing says when it began."""
        with watched() as seen:
            train(DataLoader(Slow(clock), 4), clock)

        assert [4.0] * 3 == waits(seen)
        assert [7.0] * 3 == seen.series("loop/step_seconds")

    def test_by_hand_it_is_the_same(self, watched, clock):
        """With ``next``."""
        batches = iter(DataLoader(Slow(clock), 8))
        with watched() as seen:
            train([next(batches)], clock)
            train([next(batches)], clock)

        assert [8.0] == waits(seen)

    def test_a_loader_within_a_loader_is_waited_for_once(self, watched, clock):
        """The inner one is part of the outer one's wait."""

        class Outer(torch.utils.data.IterableDataset):
            def __iter__(self):
                for x, y in DataLoader(Slow(clock), 1):
                    yield x[0], y[0]

        with watched() as seen:
            train(DataLoader(Outer(), 8), clock)

        assert [8.0] == waits(seen)

    def test_without_a_loader_nothing_is_said(self, watched):
        """A script that reads its data itself may wait for it, unseen."""
        with watched() as seen:
            fit(mlp())

        assert 2 == len(seen.series("loop/step_seconds"))
        assert "loop/data_wait_seconds" not in seen.trial.tensor_names()

    def test_a_validation_has_its_own(self, watched, clock):
        """Neither its waits nor its time are in a TRAIN step."""
        model = mlp()
        with watched() as seen:
            for _ in range(2):
                fit(model.train(), steps=2)
                clock.now += 5
                with torch.no_grad():
                    for x, _ in DataLoader(Slow(clock), 8):
                        model.eval()(x)
                        clock.now += 1

        assert [13.0, 9.0] * 2 == seen.series("loop/step_seconds", mode="EVAL")
        assert [8.0] * 4 == waits(seen, "EVAL")
        assert 0.0 == waits(seen)[-1]

    @pytest.mark.slow
    def test_workers_are_waited_for_and_left_alone(self, watched):
        """They are processes of their own, in which nothing is heard."""
        batches = DataLoader(TensorDataset(X, Y), 4, num_workers=2)
        with watched() as seen:
            for x, y in batches:
                fit(mlp(), steps=1, loss=lambda out, _, x=x, y=y: ((out - Y) ** 2).mean())
                assert x.shape[0] == y.shape[0] == 4

        assert all(0 <= wait < 60 for wait in waits(seen))
        assert 3 == len(waits(seen))


class TestEpochs:
    def test_an_epoch_is_once_through_the_data(self, watched, clock):
        """Four batches each; at its first batch none of an epoch is over."""
        loader = DataLoader(Slow(clock), 4)
        with watched() as seen:
            for _ in range(2):
                train(loader, clock)

        quarters = [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75]
        assert quarters == seen.series("loop/epoch")

    def test_a_validation_between_is_none_of_it(self, watched, clock):
        """Be it of the same data."""
        data = Slow(clock)
        loader, others = DataLoader(data, 8), DataLoader(data, 2)
        with watched() as seen:
            for _ in range(2):
                train(loader, clock)
                for _ in others:
                    pass

        assert [0.0, 0.5, 1.0, 1.5] == seen.series("loop/epoch")

    def test_workers_that_are_kept_begin_again(self, watched):
        """One iterator gives several epochs."""
        data = TensorDataset(X, Y)
        loader = DataLoader(data, 8, num_workers=1, persistent_workers=True)
        with watched() as seen:
            for _ in range(2):
                train(loader, Clock())

        assert [0.0, 0.5, 1.0, 1.5] == seen.series("loop/epoch")

    def test_without_a_loader_there_is_none(self, watched):
        with watched() as seen:
            train([(X, Y)], Clock())

        assert "loop/epoch" not in seen.trial.tensor_names()


def evaluate(model, batches):
    model.eval()
    with torch.no_grad():
        for x, y in batches:
            ((model(x) - y) ** 2).mean()


def passes(seen):
    """Return which evaluation began at which EVAL step."""
    if "evaluation/number" not in seen.trial.tensor_names():
        return {}
    series = seen.trial.tensor("evaluation/number").statistics("EVAL")
    return dict(zip(series.mode_steps.tolist(), series["mean"].tolist(), strict=True))


class TestPasses:
    def test_each_loader_that_is_evaluated_is_a_pass(self, watched):
        """After the same training; after more of it they are counted anew."""
        data, model = TensorDataset(X, Y), mlp()
        with watched() as seen:
            for _ in range(2):
                fit(model.train(), steps=2)
                evaluate(model, DataLoader(data, 8))
                evaluate(model, DataLoader(data, 8))

        assert {0: 1, 2: 2, 4: 1, 6: 2} == passes(seen)

    def test_workers_that_are_kept_begin_another(self, watched):
        """One iterator gives both passes."""
        data, model = TensorDataset(X, Y), mlp()
        loader = DataLoader(data, 8, num_workers=1, persistent_workers=True)
        with watched() as seen:
            fit(model, steps=1)
            evaluate(model, loader)
            evaluate(model, loader)

        assert {0: 1, 2: 2} == passes(seen)

    def test_the_loader_of_the_training_is_one_when_it_is_begun_for_that(self, watched):
        """How well it fits what it was trained on, then how well it fits other data."""
        data, model = TensorDataset(X, Y), mlp()
        trained, held_out = DataLoader(data, 8), DataLoader(data, 4)
        with watched() as seen:
            train(trained, Clock())
            fit(model, steps=1)
            evaluate(model, trained)
            evaluate(model, held_out)

        assert {0: 1, 2: 2} == passes(seen)

    def test_of_batches_that_come_from_no_loader_nothing_is_said(self, watched):
        """Nor of those that one gave before it was trained."""
        model = mlp()
        with watched() as seen:
            batches = [*DataLoader(TensorDataset(X, Y), 8)]
            fit(model, steps=1)
            evaluate(model, batches)
            evaluate(model, batches)

        assert {} == passes(seen)


class TestUnharmed:
    def test_batches_are_the_very_ones(self, watched):
        """And an end is an end, again and again."""
        batches = DataLoader(TensorDataset(X), 6)
        with watched():
            for _ in range(2):
                sizes = [len(x) for (x,) in batches]
                iterator = iter(batches)
                assert sizes == [len(next(iterator)[0]) for _ in range(3)]
                with pytest.raises(StopIteration):
                    next(iterator)

        assert [6, 6, 4] == sizes

    def test_what_a_data_set_raises_arrives(self, watched):
        """It is the script's."""

        class Broken(Slow):
            def __getitem__(self, place):
                raise RuntimeError("no such file")

        with watched(), pytest.raises(RuntimeError, match="no such file"):
            next(iter(DataLoader(Broken(None), 2)))

    def test_the_method_is_put_back(self, watched):
        """When the hook lets go."""
        before = vars(dataloader._BaseDataLoaderIter)["__next__"]
        with watched() as seen:
            assert before is not vars(dataloader._BaseDataLoaderIter)["__next__"]
            seen.hook.detach()
            assert before is vars(dataloader._BaseDataLoaderIter)["__next__"]
