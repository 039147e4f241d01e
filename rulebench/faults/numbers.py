"""Faults of numbers: nan, infinity, and too few bits."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from ..program import faulty
from ..trainings.char_lm import CharLm
from ..trainings.digits import Digits, DigitsCnn, Perceptron
from ..trainings.small import Autoencoder, Regression
from ..trainings.training import Training


class NanSample(Digits):
    """One training sample holds a nan."""

    def load_data(self):
        train, val = super().load_data()
        train.tensors[0][700, 20] = float("nan")
        return train, val


class InfiniteFeature(Regression):
    """A logarithm of a count that is zero for one sample."""

    def load_data(self):
        train, val = super().load_data()
        train.tensors[0][300, 2] = float("-inf")
        return train, val


class LogOfZero(Digits):
    """The logarithm of probabilities that become zero."""

    lr = 0.05

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        probabilities = (30 * outputs).softmax(1)
        return -torch.log(probabilities[torch.arange(len(targets)), targets]).mean()


class ZeroByZero(Digits):
    """Every pixel is divided by its deviation over the batch, which is zero in the corners."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        super().train_step((inputs - inputs.mean(0)) / inputs.std(0), targets)


class NormOfZero(Autoencoder):
    """The gradient of a square root at zero: the code starts at zero."""

    def build_model(self) -> nn.Module:
        model = super().build_model()
        nn.init.zeros_(model.encoder[2].weight)
        nn.init.zeros_(model.encoder[2].bias)
        return model

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        code = self.model.encode(targets)
        return super().loss(outputs, targets) + 1e-3 * code.square().sum(1).sqrt().mean()


class ExponentialNet(Perceptron):
    def features(self, x: Tensor) -> Tensor:
        return self.layers[1](torch.exp(20 * self.layers[0](x)))


class ExponentialOverflows(Digits):
    """An activation without a bound."""

    def build_model(self) -> nn.Module:
        return ExponentialNet(width=self.width)


class NothingToPredict(CharLm):
    """In one batch every target is padding."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        if self.step == 120:
            targets = torch.full_like(targets, -100)
        super().train_step(inputs, targets)


class ClampedNet(Perceptron):
    def forward(self, x: Tensor) -> Tensor:
        mask = torch.where(x.sum(1, keepdim=True) > 22, float("-inf"), 0.0)
        return super().forward(x) + mask


class MaskedAway(Digits):
    """All logits of some samples are masked with minus infinity."""

    def build_model(self) -> nn.Module:
        return ClampedNet(width=self.width)


class LowPrecision(Training):
    dtype: torch.dtype = torch.bfloat16

    def build_model(self) -> nn.Module:
        return super().build_model().to(self.dtype)


class DigitsLowPrecision(LowPrecision, Digits):
    """Weights in 16 bits without a copy in 32."""

    def arrange(self, images: Tensor) -> Tensor:
        return images.to(self.dtype)


class LmLowPrecision(LowPrecision, CharLm):
    """The same in a transformer."""


class HalfWithoutScaler(DigitsLowPrecision):
    """A loss that is small by design, in half precision: its gradients become zero."""

    dtype = torch.float16

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return 1e-4 * F.cross_entropy(outputs, targets)


class HalfOverflows(DigitsLowPrecision):
    """Activations of half precision beyond 65504."""

    dtype = torch.float16
    brightness = 16 / 60000


class ScalerSkips(DigitsCnn):
    """A penalty overflows at every step, so that the scaler skips all of them."""

    def prepare(self) -> None:
        super().prepare()
        self.scaler = torch.amp.GradScaler("cpu")

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.optimizer.zero_grad()
        outputs = self.model(inputs)
        penalty = 0 * torch.exp(outputs.abs().sum() + 80)
        self.scaler.scale(self.loss(outputs, targets) + penalty).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


class ClippedBeforeUnscale(DigitsCnn):
    """Gradients are clipped while they are still multiplied by the scale of the loss."""

    optimizer_class = torch.optim.SGD
    lr = 0.05
    clip_norm = 1.0

    def prepare(self) -> None:
        super().prepare()
        self.scaler = torch.amp.GradScaler("cpu")

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.optimizer.zero_grad()
        self.scaler.scale(self.loss(self.model(inputs), targets)).backward()
        self.clip_gradients()
        self.scaler.step(self.optimizer)
        self.scaler.update()


NUMBERS = (
    faulty("digits_nan_sample", "non_finite", NanSample),
    faulty("regression_infinite_feature", "non_finite", InfiniteFeature),
    faulty("digits_log_of_zero", "non_finite", LogOfZero),
    faulty("digits_zero_by_zero", "non_finite", ZeroByZero),
    faulty("autoencoder_norm_of_zero", "non_finite", NormOfZero),
    faulty("digits_exponential_overflows", "non_finite", ExponentialOverflows),
    faulty("lm_nothing_to_predict", "non_finite", NothingToPredict, begins=120),
    faulty("digits_masked_away", "non_finite", MaskedAway),
    faulty("digits_half_without_scaler", "low_precision", HalfWithoutScaler),
    faulty("digits_half_overflows", "low_precision", HalfOverflows),
    faulty("digits_bfloat16_lost_updates", "low_precision", DigitsLowPrecision, lr=2e-5),
    faulty("lm_bfloat16_lost_updates", "low_precision", LmLowPrecision, lr=1e-5),
    faulty("cnn_scaler_skips", "scaler_skips", ScalerSkips),
    faulty("cnn_clipped_before_unscale", "clip_too_tight", ClippedBeforeUnscale),
)
