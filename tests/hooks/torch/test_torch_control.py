"""What is done to a training between its steps is exactly what was asked for."""

from __future__ import annotations

import copy
import gc
import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from stepwatch import on_checkpoint
from stepwatch.errors import ConfigError, FindingRaised, StepUnavailable, TrainingStopped
from stepwatch.hooks.torch.intervene import control as checkpoints
from stepwatch.model.collection import parse_save
from stepwatch.model.finding import Finding
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd


@pytest.fixture(autouse=True)
def nothing_left_over():
    """Optimizers of other tests that still live would be waited for in a first step."""
    gc.collect()


@pytest.fixture
def swapping():
    """Have modules swap their parameters where they would copy into them."""
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


FINDING = Finding("loss_spike", 3, "loss/mse", "9 is far above 1")


class Training:
    """A training that depends on all that a state holds."""

    def __init__(self, kind=torch.optim.AdamW, **options):
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1)
        )
        self.optimizer = kind(self.model.parameters(), lr=0.05, **options)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 3, 0.5)
        self.average = torch.optim.swa_utils.AveragedModel(self.model)

    def step(self, spoiled=False, update=True):
        data = X + 0.01 * random.random() + 0.01 * np.random.rand()
        if spoiled:
            data[3, 2] = torch.nan
        self.optimizer.zero_grad()
        mse_loss(self.model(data), Y).backward()
        if update:
            self.optimizer.step()
        self.scheduler.step()
        self.average.update_parameters(self.model)

    def state(self):
        """Return a copy of everything that the next step depends on."""
        state = [
            self.model.state_dict(),
            self.optimizer.state_dict(),
            self.average.state_dict(),
            self.scheduler.state_dict(),
            torch.get_rng_state(),
            random.getstate(),
            str(np.random.get_state(legacy=False)["state"]["key"].tolist()),
        ]
        return copy.deepcopy(state)


def equal(one, other):
    """Return whether two states are the same bit for bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other) and one.dtype == other.dtype
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other


def ask(watched, request):
    """Ask for something; return the list in which its result will be."""
    results = []
    watched.hook.control.request(request, results.append)
    return results


class TestRestore:
    @pytest.mark.parametrize("hold", [False, True])
    @pytest.mark.parametrize(
        ("kind", "options"),
        [
            (torch.optim.AdamW, {}),
            (torch.optim.AdamW, {"foreach": True, "amsgrad": True}),
            (torch.optim.SGD, {"momentum": 0.9}),
            (torch.optim.RMSprop, {"centered": True, "momentum": 0.5}),
        ],
    )
    def test_the_state_is_that_of_the_last_good_step_bit_for_bit(
        self, watched, kind, options, hold
    ):
        """Parameters, buffers, optimizer, averages and random numbers; bad steps leave nothing."""
        training, states = Training(kind, **options), []
        with watched(hold=hold) as run:
            run.hook.control.keep_states(2, 1)
            for step in range(9):
                run.hook.control.judged(step - 1)
                if step == 8:
                    results = ask(run, lambda control: control.restore(6))
                training.step(spoiled=step >= 6)
                states.append(training.state())
        # The copy after step 4 is trusted from step 5 on; that after step 2 is older.
        assert ["after step 8 went back to the state after step 4"] == results
        assert not equal(states[5], states[4])
        # What the script does after its optimizer, such as a scheduler's step, it does again.
        assert equal(states[4], states[8])

    def test_training_from_a_restored_state_is_as_it_was_from_there(self, watched):
        """The steps after it are the very steps that came first."""
        training, states = Training(), []
        with watched(hold=False) as run:
            run.hook.control.keep_states(1, 0)
            run.hook.control.judged(100)
            for step in range(8):
                if step == 4:
                    results = ask(run, lambda control: control.restore(3))
                training.step()
                states.append(training.state())
        assert ["after step 4 went back to the state after step 2"] == results
        assert equal(states[2], states[4])
        assert equal(states[3], states[5])

    def test_a_second_time_from_one_state_draws_other_random_numbers(self, watched):
        """Else a batch drawn by them would come again, and again."""
        training, drawn = Training(), []
        with watched(hold=False) as run:
            run.hook.control.keep_states(100, 0)
            for step in range(6):
                if step in (2, 4):
                    ask(run, lambda control, at=step: control.restore(at))
                training.step()
                drawn.append(torch.get_rng_state().numpy().tobytes())
        assert drawn[0] == drawn[2]
        assert drawn[4] not in (drawn[0], drawn[2])

    def test_what_is_not_finite_is_never_kept(self, watched):
        """However long nothing is found about it."""
        training = Training()
        with watched(hold=False) as run:
            run.hook.control.keep_states(1, 0)
            run.hook.control.judged(10**6)
            for step in range(6):
                if step == 5:
                    results = ask(run, lambda control: control.restore(5))
                training.step(spoiled=step >= 2)
        assert ["after step 5 went back to the state after step 1"] == results

    def test_a_finding_about_undone_steps_is_answered_by_the_same_restore(self, watched):
        training = Training()
        with watched(hold=False) as run:
            run.hook.control.keep_states(1, 0)
            for step in range(5):
                if step == 4:
                    results = ask(run, lambda control: control.restore(2))
                    results_too = ask(run, lambda control: control.restore(3))
                training.step()
        assert 1 == len(results)
        assert ["already restored after step 4"] == results_too

    def test_before_there_is_a_good_state_it_is_refused(self, watched):
        """With what is kept, and the training goes on."""
        with watched(hold=False) as run:
            run.hook.control.keep_states(1, 2)
            results = ask(run, lambda control: control.restore(1))
            fit(mlp())
        assert "no state is known to be good before step 1" in str(results[0])

    def test_a_model_that_was_exchanged_is_left_as_it_is(self, watched):
        """Half a state would be worse than none."""
        with watched(hold=False) as run:
            run.hook.control.keep_states(100, 0)
            model = mlp()
            optimizer = sgd(model)
            fit(model, optimizer)
            optimizer.add_param_group({"params": [nn.Parameter(torch.ones(2))]})
            before = copy.deepcopy(model.state_dict())
            optimizer.param_groups[0]["lr"] = 0.0
            results = ask(run, lambda control: control.restore(2))
            fit(model, optimizer, steps=1)
        assert "was copied is no more as it was" in str(results[0])
        assert equal(before, model.state_dict())

    def test_several_processes_are_refused_with_the_reason(self, watched, monkeypatch):
        """One alone must not go back, and each would decide for itself what to skip."""
        with watched() as run:
            module = "stepwatch.hooks.torch.intervene"
            for name in ("states", "updates"):
                monkeypatch.setattr(f"{module}.{name}.distributed_rank", lambda: (0, 2))
            with pytest.raises(ConfigError, match="2 processes train together"):
                run.hook.control.keep_states(1, 0)
            with pytest.raises(ConfigError, match="2 processes train together"):
                run.hook.control.skip_batches(None, lambda *_: True)

    def test_a_compiled_model_is_restored_in_place(self, watched):
        """Its graph holds the very tensors."""
        with watched(hold=False) as run:
            run.hook.control.keep_states(1, 0)
            model = mlp()
            compiled = torch.compile(model, backend="eager")
            optimizer, states = sgd(model), []
            for step in range(4):
                if step == 3:
                    results = ask(run, lambda control: control.restore(2))
                fit(compiled, optimizer, steps=1)
                states.append(copy.deepcopy(model.state_dict()))
        assert ["after step 3 went back to the state after step 1"] == results
        assert equal(states[1], states[3])

    def test_parameters_may_be_swapped_between_copy_and_restore(self, watched, swapping):
        """Torch swaps no tensor to which there is a weak reference."""
        training, states = Training(), []
        with watched(hold=False) as run:
            run.hook.control.keep_states(100, 0)
            run.hook.control.skip_batches(None, lambda *_: True)
            for step in range(4):
                if step == 2:
                    training.optimizer.zero_grad()
                    training.model.load_state_dict(training.model.state_dict())
                if step == 3:
                    results = ask(run, lambda control: control.restore(3))
                training.step()
                states.append(training.state())
        assert ["after step 3 went back to the state after step 0"] == results
        assert equal(states[0], states[3])

    def test_buffers_that_a_model_makes_anew_are_found_by_name(self, watched):
        """What it held is written into what it holds; what is expanded cannot be written to."""
        model = Remade()
        with watched(hold=False) as run:
            run.hook.control.keep_states(100, 0)
            optimizer, seen = sgd(model), []
            for step in range(3):
                if step == 2:
                    results = ask(run, lambda control: control.restore(2))
                fit(model, optimizer, steps=1)
                seen.append(model.seen.item())
        assert ["after step 2 went back to the state after step 0"] == results
        assert [1, 2, 1] == seen

    def test_a_scheduler_that_wraps_another_follows_through_that_one(self, watched):
        """It has no optimizer of its own, for it was never initialized as a scheduler."""
        training, states = Training(), []
        training.scheduler = Wrapping(training.scheduler)
        with watched(hold=False) as run:
            run.hook.control.keep_states(100, 0)
            for step in range(4):
                if step == 3:
                    results = ask(run, lambda control: control.restore(3))
                training.step()
                states.append(training.state())
        assert ["after step 3 went back to the state after step 0"] == results
        assert equal(states[0], states[3])

    def test_one_that_refuses_its_state_leaves_everything_as_it_is(self, watched):
        """Half a state would be worse than none."""
        training = Training()
        # The first takes its state, and is to give it up again.
        last = Refusing(training.optimizer, lambda _: 1.0)
        with watched(hold=False) as run:
            run.hook.control.keep_states(100, 0)
            for _ in range(2):
                training.step()
                last.step()
            before = []
            ask(run, lambda _: before.append(training.state()) or "")
            results = ask(run, lambda control: control.restore(2))
            ask(run, lambda _: before.append(training.state()) or "")
            training.step()
        assert isinstance(results[0], StepUnavailable)
        assert "Refusing refuses its state (KeyError: 'not mine'); nothing was" in str(results[0])
        assert equal(*before)
        assert last is not None

    def test_a_state_that_cannot_be_read_is_said_and_the_rest_goes_on(self, watched):
        """Batches are skipped as before."""
        skipped = []
        training = Training()
        unread = Unreadable(training.optimizer, lambda _: 1.0)
        with watched() as run:
            run.hook.control.keep_states(1, 0)
            run.hook.control.skip_batches(None, lambda step, *_: skipped.append(step) or True)
            for step in range(3):
                training.step(spoiled=step == 1)
        assert any("nothing can be restored: " in line and "ask me" in line for line in run.said)
        assert [1] == skipped
        assert unread is not None

    def test_a_process_group_that_is_made_later_is_seen(self, watched, monkeypatch):
        """Several processes train together only from then on."""
        with watched(hold=False) as run:
            run.hook.control.keep_states(2, 0)
            run.hook.control.skip_batches(None, lambda *_: True)
            training = Training()
            training.step()
            for name in ("states", "updates"):
                module = f"stepwatch.hooks.torch.intervene.{name}"
                monkeypatch.setattr(f"{module}.distributed_rank", lambda: (0, 2))
            results = ask(run, lambda control: control.restore(1))
            training.step()
            training.step(spoiled=True)
        assert "2 processes train together" in str(results[0])
        assert 2 == sum("2 processes train together" in line for line in run.said)
        assert training.model[0].weight.isnan().any()


class TestSkipBatch:
    @pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad])
    def test_the_update_of_a_bad_batch_does_not_happen(self, watched, kind):
        """All that is trained is what it would be if the optimizer had not been called."""
        asked = []
        with watched() as run:
            run.hook.control.skip_batches(None, lambda *bad: asked.append(bad) or True)
            model, state = train_by(kind, spoiled=4)
        reference, expected = train_by(kind, left_out=4)
        assert equal(expected, state)
        assert equal(reference.state_dict(), model.state_dict())
        ((step, why, _),) = asked
        assert (4, "the gradients are not finite") == (step, why)
        assert [4] == run.trial.tensor("optimizer/skipped").statistics().steps.tolist()

    def test_gradients_are_there_again_for_the_script(self, watched):
        """What the script logs after the step."""
        with watched() as run:
            run.hook.control.skip_batches(None, lambda *_: True)
            model = mlp()
            fit(model, steps=1, loss=lambda output, target: mse_loss(output * torch.nan, target))
        assert all(p.grad is not None and p.grad.isnan().any() for p in model.parameters())

    def test_a_refusal_leaves_the_update_as_it_is(self, watched):
        """A limit was reached, or it is a dry run."""
        with watched() as run:
            run.hook.control.skip_batches(None, lambda *_: False)
            model, _ = train_by(torch.optim.SGD, spoiled=4)
        assert all(p.isnan().any() for p in model.parameters() if p.ndim > 1)

    def test_a_spike_is_skipped_if_that_is_asked_for(self, watched):
        """Compared with the median of the last norms, once there are enough of them."""
        skipped = []
        with watched() as run:
            run.hook.control.skip_batches(10.0, lambda step, *_: skipped.append(step) or True)
            model = mlp()
            optimizer = sgd(model, lr=1e-4)
            for step in range(24):
                scale = 100.0 if step in (3, 20) else 1.0
                fit(model, optimizer, steps=1, loss=lambda o, t, s=scale: s * mse_loss(o, t))
        assert [20] == skipped  # at step 3 nobody knows what is usual

    def test_large_gradients_are_not_taken_for_infinite(self, watched):
        """Their squares overflow; they do not."""
        skipped = []
        with watched() as run:
            run.hook.control.skip_batches(1e9, lambda *bad: skipped.append(bad) or True)
            model = nn.Linear(1, 1, bias=False)
            optimizer = sgd(model, lr=0.0)
            for _ in range(3):
                optimizer.zero_grad()
                (model(torch.tensor([[1e30]])) * 1.0).sum().backward()
                optimizer.step()
        assert [] == skipped

    def test_a_closure_is_refused_and_training_goes_on(self, watched):
        """Gradients are computed while it steps: it cannot be known before what they are."""
        with watched() as run:
            run.hook.control.skip_batches(None, lambda *_: True)
            model = mlp()
            optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

            def closure():
                optimizer.zero_grad()
                loss = mse_loss(model(X), Y)
                loss.backward()
                return loss

            first = optimizer.step(closure)
            assert optimizer.step(closure) < first
        assert any("is given a closure" in line for line in run.said)

    @pytest.mark.parametrize("kind", ["naive", "counting"])
    def test_any_optimizer_is_as_if_it_had_not_stepped(self, watched, kind):
        """One that asks for every gradient; one that counts, decays and draws as it likes."""
        kind = {"naive": Naive, "counting": Counting}[kind]
        Naive(mlp().parameters())  # from here on torch also tells of steps that a subclass calls
        with watched() as run:
            run.hook.control.skip_batches(None, lambda *_: True)
            model, state = train_by(kind, spoiled=2)
            drawn = torch.get_rng_state()
        reference, expected = train_by(kind, left_out=2)
        assert equal(expected, state)
        assert equal(reference.state_dict(), model.state_dict())
        assert equal(torch.get_rng_state(), drawn)

    def test_the_first_update_may_be_the_bad_one(self, watched):
        """What an optimizer makes in its first step is gone again."""
        with watched() as run:
            run.hook.control.skip_batches(None, lambda *_: True)
            training = Training()
            before = copy.deepcopy(training.optimizer.state_dict())
            training.step(spoiled=True)
        assert equal(before["state"], training.optimizer.state_dict()["state"])
        assert 0 == len(training.optimizer.state)

    def test_an_optimizer_that_raises_does_as_it_would(self, watched):
        """The script catches it, has its gradients, and goes on; later batches are skipped."""
        skipped = []
        with watched(hold=False) as run:
            run.hook.control.skip_batches(None, lambda step, *_: skipped.append(step) or True)
            model = mlp()
            optimizer = Careful(model.parameters())
            fit(model, optimizer, steps=1)
            optimizer.careful = True
            with pytest.raises(ArithmeticError):
                fit(model, optimizer, steps=1, loss=spoilt)
            assert all(p.grad is not None for p in model.parameters())
            optimizer.careful = False
            before = copy.deepcopy(model.state_dict())
            fit(model, optimizer, steps=1)
            assert not equal(before, model.state_dict())
            before = copy.deepcopy(model.state_dict())
            fit(model, optimizer, steps=1, loss=spoilt)
            assert equal(before, model.state_dict())
        assert 2 == len(skipped)

    def test_an_optimizer_within_another_is_skipped_with_it(self, watched):
        """It is one update: asked about once, and undone in both."""
        asked = []
        with watched() as run:
            run.hook.control.skip_batches(None, lambda *bad: asked.append(bad) or True)
            model = mlp()
            inner = torch.optim.Adam(model.parameters())
            outer = Outer(inner)
            fit(model, outer, steps=2)
            expected = copy.deepcopy([model.state_dict(), inner.state_dict()])
            fit(model, outer, steps=1, loss=spoilt)
            assert equal(expected, [model.state_dict(), inner.state_dict()])
        assert 1 == len(asked)

    def test_buffers_made_anew_in_the_bad_batch_are_what_they_were(self, watched):
        """They are found by name."""
        with watched(hold=False) as run:
            run.hook.control.skip_batches(None, lambda *_: True)
            model = Remade()
            optimizer = sgd(model)
            fit(model, optimizer, steps=2)
            fit(model, optimizer, steps=1, loss=spoilt)
            assert 2 == model.seen.item()


def spoilt(output, target):
    """Return a loss of which every gradient is nan."""
    return mse_loss(output * torch.nan, target)


class Remade(nn.Sequential):
    """A model that assigns a new tensor to its buffer, and has one that is expanded."""

    def __init__(self):
        super().__init__(nn.Linear(4, 1))
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("mask", torch.zeros(1).expand(8))

    def forward(self, inputs):
        self.seen = self.seen + 1
        return super().forward(inputs)


class Wrapping(torch.optim.lr_scheduler.LRScheduler):
    """A scheduler that hands everything on to another."""

    def __init__(self, inner):
        self.inner = inner

    def step(self):
        self.inner.step()

    def state_dict(self):
        return self.inner.state_dict()


class Refusing(torch.optim.lr_scheduler.LambdaLR):
    def load_state_dict(self, state):
        if state["_step_count"] != self._step_count:
            raise KeyError("not mine")


class Unreadable(torch.optim.lr_scheduler.LambdaLR):
    def state_dict(self):
        raise KeyError("do not ask me")


class Naive(torch.optim.Optimizer):
    """Plain descent that takes it for granted that there are gradients."""

    def __init__(self, parameters, lr=0.1):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.add_(parameter.grad, alpha=-group["lr"])


class Counting(Naive):
    """Keeps numbers, tensors and mappings wherever there is room, and draws."""

    @torch.no_grad()
    def step(self, closure=None):
        super().step()
        self.state["steps"] = self.state.get("steps", 0) + 1
        for group in self.param_groups:
            group["lr"] *= 0.9
            group["distance"] = group.get("distance", torch.zeros(())) + group["params"][0].norm()
            for parameter in group["params"]:
                parameter.add_(torch.randn_like(parameter), alpha=1e-3)
                moments = self.state[parameter].setdefault("moments", {"first": 0.0})
                moments["first"] = moments["first"] + parameter.grad


class Careful(Naive):
    """Raises if gradients are not there, or not numbers."""

    careful = False

    def step(self, closure=None):
        gradients = [p.grad for group in self.param_groups for p in group["params"]]
        if self.careful and not all(g is not None and g.isfinite().all() for g in gradients):
            raise ArithmeticError
        super().step()


class Outer(torch.optim.Optimizer):
    """Steps another one."""

    def __init__(self, inner):
        super().__init__(inner.param_groups, {})
        self.inner = inner
        self.param_groups = inner.param_groups

    def step(self, closure=None):
        self.inner.step()


def train_by(kind, spoiled=None, left_out=None):
    """Train a model with running means; return it and the state of its optimizer."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = kind(model.parameters(), lr=0.01)
    for step in range(5):
        if step == left_out:
            continue
        data = X.clone()
        if step == spoiled:
            data[3, 2] = torch.nan
        optimizer.zero_grad()
        mse_loss(model(data), Y).backward()
        optimizer.step()
    return model, copy.deepcopy(optimizer.state_dict())


def saved(record, *beginnings):
    """Return the names of these of which the full value is saved."""
    return [name for name in record.raw if name.startswith(beginnings)]


class TestCaptureMore:
    def test_the_next_steps_are_saved_raw_and_no_others(self, watched):
        """What was asked for, beside what is saved anyway."""
        with watched(hold=False) as run:
            model = mlp()
            optimizer = sgd(model)
            fit(model, optimizer, steps=2)
            results = ask(
                run, lambda control: control.capture_more([parse_save("gradients:raw")], 2)
            )
            fit(model, optimizer, steps=6)
        assert ["saving more in TRAIN steps 3 to 4"] == results
        trial = run.trial
        raw = [saved(record, "gradient/", "weight") for (record,) in trial.records()]
        assert [3, 4] == [step for step, names in enumerate(raw) if names]
        assert all(name.startswith("gradient/") for name in raw[3])
        assert 4 == len(raw[3])

    def test_windows_may_overlap(self, watched):
        """Each ends by itself."""
        with watched(hold=False) as run:
            model = mlp()
            optimizer = sgd(model)
            plan = run.hook.recorder.plan
            ask(run, lambda control: control.capture_more([parse_save("losses:raw")], 1))
            ask(run, lambda control: control.capture_more([parse_save("weights:raw")], 3))
            fit(model, optimizer, steps=6)
            assert plan is run.hook.recorder.plan
        records = (record for (record,) in run.trial.records())
        raw = [len(saved(record, "loss/", "0.", "2.")) for record in records]
        assert [0, 5, 4, 4, 0, 0] == raw  # a loss and four weights


class TestCheckpoint:
    @pytest.fixture(autouse=True)
    def _no_function_of_a_script(self, monkeypatch):
        monkeypatch.setattr(checkpoints, "_of_scripts", [])

    def test_it_holds_models_and_optimizers_as_they_were(self, watched):
        """And loads without trusting what it holds."""
        with watched(hold=False) as run:
            model = mlp()
            optimizer = torch.optim.Adam(model.parameters())
            fit(model, optimizer, steps=2)
            results = ask(run, lambda control: control.checkpoint(FINDING))
            fit(model, optimizer, steps=1)
            expected = copy.deepcopy([model.state_dict(), optimizer.state_dict()])
            fit(model, optimizer, steps=2)
            assert "saved as checkpoints/worker_0-000000000002.pt in the run" == results[0]()
        saved = torch.load(run.run / "checkpoints/worker_0-000000000002.pt", weights_only=True)
        assert equal(expected[0], saved["models"]["Sequential"])
        assert equal([expected[1]], saved["optimizers"])
        assert (2, 2) == (saved["step"], saved["mode_step"])
        assert FINDING.to_dict() == saved["finding"]

    def test_the_function_of_the_script_is_called_instead(self, watched):
        """In the training's thread, between steps."""
        seen = []
        assert on_checkpoint(seen.append) is not None
        with watched() as run:
            results = ask(run, lambda control: control.checkpoint(FINDING))
            fit(mlp())
        assert [FINDING] == seen
        assert ["called the function of the script after step 0"] == results


class TestLearningRates:
    def test_all_are_multiplied_and_schedulers_go_on_from_there(self, watched):
        """A scheduler that computes the rate from its first does not undo it."""
        with watched(hold=False) as run:
            model = mlp()
            optimizer = sgd(model, lr=0.8)
            constant = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
            ask(run, lambda control: control.scale_learning_rates(0.25))
            fit(model, optimizer, each=lambda _: constant.step())
        assert pytest.approx(0.2) == optimizer.param_groups[0]["lr"]
        assert pytest.approx([0.8, 0.2, 0.2]) == run.series("learning_rate/0")

    def test_a_rate_that_is_a_tensor_stays_that_tensor(self, watched):
        """A compiled optimizer holds it."""
        with watched() as run:
            rate = torch.tensor(0.5)
            model = mlp()
            optimizer = torch.optim.Adam(model.parameters(), lr=rate, capturable=False)
            ask(run, lambda control: control.scale_learning_rates(0.5))
            fit(model, optimizer, steps=1)
            assert optimizer.param_groups[0]["lr"] is rate
        assert 0.25 == rate.item()

    def test_what_schedulers_run_when_asked_is_not_run(self, watched):
        """Else it might fail when the rates are changed already."""

        class Odd(Wrapping):
            @property
            def base_lrs(self):
                raise ZeroDivisionError

        with watched(hold=False) as run:
            model = mlp()
            optimizer = sgd(model, lr=0.8)
            odd = Odd(torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0))
            odd.optimizer = optimizer
            results = ask(run, lambda control: control.scale_learning_rates(0.25))
            fit(model, optimizer, steps=1, each=lambda _: odd.step())
        assert ["learning rate from 0.8 to 0.2 after step 0"] == results
        assert pytest.approx(0.2) == optimizer.param_groups[0]["lr"]

    def test_it_changes_nothing_if_schedulers_cannot_be_found(self, watched, monkeypatch):
        """What is told to have failed has not happened."""

        def broken(*_):
            raise ZeroDivisionError

        monkeypatch.setattr("stepwatch.hooks.torch.intervene.states.StepDependents.refresh", broken)
        with watched(hold=False) as run:
            model = mlp()
            optimizer = sgd(model, lr=0.8)
            results = ask(run, lambda control: control.scale_learning_rates(0.25))
            fit(model, optimizer, steps=1)
        assert isinstance(results[0], ZeroDivisionError)
        assert 0.8 == optimizer.param_groups[0]["lr"]


class TestEnds:
    def test_what_is_raised_comes_after_the_step(self, watched):
        """The step is over and recorded."""
        with watched() as run:
            ask(run, lambda control: control.fail(FindingRaised("too far")) or "raised")
            with pytest.raises(FindingRaised, match="too far"):
                fit(mlp())
        assert {"TRAIN": 1} == run.counts

    def test_stop_lets_finally_blocks_run(self, watched):
        with watched() as run:
            run.hook.stop("enough")
            with pytest.raises(TrainingStopped, match="75"):
                fit(mlp())

    def test_nothing_happens_within_a_step(self, watched):
        """Where two optimizers share a step it is over when both have stepped."""
        order = []
        with watched(hold=False) as run:
            model = mlp()
            first, second = sgd(model[0]), sgd(model[2])
            for step in range(3):
                mse_loss(model(X), Y).backward()
                if step == 1:
                    ask(run, lambda _: order.append("asked for") or "")
                first.step()
                order.append("first")
                second.step()
                order.append("second")
                model.zero_grad()
        assert ["first", "second", "first", "asked for", "second", "first", "second"] == order

    def test_what_raises_is_told_and_harms_nothing(self, watched):
        """Also where failures of our own are raised."""

        def broken(_):
            raise ZeroDivisionError

        with watched(strict=False) as run:
            results = ask(run, broken)
            assert 3 == len(fit(mlp()))
        assert isinstance(results[0], ZeroDivisionError)

    def test_what_came_too_late_is_told_so(self, watched):
        with watched() as run:
            fit(mlp())
            results = ask(run, lambda _: "never")
        assert "the training ended" in str(results[0])
        assert "the training ended" in str(ask(run, lambda _: "never")[0])
