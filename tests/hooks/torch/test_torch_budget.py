"""A budget: most steps of a training are observed by their losses only."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from contextlib import suppress
from itertools import chain

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from stepwatch.capture import budget
from stepwatch.capture.recorder import Recorder
from stepwatch.hooks.torch.usual import UsualSteps
from stepwatch.judge.engine import watch
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd
from tests.support.rules.supervision_programs import END, PAD, ended, trains


@pytest.fixture(params=[True, False], ids=["held", "at-once"])
def every_fifth(request, watched, monkeypatch):
    """Return a function that hooks torch and observes every fifth step in full.

    Only steps that are handed on at once can go as usual; see ``hooks.torch.usual``.
    """
    monkeypatch.setattr(budget, "FULL_STEPS", 2)
    monkeypatch.setattr(budget, "START_S", 0.0)
    monkeypatch.setattr(budget, "_MEASURED", 10**9)  # the period stays as it is

    def watch(**options):
        seen = watched(budget=0.03, hold=request.param, **options)
        seen.hook.recorder.budget.period = 5
        return seen

    watch.holds = request.param
    return watch


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

        assert 4 == len(seen.trial.tensor("output/0").steps("EVAL"))  # 0, 1, 5 and 10 of EVAL

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


class TestUsualSteps:
    """Steps that go like those before are not taken apart; everything else still is."""

    @pytest.fixture
    def taken(self, every_fifth, monkeypatch):
        """Return how many numbers were taken of each step that went as usual."""
        found = []
        take = Recorder.take_scalars
        monkeypatch.setattr(
            Recorder,
            "take_scalars",
            lambda recorder, layout, values: (
                found.append(len(values)),
                take(recorder, layout, values),
            )[1],
        )
        return found

    @pytest.mark.parametrize("every_fifth", [False], indirect=True)
    def test_most_thin_steps_are(self, every_fifth, taken):
        with every_fifth() as seen:
            losses = fit(mlp(), steps=20)

        assert taken == [2] * sum(step > 1 and step % 5 != 0 for step in range(20))
        assert losses == seen.series("loss/mse_loss")

    @pytest.mark.parametrize("every_fifth", [False], indirect=True)
    @pytest.mark.parametrize("how", ["composed", "two models", "closure"])
    def test_so_are_steps_of_other_kinds(self, every_fifth, taken, how):
        """A loss that the script computes itself, of two models; gradients within the step."""
        with every_fifth() as seen:
            first, second = mlp(), mlp()
            models = [first, second] if how == "two models" else [first]
            optimizer = torch.optim.SGD([p for one in models for p in one.parameters()], lr=0.01)
            losses = []

            def compute():
                optimizer.zero_grad()
                outputs = [one(X) for one in models]
                if how == "closure":
                    loss = nn.functional.mse_loss(outputs[0], Y)
                else:
                    loss = sum((one - Y).square().mean() for one in outputs)
                loss.backward()
                losses.append(loss.item())
                return loss

            for _ in range(20):
                if how == "closure":
                    optimizer.step(compute)
                else:
                    compute()
                    optimizer.step()

        assert taken == [2] * sum(step > 1 and step % 5 != 0 for step in range(20))
        name = "loss/mse_loss" if how == "closure" else "loss/backward"
        assert losses == pytest.approx(seen.series(name))
        assert [*range(20)] == steps_of(seen, "learning_rate/0")
        assert [0, 1, 5, 10, 15] == steps_of(seen, "gradient/0.weight")

    @staticmethod
    def adversaries(steps, between=lambda step, second: None):
        """Train as a generator and its discriminator are; return the three losses of each step."""
        generator, discriminator = nn.Linear(4, 4), mlp()
        first, second = sgd(discriminator, lr=0.01), sgd(generator, lr=0.02)
        all_losses = []
        for step in range(steps):
            first.zero_grad()
            made = generator(X)
            real = nn.functional.mse_loss(discriminator(X), Y)
            fake = nn.functional.mse_loss(discriminator(made.detach()), Y)
            (real + fake).backward()
            first.step()
            between(step, discriminator)
            second.zero_grad()
            loss = nn.functional.mse_loss(discriminator(made), Y)
            loss.backward()
            second.step()
            all_losses.append((real.item(), fake.item(), loss.item()))
        return all_losses

    @pytest.mark.parametrize("every_fifth", [False], indirect=True)
    def test_so_are_steps_of_several_optimizers(self, every_fifth, taken):
        with every_fifth() as seen:
            losses = self.adversaries(20)

        assert taken == [5] * sum(step > 1 and step % 5 != 0 for step in range(20))
        names = ("loss/mse_loss", "loss/mse_loss_1", "loss/mse_loss_2")
        assert losses == [*zip(*map(seen.series, names), strict=True)]
        for number, rate in ((0, 0.01), (1, 0.02)):
            assert [rate] * 20 == pytest.approx(seen.series(f"learning_rate/{number}"))
        assert [0, 1, 5, 10, 15] == steps_of(seen, "gradient/Sequential.0.weight")

    @pytest.mark.parametrize("what", ["evaluates", "computes another loss", "is not finite"])
    def test_what_happens_between_two_optimizers_leaves_them_in_one_step(self, every_fifth, what):
        def between(step, discriminator):
            if step % 4 == 3 and what == "evaluates":
                discriminator.eval()
                with torch.no_grad():
                    nn.functional.mse_loss(discriminator(X), Y)
                discriminator.train()
            elif step % 4 == 3 and what == "computes another loss":
                nn.functional.l1_loss(discriminator(X), Y)
            elif step == 7 and what == "is not finite":
                with torch.no_grad():
                    discriminator[0].weight[0, 0] = float("nan")

        with every_fifth() as seen:
            losses = self.adversaries(12, between)

        assert 12 == seen.counts["TRAIN"]
        names = ("loss/mse_loss", "loss/mse_loss_1", "loss/mse_loss_2")
        for name, plain in zip(names, zip(*losses, strict=True), strict=True):
            assert list(plain) == pytest.approx(seen.series(name, mode="TRAIN"), nan_ok=True)
        for number in range(2):
            assert [*range(12)] == steps_of(seen, f"learning_rate/{number}")
        if what == "computes another loss":
            assert [3, 7, 11] == steps_of(seen, "loss/l1_loss")
        if what == "is not finite":
            assert {0, 1, 5, 8, 9, 10} <= {*steps_of(seen, "gradient/weight")}

    @pytest.mark.parametrize("calls", [0, 2])
    def test_a_closure_may_be_called_as_often_as_its_optimizer_wants(self, every_fifth, calls):
        class Picky(torch.optim.SGD):
            def step(self, closure=None):
                for _ in range(calls if self.is_picky else 1):
                    closure()
                super().step()

            is_picky = False

        with every_fifth() as seen:
            model = mlp()
            optimizer = Picky(model.parameters(), lr=0.01)

            def closure():
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(X), Y)
                loss.backward()
                return loss

            for step in range(12):
                optimizer.is_picky = step == 8
                optimizer.step(closure)

        assert [*range(12)] == steps_of(seen, "learning_rate/0")
        stored = [step for step in range(12) if calls or step != 8]
        assert stored == steps_of(seen, "loss/mse_loss")
        assert [0, 1, 5, 10] == steps_of(seen, "gradient/0.weight")

    def test_a_closure_that_raised_is_called_again(self, every_fifth):
        with every_fifth() as seen:
            model = mlp()
            optimizer = sgd(model)

            def closure():
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(X), Y)
                if len(tries) == 8:
                    tries.append(1)
                    raise ValueError("once more")
                loss.backward()
                return loss

            tries = []
            for _ in range(12):
                tries.append(1)
                with suppress(ValueError):
                    optimizer.step(closure)

        assert {"TRAIN": 11} == seen.counts
        assert 11 == len(steps_of(seen, "loss/mse_loss"))

    def test_listeners_are_given_all_steps_in_order(self, every_fifth):
        class Notes:
            def start(self, *_): ...
            def finish(self): ...
            def on_step(self, record):
                steps.append(record.step)

        steps = []
        with every_fifth(listeners=[Notes()]):
            fit(mlp(), steps=23)

        assert [*range(23)] == steps

    def test_steps_whose_losses_have_one_name_are_in_their_order_among_others(self, every_fifth):
        """As those of two critics, computed in one line."""

        class Notes:
            def start(self, *_): ...
            def finish(self): ...
            def on_step(self, record):
                steps.append(record.step)

        def twice(x, y):
            calls.append(1)
            times = 2 if len(calls) % 3 == 0 else 1
            return sum(nn.functional.mse_loss(x, y) for _ in range(times)) / times

        steps, calls = [], []
        with every_fifth(listeners=[Notes()]) as seen:
            losses = fit(mlp(), steps=23, loss=twice)

        assert [*range(23)] == steps
        assert losses == pytest.approx(seen.series("loss/mse_loss"))

    def test_a_step_that_computes_another_loss_as_well_has_both(self, every_fifth):
        def two(x, y):
            calls.append(1)
            loss = nn.functional.mse_loss(x, y)
            return loss + nn.functional.l1_loss(x, y) if len(calls) % 3 == 0 else loss

        calls = []
        with every_fifth() as seen:
            fit(mlp(), steps=13, loss=two)

        assert [*range(13)] == steps_of(seen, "loss/mse_loss")
        assert [2, 5, 8, 11] == steps_of(seen, "loss/l1_loss")

    def test_an_evaluation_in_between_is_a_step_of_its_own(self, every_fifth):
        with every_fifth() as seen:
            model = mlp()
            optimizer = sgd(model)
            for step in range(12):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(X), Y).backward()
                optimizer.step()
                if step % 4 == 3:
                    model.eval()
                    with torch.no_grad():
                        nn.functional.mse_loss(model(X), Y)
                    model.train()

        assert {"TRAIN": 12, "EVAL": 3} == seen.counts
        assert [*range(12)] == steps_of(seen, "loss/mse_loss")

    @staticmethod
    def actor(what):
        """Train a network that follows another one, and acts."""
        online, target = mlp(), mlp()
        models = {"within": nn.Sequential(target, nn.ReLU())}
        optimizer = sgd(online)
        for step in range(20):
            with torch.no_grad():
                for _ in range(3 if what == "acts often" else 1):
                    online(X[:1])
                if what == "evaluates" and step in (7, 8, 13):
                    nn.functional.mse_loss(online(X), Y)
                if what == "loader" and step in (7, 8, 13):
                    for (x,) in DataLoader(TensorDataset(X), 4):
                        online(x)
            optimizer.zero_grad()
            prediction = online(X) if what == "answers first" else None
            with torch.no_grad(), suppress(RuntimeError):
                goal = target(X) if what != "within" else models["within"](X)
                if what == "raises" and step % 3 == 0:
                    target(X[:, :2])
            nn.functional.mse_loss(online(X) if prediction is None else prediction, goal).backward()
            optimizer.step()

    @pytest.mark.parametrize("every_fifth", [False], indirect=True)
    @pytest.mark.parametrize(
        "what",
        ["plain", "acts often", "evaluates", "loader", "answers first", "within", "raises"],
    )
    def test_what_runs_without_gradients_counts_as_where_steps_are_taken_apart(
        self, every_fifth, taken, what, monkeypatch
    ):
        stored, num_taken = [], []
        for is_apart in (False, True):
            if is_apart:
                monkeypatch.setattr(UsualSteps, "begin", lambda steps: None)
            torch.manual_seed(0)
            with every_fifth() as seen:
                self.actor(what)
            records = [record for (record,) in seen.trial.records()]
            names = [{*one.layout.row_of} - {"optimizer/stale_gradients"} for one in records]
            numbers = [(one.mode, one.step, one.mode_step) for one in records]
            stored.append((seen.counts, numbers, names))
            num_taken.append(len(taken))

        assert stored[0] == stored[1]
        assert {"TRAIN", "EVAL"} == {*stored[0][0]}
        assert num_taken[0] == num_taken[1] >= 7

    def test_micro_batches_are_one_step(self, every_fifth):
        with every_fifth() as seen:
            model = mlp()
            optimizer = sgd(model)
            for _ in range(12):
                optimizer.zero_grad()
                for _ in range(2):
                    nn.functional.mse_loss(model(X), Y).backward()
                optimizer.step()

        assert {"TRAIN": 12} == seen.counts
        assert {2.0} == set(seen.series("loss/mse_loss", "count"))

    def test_a_model_that_raised_is_observed_again(self, every_fifth):
        class Moody(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.num_runs = nn.Linear(4, 1), 0

            def forward(self, x):
                self.num_runs += 1
                if self.num_runs == 9:
                    raise ValueError("not today")
                return self.layer(x)

        with every_fifth() as seen:
            model = Moody()
            optimizer = sgd(model)
            for _ in range(16):
                optimizer.zero_grad()
                with suppress(ValueError):
                    nn.functional.mse_loss(model(X), Y).backward()
                    optimizer.step()
            assert not model._forward_hooks

        assert {"TRAIN": 15} == seen.counts
        assert [0, 1, 5, 10] == steps_of(seen, "output/layer")


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


@pytest.mark.parametrize(("pad", "expected"), [(END, [10, 20, 30, 40, 50, 60]), (PAD, [])])
def test_where_last_tokens_are_no_targets_more_samples_are_looked_at(every_fifth, pad, expected):
    """They tell whether a model ever learns to end; of two batches they may be too few."""
    with every_fifth() as seen:
        seen.hook.recorder.budget.period = 1000
        trains(ended(pad, size=4), steps=80)

    assert [0, *expected] == steps_of(seen, "supervision/cross_entropy")
