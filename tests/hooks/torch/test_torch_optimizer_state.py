"""What optimizers remember is observed as it is after their step."""

from __future__ import annotations

from collections import defaultdict

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.hooks.torch.collectors.optimizer import STATE_RUN_LENGTH, STATE_RUNS, update_rms
from tests.support.hooks.torch.trainings import X, Y, fit, mlp

EVERY = "optimizer_states:statistics:every=1"
RAW = "optimizer_states:raw"

MADE = {
    "sgd": (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), {"momentum_buffer"}),
    "adam": (lambda p: torch.optim.Adam(p, amsgrad=True), {"exp_avg", "exp_avg_sq", "step"}),
    "adamw": (torch.optim.AdamW, {"exp_avg", "exp_avg_sq", "step"}),
    "foreach": (lambda p: torch.optim.AdamW(p, foreach=True), {"exp_avg", "exp_avg_sq", "step"}),
    "fused": (lambda p: torch.optim.AdamW(p, fused=True), {"exp_avg", "exp_avg_sq", "step"}),
    "rmsprop": (torch.optim.RMSprop, {"square_avg", "step"}),
    "adagrad": (torch.optim.Adagrad, {"sum", "step"}),
    "nadam": (torch.optim.NAdam, {"exp_avg", "exp_avg_sq", "mu_product", "step"}),
    "adafactor": (
        lambda p: torch.optim.Adafactor(p, beta2_decay=-0.8),
        {"row_var", "col_var", "variance", "step"},
    ),
}
MADE["adam"][1].add("max_exp_avg_sq")


class Remembering(torch.optim.Optimizer):
    """Somebody's optimizer, whose state torch knows nothing of."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure=None):
        for parameter in self.param_groups[0]["params"]:
            state = self.state[parameter]
            state["trace"] = state.get("trace", 0) + parameter.grad
            state["step"] = state.get("step", 0) + 1
            state["name"], state["history"] = "remembering", [parameter.grad.clone()]
            parameter -= 0.1 * state["trace"]


def states(seen):
    names = seen.trial.tensor_names(collection="optimizer_states")
    return {name for name in names if name.startswith("optimizer_state/")}


class TestOptimizerStates:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", MADE)
    def test_each_tensor_of_the_state_is_observed_whatever_it_is_called(self, watched, kind):
        """Its value is the one after the step, for every parameter."""
        model = mlp()
        make, keys = MADE[kind]
        optimizer = make(model.parameters())
        with watched(policy=[EVERY, RAW]) as seen:
            fit(model, optimizer)

        names = dict(model.named_parameters())
        expected = {
            f"optimizer_state/{name}/{key}": value
            for name, parameter in names.items()
            for key, value in optimizer.state[parameter].items()
        }
        assert keys == {name.rpartition("/")[2] for name in expected}
        assert expected.keys() == states(seen)
        assert [] == [
            name
            for name, value in expected.items()
            if (seen.trial.tensor(name).value(2) != value.numpy()).any()
        ]

    def test_the_count_of_steps_is_a_number(self, watched):
        """One element without dimensions, which ascends."""
        model = mlp()
        with watched(policy=[EVERY]) as seen:
            fit(model, torch.optim.AdamW(model.parameters()))

        assert [1.0, 2.0, 3.0] == seen.series("optimizer_state/0.weight/step")
        assert () == seen.infos()["optimizer_state/0.weight/step"].shape

    def test_an_optimizer_of_somebody_else_is_observed_too(self, watched):
        """Tensors, and the count of steps also where it is no tensor; texts and lists are not."""
        model = mlp()
        optimizer = Remembering(model.parameters())
        with watched(policy=[EVERY]) as seen:
            fit(model, optimizer)

        assert {
            f"optimizer_state/{name}/{key}"
            for name, _ in model.named_parameters()
            for key in ("trace", "step")
        } == states(seen)
        assert [1.0, 2.0, 3.0] == seen.series("optimizer_state/2.bias/step")

    def test_of_lbfgs_what_is_a_tensor(self, watched):
        """It keeps all of its state with its first parameter, its history in lists."""
        model = mlp()
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)

        def closure():
            optimizer.zero_grad()
            value = F.mse_loss(model(X), Y)
            value.backward()
            return value

        with watched(policy=[EVERY]) as seen:
            for _ in range(2):
                optimizer.step(closure)

        assert {f"optimizer_state/0.weight/{key}" for key in ("d", "prev_flat_grad")} <= states(
            seen
        )
        assert not any("old_dirs" in name for name in states(seen))

    def test_an_optimizer_without_a_state_has_none(self, watched):
        """Looking at it makes none either."""
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with watched(policy=[EVERY]) as seen:
            fit(model, optimizer)

        assert set() == states(seen)
        assert {} == {key: state for key, state in optimizer.state.items() if state}

    def test_of_several_optimizers_each_is_observed(self, watched):
        """By the names of the parameters that they hold."""
        first, second = mlp(), nn.Linear(1, 1)
        optimizers = [torch.optim.Adagrad(one.parameters()) for one in (first, second)]
        with watched(policy=[EVERY]) as seen:
            for _ in range(2):
                F.mse_loss(second(first(X)), Y).backward()
                for optimizer in optimizers:
                    optimizer.step()
                    optimizer.zero_grad()

        assert {
            f"optimizer_state/{name}/sum" for name in ("0.weight", "Linear.weight", "Linear.bias")
        } <= states(seen)

    def test_a_skipped_step_shows_the_state_that_was(self, watched):
        """A scaler that skips leaves it alone."""
        model = mlp()
        optimizer = torch.optim.AdamW(model.parameters())
        scaler = torch.amp.GradScaler("cpu")
        with watched(policy=[EVERY]) as seen:
            for factor in (1.0, float("inf"), 1.0):
                optimizer.zero_grad()
                scaler.scale(F.mse_loss(model(X), Y) * factor).backward()
                scaler.step(optimizer)
                scaler.update()

        assert [1.0, 1.0, 2.0] == seen.series("optimizer_state/0.weight/step")


class TestUpdateRms:
    @pytest.mark.parametrize("kind", ["adam", "adamw", "foreach", "fused", "nadam"])
    def test_it_is_the_size_of_gradients_for_what_was_expected(self, watched, kind):
        """By its definition, from the state after the step and the gradient of it."""
        model = mlp()
        optimizer = MADE[kind][0](model.parameters())
        expected = []

        def note(_):
            weight = model[0].weight
            state = optimizer.state[weight]
            moment = state["exp_avg_sq"].double() / (1 - 0.999 ** state["step"].item())
            expected.append((weight.grad.double().square() / moment).mean().sqrt().item())

        with watched(policy=[EVERY]) as seen:
            fit(model, optimizer, steps=4, each=note)

        assert expected == pytest.approx(seen.series("update_rms/0.weight"), rel=1e-4)

    def test_it_jumps_where_the_second_moment_lags(self, watched):
        """About 1 while gradients are what they were; then they grow tenfold at once."""
        model = mlp()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.0)
        generator = torch.Generator().manual_seed(0)
        with watched(policy=[EVERY]) as seen:
            for step in range(21):
                model(X).sum().backward()
                for parameter in model.parameters():
                    noise = torch.randn(parameter.shape, generator=generator)
                    parameter.grad = noise * (10.0 if step == 20 else 1.0)
                optimizer.step()

        *before, last = seen.series("update_rms/0.weight")
        assert all(0.5 < rms < 1.5 for rms in before)
        assert last > 3.0

    @pytest.mark.parametrize("kind", ["sgd", "rmsprop", "adagrad", "adafactor"])
    def test_other_optimizers_have_none(self, watched, kind):
        """They remember other things."""
        model = mlp()
        with watched(policy=[EVERY]) as seen:
            fit(model, MADE[kind][0](model.parameters()))

        assert not any("update_rms" in name for name in seen.infos())

    def test_of_a_large_parameter_a_sample_comes_near(self, watched):
        """Within 5 percent."""
        torch.manual_seed(0)
        model = nn.Linear(512, 4 * STATE_RUNS * STATE_RUN_LENGTH // 512, bias=False)
        optimizer = torch.optim.AdamW(model.parameters())
        with watched(policy=[EVERY]) as seen:
            for _ in range(2):
                model(torch.randn(1, 512)).pow(2).sum().backward()
                optimizer.step()

        moment = optimizer.state[model.weight]["exp_avg_sq"] / (1 - 0.999**2)
        expected = (model.weight.grad.square() / moment).mean().sqrt().item()
        assert expected == pytest.approx(seen.series("update_rms/weight")[1], rel=0.05)

    def test_an_optimizer_that_only_looks_like_it_has_none(self, watched):
        """Other people's may hold anything under these names; training goes on."""

        class Alike(Remembering):
            def step(self, closure=None):
                super().step(closure)
                for number, parameter in enumerate(self.param_groups[0]["params"]):
                    self.state[parameter]["exp_avg_sq"] = [None, torch.ones(3)][number % 2]
                    self.param_groups[0] |= {"betas": (0.9, 0.99, 0.999), "eps": (1e-8, 1e-3)}

        model = mlp()
        with watched(policy=[EVERY]) as seen:
            fit(model, Alike(model.parameters()))

        assert not any("update_rms" in name for name in seen.infos())

    @pytest.mark.parametrize("eps", [0.0, 1e-30, 1e-8])
    def test_no_moment_is_too_small_to_divide_by(self, eps):
        """Nothing over nothing is nothing."""
        assert update_rms((torch.zeros(3),), (torch.zeros(3),), [eps]).tolist() == [0.0]


class TestWhen:
    def test_every_tenth_step_is_the_default(self, watched):
        """From the first on; a pass over all of it costs as much as over the weights."""
        model = mlp()
        with watched() as seen:
            fit(model, torch.optim.AdamW(model.parameters()), steps=21)

        assert [0, 10, 20] == list(
            seen.trial.tensor("optimizer_state/0.weight/exp_avg").statistics().steps
        )

    def test_none_switches_it_off(self, watched):
        """Nothing of it is stored."""
        model = mlp()
        with watched(policy=["optimizer_states:none"]) as seen:
            fit(model, torch.optim.AdamW(model.parameters()))

        assert set() == states(seen)

    def test_a_pattern_asks_for_some_more_often(self, watched):
        """The others stay at their tenth step."""
        model = mlp()
        with watched(policy=["/exp_avg_sq/"]) as seen:
            fit(model, torch.optim.AdamW(model.parameters()))

        assert [0, 1, 2] == list(
            seen.trial.tensor("optimizer_state/0.weight/exp_avg_sq").statistics().steps
        )
        assert [0] == list(seen.trial.tensor("optimizer_state/0.weight/exp_avg").statistics().steps)

    def test_at_other_steps_nothing_is_touched(self, watched):
        """The state is not even asked for."""
        asked, losses = [], []

        class Asked(defaultdict):
            def get(self, *args):
                asked.append(len(losses))
                return super().get(*args)

        model = mlp()
        optimizer = torch.optim.AdamW(model.parameters())
        optimizer.state = Asked(dict)
        with watched():
            fit(model, optimizer, steps=12, each=losses.append)

        assert {0, 10} == set(asked)
