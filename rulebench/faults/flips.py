"""One bit of the exponent of one number flips in memory, at one step."""

from __future__ import annotations

import torch
from torch import Tensor

from ..program import faulty
from ..trainings.char_lm import CharLm
from ..trainings.digits import DigitRows, Digits, DigitsCnn
from ..trainings.small import Autoencoder, Recommender, Regression
from ..trainings.training import Training


@torch.no_grad()
def flip_exponent_bit(values: Tensor, index: int, bit: int) -> None:
    """Flip a bit of a number in place.

    Args:
        values: float32.
        index: Which, of the elements in a row.
        bit: Of its exponent, from 0, which doubles or halves, to 7.
    """
    bits = values.detach().view(torch.int32).view(-1)
    bits[index % len(bits)] ^= 1 << (23 + bit)


class Flip(Training):
    """Flips a bit of a parameter, of its gradient or of what the optimizer remembers of it."""

    at: int = 150
    what: str = "weight"
    parameter: int = 0
    index: int = 77
    bit: int = 7

    def clip_gradients(self) -> None:
        super().clip_gradients()
        if self.step == self.at:
            flip_exponent_bit(self.victim(), self.index, self.bit)

    def victim(self) -> Tensor:
        """Return the tensor that is hit."""
        parameter = list(self.model.parameters())[self.parameter]
        if self.what == "weight":
            return parameter
        if self.what == "gradient":
            return parameter.grad
        return self.optimizer.state[parameter][self.what]


class FlipInDigits(Flip, Digits):
    """A perceptron is hit."""


class FlipInCnn(Flip, DigitsCnn):
    """A convolutional network is hit."""


class FlipInLm(Flip, CharLm):
    """A transformer is hit."""


class FlipInRows(Flip, DigitRows):
    """A recurrent network is hit."""


class FlipInRegression(Flip, Regression):
    """A regression is hit."""


class FlipInAutoencoder(Flip, Autoencoder):
    """An autoencoder is hit."""


class FlipInRecommender(Flip, Recommender):
    """A table of embeddings is hit."""


def _flip(name: str, training: type[Flip], what: str, parameter: int, **options: object):
    return faulty(name, "bit_flip", training, begins=150, what=what, parameter=parameter, **options)


FLIPS = (
    _flip("digits_weight_flips_high", FlipInDigits, "weight", 0, bit=7),
    _flip("digits_weight_flips_middle", FlipInDigits, "weight", 2, bit=3),
    _flip("digits_head_flips", FlipInDigits, "weight", 4, bit=7),
    _flip("cnn_weight_flips_high", FlipInCnn, "weight", 0, bit=7),
    _flip("cnn_weight_flips_sixteen_fold", FlipInCnn, "weight", 4, bit=6),
    _flip("lm_embedding_flips", FlipInLm, "weight", 0, bit=7, index=2100),
    _flip("lm_weight_flips", FlipInLm, "weight", 4, bit=7),
    _flip("lm_norm_flips", FlipInLm, "weight", 2, bit=7, index=5),
    _flip("rows_weight_flips", FlipInRows, "weight", 1, bit=7),
    _flip("regression_weight_flips", FlipInRegression, "weight", 0, bit=7),
    _flip("autoencoder_weight_flips", FlipInAutoencoder, "weight", 4, bit=7),
    _flip("recommender_row_flips", FlipInRecommender, "weight", 0, bit=7),
    _flip("digits_gradient_flips", FlipInDigits, "gradient", 2, bit=7),
    _flip("cnn_gradient_flips", FlipInCnn, "gradient", 4, bit=7),
    _flip("lm_gradient_flips", FlipInLm, "gradient", 4, bit=7),
    _flip("digits_momentum_flips", FlipInDigits, "exp_avg", 2, bit=7),
    _flip("lm_momentum_flips", FlipInLm, "exp_avg", 4, bit=7),
    _flip("digits_second_moment_flips", FlipInDigits, "exp_avg_sq", 2, bit=7),
    _flip("lm_second_moment_flips", FlipInLm, "exp_avg_sq", 0, bit=7, index=2100),
)
