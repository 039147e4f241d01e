"""How a training loop runs: its time, its passes, its modules, its schedules."""

from __future__ import annotations

import functools
import importlib
import math
import warnings
from itertools import chain

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.optim import lr_scheduler

from stepwatch.hooks.torch.collectors.loop import LossWeights, planned_steps
from stepwatch.hooks.torch.patches import scheduler_steps
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd

NET = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer({call})
"""


def dropping():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Dropout(0.0), nn.Linear(8, 1)
    )


def loop(seen, name, statistic="mean", mode="TRAIN"):
    return seen.series(f"loop/{name}", statistic, mode)


class TestGraphs:
    def test_graphs_of_losses_that_are_kept_are_counted(self, watched):
        """A loss in a list keeps the graph that it was computed by."""
        kept = []
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            for _ in range(3):
                loss = F.mse_loss(model(X), Y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                kept.append(loss)

        assert [2, 3] == loop(seen, "graphs")

    def test_gradients_that_no_optimizer_used_are_counted(self, watched):
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            for _ in range(2):
                for _ in range(3):
                    optimizer.zero_grad()
                    F.mse_loss(model(X), Y).backward()
                optimizer.step()

        assert [2, 2] == loop(seen, "backwards_lost")

    def test_an_ordinary_loop_has_neither(self, watched):
        """What is not said costs nothing."""
        with watched() as seen:
            fit(mlp())

        assert not {"loop/graphs", "loop/backwards_lost"} & set(seen.trial.tensor_names())


class TestModules:
    def test_those_whose_mode_matters_are_counted(self, watched):
        """Normalization over a batch, and dropout that drops anything."""
        with watched() as seen:
            fit(dropping())

        assert [2, 2, 2] == loop(seen, "modules")
        assert [0, 0, 0] == loop(seen, "modules_in_eval")

    def test_training_in_eval_mode_is_told(self, watched):
        """From the second step on it is known that this is training."""
        with watched() as seen:
            fit(dropping().eval())

        assert [2, 2] == loop(seen, "modules_in_eval")

    def test_one_that_is_frozen_is_one(self, watched):
        """As people freeze the normalization of a trained network."""
        model = dropping()
        model[1].eval()
        with watched() as seen:
            fit(model)

        assert [1, 1, 1] == loop(seen, "modules_in_eval")

    @pytest.mark.parametrize(("frozen", "expected"), [(True, []), (False, [2, 2, 2])])
    def test_a_frozen_part_in_eval_mode_is_left_out(self, frozen, expected, watched):
        """As the encoder of a linear probe; the one whose weights are trained is told."""
        encoder = dropping().eval().requires_grad_(not frozen)
        probe = nn.Sequential(encoder, nn.Linear(encoder(X).shape[1], 1))
        with watched() as seen:
            fit(probe)

        names = seen.trial.tensor_names()
        assert expected == (loop(seen, "modules_in_eval") if "loop/modules" in names else [])

    def test_evaluating_in_training_mode_is_told(self, watched):
        """Somebody forgot ``model.eval()``."""
        model = dropping()
        with watched() as seen, torch.no_grad():
            model(X)
            model.eval()(X)

        assert [2, 0] == loop(seen, "modules_in_train", mode="EVAL")

    @pytest.mark.parametrize(
        "what", ["same", "another", "changed", "normalizes", "trained between"]
    )
    def test_answers_that_are_samples_are_known_by_what_is_given_again(self, watched, what):
        """With dropout, and no normalization that goes by the batch."""
        torch.manual_seed(0)
        model = dropping() if what == "normalizes" else nn.Sequential(mlp(), nn.Dropout(0.5))
        x = X.clone()
        with watched() as seen:
            for _ in range(3):
                if what == "trained between":
                    fit(model, steps=1)
                with torch.inference_mode() if what == "inference" else torch.no_grad():
                    model(x.clone() if what in ("another", "inference") else x)
                if what == "changed":
                    x += 1

        if what == "normalizes":
            assert "loop/draws" not in seen.infos()
        else:
            expected = [0, 1, 1] if what == "same" else [0, 0, 0]
            assert expected == loop(seen, "draws", mode="EVAL")

    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            ("F.dropout(x, 0.5)", True),
            ("torch.nn.functional.dropout1d(input=x)", True),
            ("F.dropout(x, 0.5, self.training)", False),
            ("F.dropout(x, p=0.5, training=True)", False),  # Monte Carlo dropout
            ("F.dropout(x, p=0.5 if self.training else 0.0)", False),
            ("F.dropout(x, 0.5) if self.training else x", False),
            ("F.dropout(x, p=0.0)", False),
            ("nn.Dropout(0.5)(x)", False),
        ],
    )
    def test_functional_dropout_that_is_given_no_mode_is_left_on(
        self, watched, tmp_path, monkeypatch, call, expected
    ):
        name = f"net_{abs(hash(call))}"
        (tmp_path / f"{name}.py").write_text(NET.format(call=call))
        monkeypatch.syspath_prepend(tmp_path)
        model = importlib.import_module(name).Net()
        with watched() as seen:
            fit(model)
            model.eval()
            with torch.no_grad():
                model(X)

        assert expected is ("loop/modules_left_on" in seen.trial.tensor_names())

    @pytest.mark.parametrize(("with_buffers", "expected"), [(False, [1.0]), (True, [])])
    def test_batch_norm_of_a_copy_without_running_statistics_is_counted(
        self, watched, with_buffers, expected
    ):
        """As an average of weights that goes over parameters only."""
        model, average = dropping(), dropping().eval()
        with watched() as seen:
            with torch.no_grad():
                average(X)  # nothing is trained yet
            fit(model)
            with torch.no_grad():
                given = chain(average.parameters(), average.buffers() if with_buffers else ())
                for mine, trained in zip(
                    given, chain(model.parameters(), model.buffers()), strict=False
                ):
                    mine.copy_(trained)
                average(X)

        name = "loop/modules_unfilled"
        found = loop(seen, "modules_unfilled", mode="EVAL") if expected else []
        assert expected == found
        assert bool(expected) == (name in seen.trial.tensor_names())

    def test_micro_batches_are_no_more_modules(self, watched):
        """Each forward has its number, and they are merged."""
        model = dropping()
        optimizer = sgd(model)
        with watched() as seen:
            for part in (X[:8], X[8:]):
                model(part).sum().backward()
            optimizer.step()

        assert [2] == loop(seen, "modules")
        assert [2] == loop(seen, "backwards")

    def test_a_model_without_them_says_nothing(self, watched):
        """There is nothing to forget."""
        with watched() as seen:
            fit(mlp())

        assert "loop/modules" not in seen.trial.tensor_names()


class TestLossWeight:
    def test_it_is_how_much_of_a_loss_is_differentiated(self, watched):
        """However the script weighs it; whatever its value is."""
        for factor in (1.0, 0.25, -2.0):
            with watched() as seen:
                fit(mlp(), loss=lambda x, y, factor=factor: F.mse_loss(x, y) * factor)

            assert [factor] * 3 == loop(seen, "loss_weight")

    def test_those_of_micro_batches_add_up(self, watched):
        """To 1 if each is divided by their number."""
        for divisor, expected in ((4, 1.0), (1, 4.0)):
            model = mlp()
            optimizer = sgd(model)
            with watched() as seen:
                for _ in range(2):
                    for part in range(0, 16, 4):
                        loss = F.mse_loss(model(X[part : part + 4]), Y[part : part + 4])
                        (loss / divisor).backward()
                    optimizer.step()

            assert [expected] * 2 == loop(seen, "loss_weight")
            assert [4, 4] == loop(seen, "backwards")

    def test_the_scale_of_a_gradient_scaler_is_taken_out(self, watched):
        """It is divided out of the gradients, too."""
        model = mlp()
        optimizer, scaler = sgd(model), torch.amp.GradScaler("cpu", init_scale=1024.0)
        with watched() as seen:
            for _ in range(2):
                optimizer.zero_grad()
                scaler.scale(nn.MSELoss()(model(X), Y) / 2).backward()
                scaler.step(optimizer)
                scaler.update()

        assert [0.5, 0.5] == loop(seen, "loss_weight")

    def test_of_a_loss_written_by_hand_it_is_not_known(self, watched):
        """What was divided cannot be seen."""
        with watched() as seen:
            fit(mlp(), loss=lambda x, y: ((x - y) ** 2).mean() / 2, steps=1)

        assert math.isnan(loop(seen, "loss_weight")[0])
        assert [1] == loop(seen, "loss_weight", "nan")

    def test_a_gradient_penalty_is_no_part_of_it(self, watched):
        """``autograd.grad`` differentiates without training anything."""

        def loss(x, y):
            value = F.mse_loss(x, y)
            (slope,) = torch.autograd.grad(value, x, create_graph=True)
            return value + slope.square().sum()

        with watched() as seen:
            fit(mlp(), loss=loss, steps=1)
        assert 1.0 == pytest.approx(loop(seen, "loss_weight")[0])

    def test_a_loss_may_be_changed_in_place(self, watched):
        """And saved, as tutorials do: nothing of ours is on it."""
        values = []

        def loss(x, y):
            value = F.mse_loss(x, y)
            assert not value._backward_hooks
            value *= 0.5
            value += x.square().mean()
            values.append(value)
            return value

        with watched() as seen:
            fit(mlp(), loss=loss, steps=1)

        assert [0.5] == loop(seen, "loss_weight")


class TestCounts:
    def test_optimizer_steps_are_counted_from_the_first(self, watched):
        """Those that a scaler skips are none."""
        model = mlp()
        optimizer, scaler = sgd(model), torch.amp.GradScaler("cpu", init_scale=2.0)
        with watched() as seen:
            for step in range(3):
                optimizer.zero_grad()
                scaler.scale(F.mse_loss(model(X), Y * (torch.inf if step == 1 else 1))).backward()
                scaler.step(optimizer)
                scaler.update()

        assert [1, 1, 2] == loop(seen, "optimizer_steps")

    def test_schedules_are_counted_as_the_script_steps_them(self, watched):
        """Not what they do by themselves, when they are made and inside of each other."""
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            parts = [lr_scheduler.LinearLR(optimizer), lr_scheduler.ExponentialLR(optimizer, 0.9)]
            scheduler = lr_scheduler.SequentialLR(optimizer, parts, [2])
            plateau = lr_scheduler.ReduceLROnPlateau(optimizer)
            fit(model, optimizer, each=lambda _: (scheduler.step(), plateau.step(1.0)))

        assert [0, 2, 4] == loop(seen, "scheduler_steps")

    def test_steps_before_the_first_schedule_are_known(self, watched):
        """As of a model that was trained before it is tuned."""
        model = mlp()
        with watched() as seen:
            fit(model, sgd(model), steps=3)
            optimizer = sgd(model)
            for _ in range(2):
                scheduler = lr_scheduler.ConstantLR(optimizer)
                fit(model, optimizer, steps=2, each=lambda _, made=scheduler: made.step())

        assert [3] * 4 == loop(seen, "unscheduled_steps")

    def test_a_schedule_tells_what_it_is_made_for(self, watched):
        """Once it took a step."""
        model = mlp()
        optimizer = sgd(model)
        scheduler = lr_scheduler.CosineAnnealingLR(optimizer, 50)
        with watched() as seen:
            fit(model, optimizer, each=lambda _: scheduler.step())

        assert [50, 50] == loop(seen, "scheduler_total")

    @pytest.mark.parametrize(
        ("function", "expected"),
        [
            (lambda step: 0.1 * 0.9**step, [0.1] * 3),
            (lambda step: 0.1 * min(1.0, (step + 1) / 3), [0.1]),
            (lambda step: 0.9**step, []),
            (lambda step: (step + 1) / 10, [0.1]),  # a warm-up that only begins there
        ],
        ids=["a rate", "a rate after a warm-up", "a factor", "a warm-up"],
    )
    def test_a_function_that_returns_the_initial_rate_is_noted(self, watched, function, expected):
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with watched() as seen:
            scheduler = lr_scheduler.LambdaLR(optimizer, function)
            fit(model, optimizer, each=lambda _: scheduler.step())

        is_noted = "loop/rate_for_factor" in seen.trial.tensor_names()
        assert expected == (loop(seen, "rate_for_factor") if is_noted else [])

    def test_one_cycle_is_measured_by_where_its_warm_up_leads(self, watched):
        """It writes down what it starts from as well, a twenty-fifth of that."""
        model = mlp()
        optimizer = sgd(model)
        scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=0.5, total_steps=50)
        with watched() as seen:
            fit(model, optimizer, each=lambda _: scheduler.step())

        assert pytest.approx(1 / 25) == loop(seen, "scheduler_level")[0]

    def test_what_is_not_wanted_is_not_said(self, watched):
        """Nothing of the loop at all, at the steps where it is not."""
        with watched(policy="loop:statistics:every=2") as seen:
            fit(dropping(), steps=5)

        for name in ("modules", "backwards", "loss_weight", "optimizer_steps"):
            assert [0, 2, 4] == seen.trial.tensor(f"loop/{name}").steps("TRAIN")
        assert [1.0] * 3 == loop(seen, "loss_weight")
        assert [1.0] * 3 == loop(seen, "backwards")


class TestSchedulers:
    def test_what_each_is_made_for(self):
        """Of a function only if it says so, as those of transformers do."""

        def warm_up(step, *, num_training_steps):
            return step / num_training_steps

        optimizer = sgd(mlp())
        warming = functools.partial(warm_up, num_training_steps=70)
        expected = {
            lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=30): 30,
            lr_scheduler.CosineAnnealingLR(optimizer, 40): 40,
            lr_scheduler.LinearLR(optimizer, total_iters=60): 60,
            lr_scheduler.LambdaLR(optimizer, warming): 70,
            lr_scheduler.LambdaLR(optimizer, lambda _: 1.0): None,
            lr_scheduler.StepLR(optimizer, 10): None,
        }

        assert list(expected.values()) == [planned_steps(one) for one in expected]

    def test_they_do_as_they_would_and_are_put_back(self, watched):
        """The same learning rates; and no wrapper stays."""

        def rates():
            optimizer = sgd(mlp())
            scheduler = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3)
            optimizer.step()
            found = []
            for _ in range(7):
                scheduler.step()
                found.append(scheduler.get_last_lr())
            return found

        before, expected = [vars(kind)[name] for kind, name in scheduler_steps()], rates()
        with watched():
            assert expected == rates()

        assert before == [vars(kind)[name] for kind, name in scheduler_steps()]


class TestWarnings:
    def test_a_warning_of_a_schedule_names_the_line_of_the_script(self, watched):
        """As it would without us."""
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
        with (
            watched(),
            pytest.warns(UserWarning, match="before `optimizer.step") as told,
        ):
            schedule.step()

        assert [__file__] == [one.filename for one in told]


class TestDerivatives:
    def test_those_that_are_differentiated_again_are_read_without_a_word(self, watched):
        """Torch warns of a number that is taken from what has a history."""
        model, weight = mlp(), torch.ones((), requires_grad=True)
        with watched() as seen, warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "Using backward")  # of torch, about this very call
            optimizer = sgd(model)
            gradients = F.mse_loss(model(X), Y) * weight
            gradients.backward(create_graph=True)
            optimizer.step()

        assert [1.0] == loop(seen, "loss_weight")

    def test_batched_ones_are_not_known(self, watched):
        """Nothing can be read of them; training goes on."""
        model, z = mlp(), torch.ones(3, requires_grad=True)
        inner = F.mse_loss(z * 2, torch.zeros(3))
        found = []

        class Nested(torch.autograd.Function):
            @staticmethod
            def forward(ctx, value):
                return value.clone()

            @staticmethod
            def backward(ctx, gradient):
                three = torch.ones(3)
                found.append(
                    torch.autograd.grad(inner, z, three, is_grads_batched=True, retain_graph=True)
                )
                return gradient

        with watched():
            optimizer = sgd(model)
            Nested.apply(F.mse_loss(model(X), Y)).backward()
            optimizer.step()

        assert 1 == len(found)

    def test_a_graph_that_is_used_again_is_watched_once(self):
        """However often it is differentiated, nothing grows."""
        weights = LossWeights()
        loss = torch.ones(1, requires_grad=True).sum()
        weights.is_in_backward = True
        for _ in range(3):
            weights.watch(loss)
        loss.backward()

        assert 1.0 == weights.take(None)
