"""Handwritten digits: 1,797 images of 8 x 8 pixels in ten classes, which scikit-learn brings."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import torch
import torch.nn.functional as F  # noqa: N812  (what everybody calls it)
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from .training import Training


@lru_cache(maxsize=1)
def digits() -> tuple[Tensor, Tensor]:
    """Return images ``[1797, 64]``, float32 from 0 to 16, and labels ``[1797]``, int64."""
    images, labels = load_digits(return_X_y=True)
    return torch.tensor(images, dtype=torch.float32), torch.tensor(labels, dtype=torch.int64)


class Perceptron(nn.Module):
    """Linear layers with an activation between; ``[batch, inputs]`` to ``[batch, outputs]``."""

    def __init__(
        self,
        *,
        inputs: int = 64,
        width: int = 64,
        depth: int = 2,
        outputs: int = 10,
        dropout: float = 0.1,
        activation: Callable[[], nn.Module] = nn.ReLU,
    ) -> None:
        super().__init__()
        widths = [inputs] + depth * [width]
        self.layers = nn.ModuleList(
            nn.Linear(wide, next_wide) for wide, next_wide in pairwise(widths)
        )
        self.activation = activation()
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, outputs)

    def features(self, x: Tensor) -> Tensor:
        """Return what the head sees, ``[batch, width]``."""
        for layer in self.layers:
            x = self.activation(layer(x))
        return self.dropout(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


class ConvNet(nn.Module):
    """Two convolutions with batch normalization; ``[batch, 1, 8, 8]`` to ``[batch, 10]``."""

    def __init__(self, dropout: float = 0.3, momentum: float = 0.1) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.BatchNorm2d(8, momentum=momentum),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.BatchNorm2d(16, momentum=momentum),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(dropout), nn.Linear(256, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x))


class Digits(Training):
    """A perceptron learns the digits."""

    lr = 2e-3
    width: int = 64
    depth: int = 2
    dropout: float = 0.1
    activation: Callable[[], nn.Module] = nn.ReLU
    #: What the pixels are divided by.
    brightness: float = 16.0
    train_size: int = 1400

    def load_data(self) -> tuple[TensorDataset, TensorDataset]:
        images, labels = digits()
        images = self.arrange(images / self.brightness)
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(self.seed))
        train, val = order[: self.train_size], order[1400:]
        return TensorDataset(images[train], labels[train]), TensorDataset(images[val], labels[val])

    def arrange(self, images: Tensor) -> Tensor:
        """Return the images in the shape that the model takes."""
        return images

    def build_model(self) -> nn.Module:
        return Perceptron(
            width=self.width,
            depth=self.depth,
            dropout=self.dropout,
            activation=self.activation,
        )

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets)


class DigitsCnn(Digits):
    """A small convolutional network learns the digits."""

    dropout = 0.3
    bn_momentum: float = 0.1

    def arrange(self, images: Tensor) -> Tensor:
        return images.view(-1, 1, 8, 8)

    def build_model(self) -> nn.Module:
        return ConvNet(self.dropout, self.bn_momentum)


class RowReader(nn.Module):
    """A recurrent network over a sequence; ``[batch, time, inputs]`` to ``[batch, 10]``."""

    def __init__(self, cell: type[nn.RNNBase], inputs: int, width: int) -> None:
        super().__init__()
        self.recurrent = cell(inputs, width, batch_first=True)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.recurrent(x)
        return self.head(states[:, -1])


class DigitRows(Digits):
    """A recurrent network reads the digits row by row."""

    lr = 5e-3
    cell: type[nn.RNNBase] = nn.LSTM
    width = 32
    #: How many pixels it is shown at a time.
    pixels: int = 8

    def arrange(self, images: Tensor) -> Tensor:
        return images.view(len(images), -1, self.pixels)

    def build_model(self) -> nn.Module:
        return RowReader(self.cell, self.pixels, self.width)
