"""What tensors are called."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.hooks.torch.trainings import X, Y, fit, inputs, mlp, sgd

PARAMETERS = ["0.bias", "0.weight", "2.bias", "2.weight"]


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x)


class Whole(nn.Module):
    """Two parts, of which one may be replaced."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = Part()
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.first(x))


class OptimizedModule(nn.Module):
    """What ``torch.compile(model)`` returns, without the compiler."""

    def __init__(self, model):
        super().__init__()
        self._orig_mod = model

    def forward(self, x):
        return self._orig_mod(x)


class DistributedDataParallel(nn.Module):
    """What DDP looks like from outside, without processes."""

    def __init__(self, model):
        super().__init__()
        self.module = model

    def forward(self, x):
        return self.module(x)


def weights(watched):
    return watched.trial.tensor_names(collection="weights")


class TestNames:
    def test_those_of_the_first_model_are_its_own_paths(self, watched):
        """``model.named_parameters()`` and ``named_modules()`` say the same names."""
        with watched() as seen:
            fit(mlp())

        assert PARAMETERS == weights(seen)
        assert ["output/0", "output/1", "output/2", "output/Sequential"] == (
            seen.trial.tensor_names(collection="outputs")
        )

    def test_those_of_further_models_begin_with_their_class(self, watched):
        """Two models have no name in common; two of one class are numbered."""
        first, second, third = Whole(), Part(), Part()
        with watched() as seen:
            optimizer = sgd(first, second, third)
            for _ in range(2):
                optimizer.zero_grad()
                F.mse_loss(first(second(third(X))), Y).backward()
                optimizer.step()

        prefixes = {"", "Part_2.", "Whole.first."}  # in the order in which they ran
        assert {f"{prefix}fc.weight" for prefix in prefixes} < set(weights(seen))
        assert {"output/Part", "output/Whole", "output/Part_2"} < set(seen.trial.tensor_names())

    def test_a_teacher_that_runs_first_does_not_take_the_plain_names(self, watched):
        """They are those of the model that an optimizer holds."""
        student, teacher = mlp(), Whole()
        optimizer = sgd(student)
        with watched() as seen:
            for _ in range(2):
                with torch.no_grad():
                    target = teacher(X)
                optimizer.zero_grad()
                F.mse_loss(student(X), target).backward()
                optimizer.step()

        assert PARAMETERS == seen.trial.tensor_names(collection="weights")
        assert "output/Whole.first.fc" in seen.trial.tensor_names(collection="outputs")

    def test_a_model_that_is_validated_before_it_is_trained_has_its_plain_names(self, watched):
        """An optimizer holds it already."""
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            with torch.no_grad():
                model(X)
            optimizer.zero_grad()
            F.mse_loss(model(X), Y).backward()
            optimizer.step()

        assert "output/0" in seen.trial.tensor_names(collection="outputs")

    def test_wrappers_leave_no_trace(self, watched):
        """DDP and compile add prefixes to every path; names are those of the model within."""
        for wrap in (OptimizedModule, DistributedDataParallel,
                     lambda model: DistributedDataParallel(OptimizedModule(model))):  # fmt: skip
            with watched() as seen:
                fit(wrap(mlp()))

            assert PARAMETERS == weights(seen)
            assert "output/Sequential" in seen.trial.tensor_names()

    def test_a_part_called_alone_keeps_its_name(self, watched):
        """An encoder that is also used by itself is no further model."""
        model = Whole()
        with watched() as seen:
            fit(model, each=lambda step: model.first(X))

        assert 4 == len(weights(seen))
        assert {"output/first", "output/first.fc"} < set(seen.trial.tensor_names())

    def test_a_part_that_is_replaced_in_training_passes_its_name_on(self, watched):
        """``model.head = nn.Linear(...)`` in the middle: the series go on."""
        model = Whole()
        with watched() as seen:
            fit(model)
            model.head = nn.Linear(4, 1)
            fit(model)

        assert ["first.fc.bias", "first.fc.weight", "head.bias", "head.weight"] == weights(seen)
        assert 6 == len(seen.series("output/head")) == len(seen.series("gradient/head.weight"))

    def test_tied_weights_have_one_name(self, watched):
        """A matrix that is embedding and head is one parameter."""

        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(7, 4)
                self.head = nn.Linear(4, 7, bias=False)
                self.head.weight = self.embed.weight

            def forward(self, tokens):
                return self.head(self.embed(tokens))

        model = Tied()
        optimizer = sgd(model)
        with watched() as seen:
            model(torch.arange(7)).square().mean().backward()
            optimizer.step()

        assert ["embed.weight"] == weights(seen)
        assert "capturing 1 of 1 parameters, 3 of 3 outputs" == seen.end.coverage

    @pytest.mark.slow
    def test_models_that_run_only_inside_a_compiled_function_are_found(self, watched):
        """No hook is called in there; the graph tells which model it is of."""
        model = mlp()
        loss = torch.compile(lambda x, y: F.mse_loss(model(x), y), backend="aot_eager")
        optimizer = sgd(model)
        with watched() as seen:
            for _ in range(2):
                optimizer.zero_grad()
                loss(X, Y).backward()
                optimizer.step()

        assert PARAMETERS == weights(seen)
        assert ["loss/mse_loss"] == seen.losses

    def test_parameters_of_no_module_are_named_by_their_optimizer(self, watched):
        """A bare tensor can be trained, too."""
        weight = torch.ones(4, 1, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.1)
        with watched() as seen:
            for _ in range(2):
                optimizer.zero_grad()
                F.mse_loss(X @ weight, Y).backward()
                optimizer.step()

        assert ["optimizer/0/0/0"] == weights(seen)

    def test_models_that_come_and_go_are_told_apart(self, watched):
        """Each fold of a cross-validation trains a new model, maybe where the last one lay."""
        with watched() as seen:
            for fold in range(4):
                model = nn.Sequential(nn.Linear(4, 1 + fold), nn.Linear(1 + fold, 1))
                fit(model, steps=2)
                del model

        shapes = {name: info.shape for name, info in seen.infos().items()}
        assert (4, 4) == shapes["Sequential_4.0.weight"]
        assert {"TRAIN": 8} == seen.counts
        assert {0.0} == set(seen.series("optimizer/stale_gradients"))
        for name in ("0.weight", "Sequential_3.1.bias", "output/Sequential_2.0"):
            assert 2 == len(seen.series(name))

    def test_outputs_of_several_tensors_are_named_by_their_place(self, watched):
        """Tuples, dictionaries and dataclasses are looked into."""

        class Several(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 1)

            def forward(self, x):
                return {"logits": self.fc(x), "more": (x, [x + 1])}

        model = Several()
        with watched() as seen:
            fit(model, loss=lambda out, y: F.mse_loss(out["logits"], y))

        root = "output/Several"
        assert [f"{root}/logits", f"{root}/more/0", f"{root}/more/1/0", "output/fc"] == (
            seen.trial.tensor_names(collection="outputs")
        )

    def test_only_the_model_that_was_given_is_looked_at(self, watched):
        """``TorchHook(model)`` sees neither another model nor another optimizer."""
        model, other = mlp(), Whole()
        with watched(model=model) as seen:
            mine, its = sgd(model), sgd(other)
            for _ in range(3):
                fit(other, its, steps=1)
                fit(model, mine, steps=1)

        assert PARAMETERS == weights(seen)
        assert {"TRAIN": 3} == seen.counts
        assert "capturing 4 of 4 parameters, 4 of 4 outputs" == seen.end.coverage

    def test_lazy_modules_are_named_once_they_have_a_shape(self, watched):
        """A lazy layer has parameters without a shape until its first forward."""
        model = nn.Sequential(nn.LazyLinear(8), nn.Linear(8, 1))
        model.later = nn.Identity()
        with watched() as seen:
            model(inputs(2, 4))
            fit(model)

        assert (8, 4) == seen.infos()["0.weight"].shape
