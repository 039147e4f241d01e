"""Faults of layers: how they start, and what they do to what passes through them."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from ..program import faulty, healthy
from ..trainings.digits import ConvNet, DigitRows, Digits, DigitsCnn, RowReader
from ..trainings.play import Bandit, Gan
from ..trainings.small import Vae
from ..trainings.training import Training


class Initialized(Training):
    """Sets the first weights of every linear and convolutional layer."""

    def build_model(self) -> nn.Module:
        model = super().build_model()
        for module in model.modules():
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                self.initialize(module)
        return model

    def initialize(self, module: nn.Module) -> None:
        """Set the weights of one layer."""
        raise NotImplementedError


class AllZero(Initialized):
    def initialize(self, module: nn.Module) -> None:
        nn.init.zeros_(module.weight)
        nn.init.zeros_(module.bias)


class DigitsAllZero(AllZero, Digits):
    """All weights start at zero."""


class CnnAllZero(AllZero, DigitsCnn):
    """The same with convolutions."""


class DigitsAllEqual(Initialized, Digits):
    """All weights start with the same value, so that units stay copies of each other."""

    def initialize(self, module: nn.Module) -> None:
        nn.init.constant_(module.weight, 0.02)


class DigitsHuge(Initialized, Digits):
    """Weights start a hundred times too large."""

    def initialize(self, module: nn.Module) -> None:
        nn.init.normal_(module.weight, std=10.0)


class DigitsTiny(Initialized, Digits):
    """Weights start so small that nothing of the input arrives."""

    depth = 5

    def initialize(self, module: nn.Module) -> None:
        nn.init.normal_(module.weight, std=1e-4)
        nn.init.zeros_(module.bias)


class DeadBias(Digits):
    """A bias of minus ten: no unit of the second layer ever fires."""

    def build_model(self) -> nn.Module:
        model = super().build_model()
        nn.init.constant_(model.layers[1].bias, -10.0)
        return model


class DeadBurst(DigitsCnn):
    """One step with a huge learning rate kills the units."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.optimizer.param_groups[0]["lr"] = 30.0 if self.step == 120 else self.lr
        super().train_step(inputs, targets)


class SaturatedSigmoid(Initialized, Digits):
    """Sigmoids at their ends from the start."""

    activation = nn.Sigmoid

    def initialize(self, module: nn.Module) -> None:
        nn.init.normal_(module.weight, std=20.0)


class SaturatedTanh(Initialized, Digits):
    """The same with tanh, in one layer of three."""

    activation = nn.Tanh
    depth = 3

    def initialize(self, module: nn.Module) -> None:
        if module.in_features == module.out_features:
            nn.init.normal_(module.weight, std=30.0)


class ExplodingRnn(DigitRows):
    """A recurrent network whose states grow from step to step, without clipping."""

    cell = staticmethod(partial(nn.RNN, nonlinearity="relu"))
    pixels = 1
    steps = 150

    def build_model(self) -> nn.Module:
        model = super().build_model()
        nn.init.eye_(model.recurrent.weight_hh_l0)
        with torch.no_grad():
            model.recurrent.weight_hh_l0.mul_(1.6)
        return model


class VanishingRnn(DigitRows):
    """A recurrent network that forgets within a few of 64 steps."""

    cell = nn.RNN
    pixels = 1
    steps = 150

    def build_model(self) -> nn.Module:
        model = super().build_model()
        with torch.no_grad():
            model.recurrent.weight_hh_l0.mul_(0.2)
        return model


class LastRowsReader(RowReader):
    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.recurrent(x)
        return self.head(torch.tanh(30 * states[:, -1]))


class SaturatedReader(DigitRows):
    """A gain before the last tanh, left from an experiment."""

    def build_model(self) -> nn.Module:
        return LastRowsReader(self.cell, self.pixels, self.width)


class FlatNet(ConvNet):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(torch.zeros_like(x))


class InputsLost(DigitsCnn):
    """The model is given zeros in place of its inputs."""

    def build_model(self) -> nn.Module:
        return FlatNet(self.dropout)


class ConstantReward(Bandit):
    """The reward does not depend on what is done."""

    def reward(self, contexts: Tensor, actions: Tensor) -> Tensor:
        return torch.ones(len(actions))


class EarlyGreedy(Bandit):
    """A learning rate at which the policy is sure of one action after a few steps."""

    lr = 0.3
    entropy_bonus = 0.0
    with_baseline = False


LAYERS = (
    faulty("digits_all_zero", "bad_initialization", DigitsAllZero),
    faulty("cnn_all_zero", "bad_initialization", CnnAllZero),
    faulty("digits_all_equal", "bad_initialization", DigitsAllEqual),
    faulty("digits_huge_weights", "bad_initialization", DigitsHuge),
    faulty("digits_tiny_weights", "bad_initialization", DigitsTiny),
    faulty("digits_dead_bias", "dead_relu", DeadBias),
    faulty("cnn_dead_after_burst", "dead_relu", DeadBurst, begins=121),
    faulty("digits_saturated_sigmoid", "saturated", SaturatedSigmoid,
           twin=healthy("digits_sigmoid", Digits, activation=nn.Sigmoid)),
    faulty("digits_saturated_tanh", "saturated", SaturatedTanh,
           twin=healthy("digits_tanh", Digits, activation=nn.Tanh, depth=3)),
    faulty("rows_saturated_reader", "saturated", SaturatedReader),
    faulty("digits_deep_sigmoid", "vanishing_gradient", Digits, depth=10, activation=nn.Sigmoid),
    faulty("digits_very_deep_relu", "vanishing_gradient", Digits, depth=20, width=24),
    faulty("rows_vanishing", "vanishing_gradient", VanishingRnn),
    faulty("rows_exploding", "exploding_gradient", ExplodingRnn),
    faulty("cnn_one_image_at_a_time", "batch_norm_batch", DigitsCnn, batch_size=1, bn_momentum=0.9),
    faulty("digits_dropout_too_high", "dropout_too_high", Digits, dropout=0.99),
    faulty("cnn_inputs_lost", "data_corrupted", InputsLost),
    faulty("gan_discriminator_wins", "gan_collapse", Gan, discriminator_lr=0.3, lr=1e-5),
    faulty("bandit_constant_reward", "rl_collapse", ConstantReward),
    faulty("bandit_early_greedy", "rl_collapse", EarlyGreedy),
    faulty("vae_code_unused", "posterior_collapse", Vae, kl_weight=100.0, annealed_steps=1),
)  # fmt: skip
