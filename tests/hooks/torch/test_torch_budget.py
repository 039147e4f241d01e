"""A budget: most steps of a training are observed by their losses only."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from itertools import chain

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from stepwatch.judge.engine import watch
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd
from tests.support.rules.supervision_programs import END, PAD, ended, trains


def steps_of(seen, name):
    return seen.trial.tensor(name).steps("TRAIN")


class TestThinSteps:
    def test_every_loss_is_stored_and_all_else_of_full_steps(self, every_fifth):
        with every_fifth() as seen:
            losses = fit(mlp(), steps=12)

        assert losses == seen.series("loss/mse_loss")
        assert [*range(12)] == steps_of(seen, "learning_rate/0")
        for name in ("0.weight", "gradient/0.weight", "output/0", "loop/backwards", "batch/0"):
            assert [0, 1, 5, 10] == steps_of(seen, name), name

    def test_a_loss_computed_inside_of_a_model_has_one_name_at_every_step(self, every_fifth):
        """As in Transformers, whose models make a module of the loss each time."""

        class Scored(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = mlp()

            def forward(self, x):
                return nn.MSELoss()(self.inner(x), Y)

        with every_fifth() as seen:
            losses = fit(Scored(), steps=12, loss=lambda loss, _: loss)

        assert losses == seen.series("loss/MSELoss")
        assert ["loss/MSELoss"] == seen.trial.tensor_names(collection="losses")

    def test_the_model_itself_is_seen_to_run_in_a_full_step_after_thin_ones(self, every_fifth):
        """Not only the modules inside of it: its own function may drop in evaluation, too."""

        class Dropping(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = mlp()

            def forward(self, x):
                return self.inner(nn.functional.dropout(x, 0.1))

        model = Dropping()
        with every_fifth() as seen:
            fit(model, steps=4)
            with torch.no_grad():
                model.eval()(X)

        assert [1.0] == seen.series("loop/modules_left_on", mode="EVAL")

    def test_where_evaluations_begin_is_stored_of_every_step(self, every_fifth):
        """Two loaders of four batches each, after each training step."""
        data, model = TensorDataset(X), mlp()
        with every_fifth() as seen:
            for _ in range(4):
                fit(model.train(), steps=1)
                for (x,) in chain(DataLoader(data, 4), DataLoader(data, 4)):
                    with torch.no_grad():
                        model.eval()(x)

        begins = seen.trial.tensor("evaluation/number")
        assert [*range(0, 32, 4)] == begins.statistics("EVAL").mode_steps.tolist()
        assert [1, 2] * 4 == seen.series("evaluation/number")
        assert len(seen.series("loop/step_seconds", mode="EVAL")) < 32

    def test_the_training_is_the_one_it_would_have_been(self, every_fifth):
        """Losses and parameters are the same bit for bit."""
        plain, observed = mlp(), mlp()
        losses = fit(plain, steps=12)
        with every_fifth():
            assert losses == fit(observed, steps=12)
        for one, other in zip(plain.parameters(), observed.parameters(), strict=True):
            assert torch.equal(one, other)

    def test_a_full_step_has_the_time_of_that_step_alone(self, every_fifth, monkeypatch):
        """However many went by unobserved; each step takes three seconds of this clock."""
        now = [100.0]
        monkeypatch.setattr("stepwatch.hooks.torch.collectors.loop.perf_counter", lambda: now[0])

        def takes_three_seconds(x, y):
            now[0] += 3
            return nn.functional.mse_loss(x, y)

        with every_fifth() as seen:
            fit(mlp(), steps=12, loss=takes_three_seconds)

        assert [1, 5, 10] == steps_of(seen, "loop/step_seconds")
        assert [3.0, 3.0, 3.0] == seen.series("loop/step_seconds")

    def test_requested_collections_are_saved_in_every_step(self, every_fifth):
        with every_fifth(policy=["gradients"]) as seen:
            fit(mlp(), steps=8)

        assert [*range(8)] == steps_of(seen, "gradient/0.weight")
        assert [0, 1, 5] == steps_of(seen, "0.weight")

    def test_what_the_script_saves_is_in_every_step(self, every_fifth):
        """Saved after the optimizer's step it is of that step if that is held."""
        with every_fifth() as seen:
            fit(mlp(), steps=8, each=lambda step: seen.hook.save_scalar("mine", step))

        first = 0 if every_fifth.holds else 1
        assert [*range(first, first + 8)] == steps_of(seen, "scalar/mine")

    def test_evaluations_are_thinned_as_well(self, every_fifth):
        with every_fifth() as seen:
            model = mlp()
            fit(model, steps=3)
            model.eval()
            with torch.no_grad():
                for _ in range(11):
                    model(X)

        # Of data that are new the first four, then every fifth.
        assert [0, 1, 2, 3, 5, 10] == list(seen.trial.tensor("output/0").steps("EVAL"))

    @pytest.mark.parametrize("is_loaded", [True, False])
    def test_an_evaluation_of_other_data_is_observed(self, every_fifth, is_loaded):
        """As of the test set once a training is over, which may be prepared in another way."""
        model, other = mlp(), X[:3] + 7

        def evaluate(x):
            for one in DataLoader(TensorDataset(x), len(x)) if is_loaded else [[x]]:
                with torch.no_grad():
                    model.eval()(*one)

        with every_fifth() as seen:
            for _ in range(6):
                fit(model.train(), steps=1)
                evaluate(X)
            evaluate(other)

        assert other.mean().item() == pytest.approx(seen.series("batch/0", mode="EVAL")[-1])

    def test_a_full_step_is_one_to_its_end_whatever_is_evaluated_in_it(self, every_fifth):
        """Such as a target network, whose evaluations are thinned by a count of their own."""
        teacher = mlp().eval()

        def evaluates(prediction, y):
            with torch.no_grad():
                for _ in range(3):
                    teacher(X)
            return nn.functional.mse_loss(prediction, y)

        with every_fifth() as seen:
            fit(mlp(), steps=12, loss=evaluates)

        # The first evaluation asks for two full steps more.
        assert [0, 1, 2, 5, 10] == steps_of(seen, "gradient/0.weight")
        assert [0, 1, 2, 5, 10] == steps_of(seen, "loop/loss_weight")

    def test_a_loss_that_is_not_finite_has_the_rest_of_its_step_observed(self, every_fifth):
        """And the operation that made it so, and the steps after it."""

        class Spoiled(nn.Module):
            def forward(self, x):
                calls.append(1)
                return torch.log(torch.tanh(x) + 2 - 5 * (len(calls) == 8))

        calls = []
        model = nn.Sequential(nn.Linear(4, 4), Spoiled(), nn.Linear(4, 1))
        with every_fifth() as seen:
            fit(model, steps=10)

        assert [0, 1, 5, 7, 8, 9] == steps_of(seen, "gradient/0.weight")
        assert [7] == steps_of(seen, "output/log (before 2)")
        assert [7] == steps_of(seen, "input/log (before 2)")
        (finding,) = watch(seen.trial, "non_finite_origin", follow=False)
        assert "NaN arises in log (before 2), from finite inputs and parameters" in finding.message

    def test_a_script_whose_saved_tensors_raise_is_observed_all_the_same(self, every_fifth):
        """They do when the graph is searched, and not in the backward pass after it."""

        def unpack(tensor):
            unpacked.append(1)
            if len(unpacked) == 1:
                raise ValueError("not now")
            return tensor

        unpacked = []
        with every_fifth() as seen:
            model = mlp()
            fit(model, steps=7)
            with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
                fit(model, steps=1, loss=lambda x, y: nn.functional.mse_loss(x / 0, y))
            fit(model, steps=2)

        assert [7] == steps_of(seen, "loss/mse_loss_1")
        assert [0, 1, 5, 7, 8, 9] == steps_of(seen, "gradient/0.weight")

    def test_gradients_that_are_not_finite_are_observed(self, every_fifth):
        """Weights are nan after step 7, and so is the loss of step 8."""

        def spoil(x, y):
            calls.append(1)
            return nn.functional.mse_loss(x, y) * (float("nan") if len(calls) == 8 else 1)

        calls = []
        with every_fifth() as seen:
            fit(mlp(), steps=12, loss=spoil)

        assert [0, 1, 5, 7, 8, 9, 10, 11] == steps_of(seen, "gradient/0.weight")

    def test_snapshots_are_kept_when_they_are_due(self, every_fifth):
        with every_fifth(snapshot_every=3) as seen:
            fit(mlp(), steps=8)

        assert [0, 1, 3, 5, 6] == steps_of(seen, "0.weight")

    def test_stale_gradients_are_no_longer_counted_over_a_gap(self, every_fifth):
        """A script that does zero its gradients is not said to forget it."""
        with every_fifth() as seen:
            fit(mlp(), steps=12)

        assert {0.0} == set(seen.series("optimizer/stale_gradients"))

    def test_gradients_that_nobody_zeroed_are_counted_or_not_known(self, every_fifth):
        """After steps that nobody looked at they are never said to be zero."""
        with every_fifth() as seen:
            model = mlp()
            optimizer = sgd(model, lr=0.01)
            for _ in range(12):
                nn.functional.mse_loss(model(X), Y).backward()
                optimizer.step()

        counts = seen.series("optimizer/stale_gradients")
        assert [0, 4] == counts[:2]
        assert {4.0} == set(counts[1:])

    def test_another_model_is_observed_in_full_where_it_begins(self, every_fifth):
        """Such as the copy that is adapted to a task, which the script updates by hand."""
        models = [mlp() for _ in range(3)]
        with every_fifth() as seen:
            for model in models:
                for _ in range(32):
                    model.zero_grad()
                    model(X).square().mean().backward()
                    with torch.no_grad():
                        for one in model.parameters():
                            one -= 0.01 * one.grad

        for begins, name in ((32, "Sequential_2"), (64, "Sequential_3")):
            assert {begins + 1, begins + 2} <= {*steps_of(seen, f"gradient/{name}.0.weight")}

    def test_two_optimizers_share_the_steps(self, every_fifth):
        with every_fifth() as seen:
            first, second = mlp(), mlp()
            one, other = sgd(first), sgd(second)
            for _ in range(8):
                for model, optimizer in ((first, one), (second, other)):
                    optimizer.zero_grad()
                    model(X).square().mean().backward()
                    optimizer.step()

        assert {"TRAIN": 8} == seen.counts
        assert [0, 1, 5] == steps_of(seen, "gradient/0.weight")


class TestOnlyModel:
    """Where one model is all that ever ran, torch calls one hook in a thin step, before it."""

    @pytest.mark.parametrize("steps", [8, 10])
    def test_it_is_gone_when_the_script_deletes_it(self, every_fifth, steps):
        """Before another one runs: its memory is needed."""
        with every_fifth() as seen:
            model = mlp()
            fit(model, steps=steps)
            deleted = weakref.ref(model)
            del model
            gc.collect()
            assert deleted() is None

            fit(mlp(), steps=12)
        assert steps + 12 == len(seen.series("loss/mse_loss"))

    def test_no_copy_and_no_pickle_has_it(self, every_fifth):
        with every_fifth():
            model = mlp()
            fit(model, steps=8)
            own = [
                one._forward_pre_hooks
                for one in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)))
            ]

        assert [{}, {}] == own == [model._forward_pre_hooks] * 2

    @pytest.mark.parametrize(
        "export",
        [torch.jit.script, lambda model: torch.jit.trace(model, X)],
        ids=["script", "trace"],
    )
    def test_a_model_is_exported_as_it_is(self, every_fifth, export):
        with every_fifth():
            model = mlp()
            fit(model, steps=8)
            exported = export(model)

        assert torch.equal(model(X), exported(X))

    def test_a_shallow_copy_is_seen_once(self, every_fifth):
        with every_fifth() as seen:
            model = mlp()
            fit(model, steps=8)
            copied = copy.copy(model)
            fit(model, steps=1)
            with torch.no_grad():
                nn.functional.mse_loss(copied(X), Y)
                nn.functional.mse_loss(copied(X), Y)

        assert {"TRAIN": 9, "EVAL": 2} == seen.counts

    def test_hooks_that_a_script_adds_and_removes_are_its_own(self, every_fifth):
        called = []
        with every_fifth():
            model = mlp()
            first = model.register_forward_pre_hook(lambda *_: called.append(1))
            fit(model, steps=8)
            first.remove()
            second = model.register_forward_pre_hook(lambda *_: called.append(2))
            fit(model, steps=9)
        second.remove()
        fit(model, steps=2)

        assert [1] * 8 + [2] * 9 == called

    def test_a_loss_that_is_a_module_keeps_its_name(self, every_fifth):
        criterion = nn.MSELoss()
        with every_fifth() as seen:
            losses = fit(mlp(), steps=12, loss=criterion)

        assert losses == seen.series("loss/MSELoss")
        assert ["loss/MSELoss"] == seen.trial.tensor_names(collection="losses")

    def test_a_loss_of_the_script_s_own_keeps_its_name(self, every_fifth):
        class Twice(nn.modules.loss._Loss):
            def forward(self, one, other):
                return nn.functional.mse_loss(one, other) + nn.functional.l1_loss(one, other)

        with every_fifth() as seen:
            losses = fit(mlp(), steps=12, loss=Twice())

        assert losses == seen.series("loss/Twice")

    def test_another_model_that_is_evaluated_is_seen_from_its_first_loss_on(self, every_fifth):
        """Of its first batch nothing is known; no loss of it is taken for one of training."""
        with every_fifth() as seen:
            model = mlp()
            fit(model, steps=7)
            averaged = copy.deepcopy(model)
            with torch.no_grad():
                for _ in range(3):
                    nn.functional.mse_loss(averaged(X), Y)
            losses = fit(model, steps=4)

        assert seen.counts["TRAIN"] == 11
        assert seen.counts["EVAL"] in (2, 3)
        trained = seen.trial.tensor("loss/mse_loss").statistics(mode="TRAIN")
        assert losses == trained["mean"].tolist()[-4:]
        assert {1} == {*trained["count"].tolist()}


class TestModelWhileItRuns:
    """Inside of a model no hooks are called in thin steps; the model is as it was."""

    def test_it_can_be_copied_and_pickled(self, every_fifth):
        def keep(*_):
            for one in model:
                one._forward_pre_hooks.clear()
            copies.append(copy.deepcopy(model))
            copies.append(pickle.loads(pickle.dumps(model)))

        copies = []
        with every_fifth() as seen:
            model = mlp()
            optimizer = sgd(model)
            for _ in range(8):
                optimizer.zero_grad()
                model[0].register_forward_pre_hook(keep)
                nn.functional.mse_loss(model(X), Y).backward()
                optimizer.step()

        assert 16 == len(copies)
        assert {tuple(Y.shape)} == {tuple(one(X).shape) for one in copies}
        assert [0, 1, 5] == steps_of(seen, "output/0")

    def test_a_hook_that_the_script_adds_inside_stays(self, every_fifth):
        class Adds(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.num_runs = nn.Linear(4, 1), 0

            def forward(self, x):
                self.num_runs += 1
                if self.num_runs == 5:
                    self.register_forward_hook(lambda *_: called.append(self.num_runs))
                return self.layer(x)

        called = []
        with every_fifth():
            fit(Adds(), steps=8)

        assert [5, 6, 7, 8] == called


def test_what_observing_took_is_in_the_note_at_the_end(watched):
    with watched(budget=0.5) as seen:
        fit(mlp(), steps=30)

    assert seen.end.cost > 0


class TestAnotherOptimizer:
    def test_the_steps_after_its_first_are_observed_in_full(self, every_fifth):
        """So that rules see what it holds, however rare full steps are by then."""
        with every_fifth() as seen:
            fit(mlp(), steps=30)
            second = mlp()
            fit(second, steps=30)

        later = [step for step in steps_of(seen, "Sequential_2.0.weight") if 30 <= step < 40]
        assert [*range(30, 40)] == later


class TestThawed:
    @pytest.mark.parametrize("held", [True, False], ids=["given", "forgotten"])
    def test_the_steps_after_layers_are_thawed_are_observed_in_full(self, every_fifth, held):
        """Only where no optimizer holds them; else training goes on as it was."""
        model = mlp()
        first, *others = model.parameters()
        first.requires_grad_(requires_grad=False)
        optimizer = torch.optim.SGD([*others, first] if held else others, lr=0.1)
        with every_fifth() as seen:
            for step in range(40):
                if step == 21:
                    first.requires_grad_()
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(X), Y).backward()
                optimizer.step()
        steps = steps_of(seen, "0.weight")

        assert held is not ([*range(21, 24)] == [one for one in steps if 21 <= one < 24])


@pytest.mark.parametrize(("pad", "expected"), [(END, [10, 20, 30, 40, 50, 60]), (PAD, [50])])
def test_where_last_tokens_are_no_targets_more_samples_are_looked_at(every_fifth, pad, expected):
    """They tell whether a model ever learns to end; of two batches they may be too few."""
    with every_fifth() as seen:
        seen.hook.recorder.budget.period = 1000
        trains(ended(pad, size=4), steps=80)

    assert [0, *expected] == steps_of(seen, "supervision/cross_entropy")
