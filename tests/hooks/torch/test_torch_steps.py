"""When a step begins and ends, and of which mode it is."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.errors import ConfigError
from stepwatch.model.steps import Mode
from tests.support.hooks.torch.trainings import X, Y, fit, inputs, mlp, sgd


def evaluate(model):
    model.eval()
    with torch.no_grad():
        F.mse_loss(model(X), Y)
    model.train()


class TestTrainSteps:
    def test_each_step_of_the_only_optimizer_is_one(self, watched):
        """With its loss, its gradients, its outputs and the weights it began with."""
        with watched() as seen:
            losses = fit(mlp(), steps=5)

        assert {"TRAIN": 5} == seen.counts
        assert losses == seen.series("loss/mse_loss")
        assert [0.1] * 5 == seen.series("learning_rate/0")

    def test_several_optimizers_share_a_step(self, watched):
        """Encoder and decoder with an optimizer each: one loss, one step."""
        a, b = nn.Linear(4, 8), nn.Linear(8, 1)
        first, second = sgd(a), sgd(b, lr=0.2)
        with watched() as seen:
            for _ in range(4):
                first.zero_grad()
                second.zero_grad()
                F.mse_loss(b(a(X)), Y).backward()
                first.step()
                second.step()

        assert {"TRAIN": 4} == seen.counts
        assert 4 == len(seen.series("loss/mse_loss"))
        assert 4 == len(seen.series("gradient/Linear_2.weight"))
        assert [[0.1] * 4, [0.2] * 4] == [seen.series(f"learning_rate/{n}") for n in (0, 1)]

    def test_both_turns_of_a_gan_are_one_step(self, watched):
        """Its three losses and both networks are in every step."""
        with watched() as seen:
            train_gan(steps=4)

        assert {"TRAIN": 4} == seen.counts
        assert 3 == len(seen.losses)
        assert {4} == {len(seen.series(name)) for name in seen.losses}
        assert 4 == len(seen.series("gradient/Linear.weight"))

    def test_optimizers_of_different_rates_end_a_step_with_the_faster_one(self, watched):
        """A critic that steps three times for each of the actor's: three steps."""
        actor, critic = mlp(), mlp()
        slow, fast = sgd(actor), sgd(critic)
        with watched() as seen:
            for number in range(9):
                fit(critic, fast, steps=1)
                if number % 3 == 2:
                    fit(actor, slow, steps=1)

        assert {"TRAIN": 9} == seen.counts
        assert 9 == len(seen.series("gradient/0.weight"))
        assert 3 == len(seen.series("gradient/Sequential_2.0.weight"))

    def test_an_optimizer_around_another_is_one(self, watched):
        """As SAM and accelerate wrap: the groups are shared, nothing is trained twice."""

        class Around(torch.optim.Optimizer):
            def __init__(self, inner):
                self.inner = inner
                super().__init__(inner.param_groups, {})
                self.param_groups = inner.param_groups

            def step(self, closure=None):
                return self.inner.step(closure)

        model = mlp()
        with watched() as seen:
            fit(model, Around(sgd(model)), steps=4)
            evaluate(model)

        assert {"TRAIN": 4, "EVAL": 1} == seen.counts
        assert 4 == len(seen.series("gradient/0.weight"))
        assert {1} == {
            info.optimizer_groups for info in seen_weights(seen) if info.optimizer_groups
        }

    @pytest.mark.parametrize(("together", "groups"), [(False, 1), (True, 2)])
    def test_two_optimizers_of_one_model_hold_it_twice_after_the_same_backward(
        self, watched, together, groups
    ):
        """As an encoder that is trained by two losses in turn has two, each with its gradients."""
        model = mlp()
        first, second = sgd(model), sgd(model)
        with watched() as seen:
            for _ in range(5):
                for optimizers in ([first, second],) if together else ([first], [second]):
                    F.mse_loss(model(X), Y).backward()
                    for optimizer in optimizers:
                        optimizer.step()
                    model.zero_grad()

        assert groups == max(info.optimizer_groups for info in seen_weights(seen))

    def test_an_optimizer_that_takes_over_holds_a_model_once(self, watched):
        """As L-BFGS after Adam, whose closure computes gradients within its step."""
        model = mlp()
        adam, last = torch.optim.Adam(model.parameters()), torch.optim.LBFGS(model.parameters())

        def closure():
            model.zero_grad()
            loss = F.mse_loss(model(X), Y)
            loss.backward()
            return loss

        with watched() as seen:
            for _ in range(5):
                closure()
                adam.step()
            for _ in range(5):
                last.step(closure)

        assert 1 == max(info.optimizer_groups for info in seen_weights(seen))

    def test_lbfgs_asks_several_times_within_one_step(self, watched):
        """Its closure runs forward and backward; the losses are merged."""
        model = mlp()
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(X), Y)
            loss.backward()
            return loss

        with watched() as seen:
            for _ in range(3):
                optimizer.step(closure)

        assert {"TRAIN": 3} == seen.counts
        assert all(count >= 3 for count in seen.series("loss/mse_loss", "count"))

    def test_what_no_optimizer_holds_gets_its_gradients_within_a_step_too(self, watched):
        """As Lightning trains: in a closure, after a first training of the same script."""
        first, second = mlp(), mlp()

        def train(model, optimizer):
            def closure():
                optimizer.zero_grad()
                loss = F.mse_loss(model(X), Y)
                loss.backward()
                return loss

            for _ in range(3):
                optimizer.step(closure)

        with watched() as seen:
            train(first, torch.optim.Adam(first.parameters()))
            optimizer = torch.optim.Adam(second.parameters())
            second[2] = nn.Linear(second[2].in_features, second[2].out_features)
            train(second, optimizer)

        names = set(seen.infos())
        [replaced] = (name for name in names if re.fullmatch(r"\w+\.2\.weight", name))
        assert f"gradient/{replaced}" in names

    def test_updates_by_hand_are_steps_too(self, watched):
        """Without torch.optim a step ends when the model runs again."""
        model = mlp()
        losses, weights = [], []
        with watched() as seen:
            for _ in range(4):
                weights.append(model[0].weight.detach().double().sum().item())
                loss = F.mse_loss(model(X), Y)
                loss.backward()
                losses.append(loss.item())
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter -= 0.1 * parameter.grad
                        parameter.grad = None

        assert {"TRAIN": 4} == seen.counts
        assert losses == seen.series("loss/mse_loss")
        assert weights == pytest.approx(seen.series("0.weight", "sum"))
        assert 4 == len(seen.series("gradient/2.weight"))

    def test_a_model_may_train_in_eval_mode(self, watched):
        """Whoever freezes batch norm this way trains all the same, from the first step on."""
        model = mlp().eval()
        with watched() as seen:
            losses = fit(model)

        assert {"TRAIN": 3} == seen.counts
        assert losses == seen.series("loss/mse_loss")
        assert 3 == len(seen.series("output/0"))

    def test_a_teacher_takes_no_part(self, watched):
        """What runs under no_grad is asked, not trained; the student's step holds its loss."""
        student, teacher = mlp(), nn.Linear(4, 1)

        def distill(out, _):
            with torch.no_grad():
                target = teacher(X)
            return F.mse_loss(out, target)

        with watched() as seen:
            losses = fit(student, loss=distill)

        assert losses == seen.series("loss/mse_loss", mode="TRAIN")
        assert 3 == seen.counts["TRAIN"]
        assert "capturing 4 of 4 parameters, 4 of 4 outputs" == seen.end.coverage

    def test_a_step_that_the_scaler_skips_is_told(self, watched):
        """An infinite gradient: nothing is updated, but the step was taken."""
        model = mlp()
        optimizer, scaler = sgd(model), torch.amp.GradScaler("cpu")
        with watched() as seen:
            for step in range(4):
                optimizer.zero_grad()
                loss = F.mse_loss(model(X), Y) * (float("inf") if step == 1 else 1)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()

        assert {"TRAIN": 4} == seen.counts
        assert [0.0, 1.0, 0.0, 0.0] == seen.series("optimizer/skipped")
        assert [0, 32, 0, 0] == [
            nan + inf + neg
            for nan, inf, neg in zip(
                *(seen.series("gradient/0.weight", what) for what in ("nan", "posinf", "neginf")),
                strict=True,
            )
        ]
        infinite = seen.series("gradient/0.weight", "l2")
        assert all(norm < 100 for norm in infinite), "gradients are those after unscaling"

    def test_clipping_is_told(self, watched):
        """The norm before, and the bound."""
        model = mlp()
        optimizer = sgd(model)
        norms = []
        with watched() as seen:
            for _ in range(3):
                optimizer.zero_grad()
                F.mse_loss(model(X), Y).backward()
                norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.01).item())
                optimizer.step()

        assert norms == seen.series("optimizer/gradient_norm_before_clipping")
        clipped = [
            seen.series(f"gradient/{name}", "sum_sq") for name, _ in model.named_parameters()
        ]
        after = [sum(each) ** 0.5 for each in zip(*clipped, strict=True)]
        assert [0.01] * 3 == pytest.approx(after, rel=1e-3)

    def test_what_was_left_open_is_told_at_the_end(self, watched):
        """A loss that broke off before its optimizer stepped is the last of the run."""
        model = mlp()
        with watched() as seen:
            fit(model)
            F.mse_loss(model(X), Y)

        assert {"TRAIN": 4} == seen.counts
        assert [3] == seen.trial.tensor("loss/mse_loss_1").steps()


class TestOtherModes:
    def test_each_batch_of_validation_is_a_step(self, watched):
        """Also the last, which nothing but the end of the run ends."""
        model = mlp()
        with watched() as seen:
            fit(model)
            for _ in range(4):
                evaluate(model)

        assert {"TRAIN": 3, "EVAL": 4} == seen.counts
        assert [0, 1, 2, 3, 4, 5, 6] == seen.trial.steps()

    def test_validation_under_inference_mode_is_seen(self, watched):
        """Tensors made there carry no version; in-place layers must not confuse us."""
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(inplace=True), nn.Linear(8, 1))
        with watched() as seen:
            fit(model)
            model.eval()
            with torch.inference_mode():
                for _ in range(2):
                    F.mse_loss(model(X), Y)

        assert {"TRAIN": 3, "EVAL": 2} == seen.counts
        assert min(seen.series("output/0", "min", "EVAL")) < 0
        assert 0.0 == min(seen.series("output/1", "min", "EVAL"))

    def test_two_models_asked_in_turn_share_a_step(self, watched):
        """Encoder and decoder see the same batch."""
        a, b = nn.Linear(4, 4), nn.Linear(4, 1)
        with watched() as seen, torch.no_grad():
            for _ in range(3):
                b(a(X))

        assert {"EVAL": 3} == seen.counts

    def test_the_script_may_say_the_mode(self, watched):
        """Until it takes that back."""
        model = mlp()
        with watched() as seen:
            fit(model)
            seen.hook.set_mode(Mode.PREDICT)
            with torch.no_grad():
                model(X)
                model(X)
            seen.hook.set_mode(None)
            fit(model)
            seen.hook.set_mode("eval")
            model(X)

        assert {"TRAIN": 6, "EVAL": 1, "PREDICT": 2} == seen.counts

    def test_a_mode_that_is_none_is_refused(self, watched):
        """GLOBAL is the view over all modes."""
        with watched() as seen:
            for wrong in ("GLOBAL", "validation"):
                with pytest.raises(ConfigError, match="there are TRAIN, EVAL, PREDICT"):
                    seen.hook.set_mode(wrong)


def train_gan(steps):
    torch.manual_seed(0)
    generator, discriminator = nn.Linear(2, 4), mlp()
    of_generator = torch.optim.Adam(generator.parameters())
    of_discriminator = torch.optim.Adam(discriminator.parameters())
    bce = nn.BCEWithLogitsLoss()
    real, fake = torch.ones(16, 1), torch.zeros(16, 1)
    for step in range(steps):
        noise = inputs(16, 2, seed=step)
        of_discriminator.zero_grad()
        bce(discriminator(X), real).backward()
        bce(discriminator(generator(noise).detach()), fake).backward()
        of_discriminator.step()
        of_generator.zero_grad()
        bce(discriminator(generator(noise)), real).backward()
        of_generator.step()


def seen_weights(seen):
    return [
        info
        for (record,) in seen.trial.records()
        for info in record.layout.tensors
        if info.collection == "weights"
    ]


class TestPausing:
    @pytest.mark.parametrize("num_before", [0, 3])
    def test_what_runs_while_it_looks_away_is_not_seen(self, watched, num_before):
        """Another framework may train on torch; it looks again afterwards."""
        model = mlp()
        optimizer = sgd(model, lr=0.01)

        def train(steps):
            for _ in range(steps):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(X), Y).backward()
                optimizer.step()

        with watched() as seen:
            train(num_before)
            for _ in range(2):
                seen.hook.pause()
                train(2)
                seen.hook.resume()
            train(4)

        assert {"TRAIN": num_before + 4} == seen.counts

    def test_nothing_of_torch_is_replaced_anew_before_a_model_ran(self, watched):
        """Keras on torch pauses it at each of its own steps."""
        with watched() as seen:
            save = torch.save
            seen.hook.pause()
            assert torch.save is save
            seen.hook.resume()
            assert torch.save is save
        assert torch.save is not save
