"""Which numbers are losses, and what they are called."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.nn.functional import mse_loss as imported_before_the_hook

from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd


class Half(nn.modules.loss._Loss):
    """A loss module made of another loss."""

    def forward(self, x, y):
        return F.mse_loss(x, y) / 2


class TestLosses:
    def test_a_module_is_named_by_its_class(self, watched):
        """The functional loss within it is not a second one."""
        with watched() as seen:
            losses = fit(mlp(), loss=nn.MSELoss())

        assert ["loss/MSELoss"] == seen.losses
        assert losses == seen.series("loss/MSELoss")

    def test_a_loss_and_what_it_is_given_say_which_function_computes_it(self, watched):
        """Whatever the script calls its class."""

        class Smoothed(nn.CrossEntropyLoss):
            pass

        with watched(policy=["labels", "predictions"]) as seen:
            fit(mlp(), loss=lambda x, y: Smoothed()(x, y.long().flatten() % x.shape[1]))

        names = ("loss/Smoothed", "prediction/Smoothed", "label/Smoothed")
        functions = {seen.trial.tensor(name).function for name in names}
        assert {"cross_entropy"} == functions

    def test_a_function_is_named_by_itself(self, watched):
        """However the script got hold of it, even before the hook was there."""
        for loss in (lambda x, y: F.mse_loss(x, y), imported_before_the_hook):
            with watched() as seen:
                losses = fit(mlp(), loss=loss)

            assert ["loss/mse_loss"] == seen.losses
            assert losses == seen.series("loss/mse_loss")

    def test_a_loss_inside_of_the_model_is_one(self, watched):
        """As transformers compute it in their forward."""

        class WithLoss(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = mlp()

            def forward(self, x):
                return F.mse_loss(self.net(x), Y)

        with watched() as seen:
            losses = fit(WithLoss(), loss=lambda out, _: out)

        assert ["loss/mse_loss"] == seen.losses
        assert losses == seen.series("loss/mse_loss")

    def test_what_backward_starts_from_is_one_if_nothing_else_is(self, watched):
        """A loss written out by hand has no name of its own."""
        with watched() as seen:
            losses = fit(mlp(), loss=lambda x, y: ((x - y) ** 2).mean())

        assert ["loss/backward"] == seen.losses
        assert losses == seen.series("loss/backward")

    def test_a_loss_of_losses_is_named_by_the_outer_one(self, watched):
        """A custom loss module counts, what it is made of does not."""
        with watched() as seen:
            losses = fit(mlp(), loss=Half())

        assert ["loss/Half"] == seen.losses
        assert losses == seen.series("loss/Half")

    def test_two_lines_of_the_script_are_two_losses(self, watched):
        """The same function on two lines computes two things."""

        def both(out, y):
            near = F.mse_loss(out, y)
            far = F.mse_loss(out, y + 1)
            return near + far

        with watched() as seen:
            losses = fit(mlp(), loss=both)

        assert ["loss/mse_loss", "loss/mse_loss_1"] == seen.losses
        parts = zip(seen.series("loss/mse_loss"), seen.series("loss/mse_loss_1"), strict=True)
        assert losses == pytest.approx([near + far for near, far in parts])

    def test_micro_batches_are_merged_to_their_mean(self, watched):
        """Four micro-batches on one line are one loss, observed four times."""
        model, crit = mlp(), nn.MSELoss()
        optimizer = sgd(model)
        means = []
        with watched() as seen:
            for _ in range(2):
                values = []
                for part, target in zip(X.split(4), Y.split(4), strict=True):
                    loss = crit(model(part), target)
                    (loss / 4).backward()
                    values.append(loss.item())
                optimizer.step()
                optimizer.zero_grad()
                means.append(sum(values) / 4)

        assert means == pytest.approx(seen.series("loss/MSELoss"), rel=1e-12)
        assert [4.0, 4.0] == seen.series("loss/MSELoss", "count")

    def test_a_loss_for_each_sample_is_told_by_what_is_made_of_it(self, watched):
        """``reduction='none'`` is no number; the weighted mean that backward starts from is."""
        with watched() as seen:
            losses = fit(mlp(), loss=lambda x, y: (nn.MSELoss(reduction="none")(x, y) * 2).mean())

        assert ["loss/backward"] == seen.losses
        assert losses == seen.series("loss/backward")

    def test_those_of_validation_are_of_their_mode(self, watched):
        """One line that serves both is one name with two series."""
        model = mlp()

        def evaluate(step):
            model.eval()
            with torch.no_grad():
                F.mse_loss(model(X), Y)
            model.train()

        with watched() as seen:
            fit(model, each=evaluate)

        assert 3 == len(seen.series("loss/mse_loss", mode="EVAL"))
        assert 3 == len(seen.series("loss/mse_loss", mode="TRAIN"))

    def test_every_loss_of_torch_is_seen_without_a_change(self, watched):
        """The functions stay the objects they are, and give what they gave."""
        from stepwatch.hooks.torch.patches import LOSSES

        functions = {name: getattr(F, name) for name in LOSSES}
        expected = F.cross_entropy(X, torch.arange(16) % 4, label_smoothing=0.1)
        with watched():
            assert functions == {name: getattr(F, name) for name in LOSSES}
            assert expected == F.cross_entropy(X, torch.arange(16) % 4, label_smoothing=0.1)
            assert all("_stepwatch" in (f.__kwdefaults__ or {}) for f in functions.values())
        assert all("_stepwatch" not in (f.__kwdefaults__ or {}) for f in functions.values())
        assert expected == F.cross_entropy(X, torch.arange(16) % 4, label_smoothing=0.1)


def test_modules_of_losses_are_known_by_the_function_that_they_call():
    """Those that PyTorch has a function of the same name for."""
    from stepwatch.hooks.torch.patches import LOSSES
    from stepwatch.model.collection import loss_function

    def plain(name):
        return name.lower().replace("_", "").removesuffix("loss")

    functions = {plain(name): name for name in LOSSES}
    modules = {name: functions.get(plain(name)) for name in dir(nn) if name.endswith("Loss")}
    by_name = {name: function for name, function in modules.items() if function}

    assert 12 < len(by_name)
    assert by_name == {name: loss_function(f"loss/{name}") for name in by_name}
    assert "kl_div" == loss_function("loss/KLDivLoss")
