"""Faults of what is given to the loss, and of the data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from ..program import faulty, healthy
from ..trainings.char_lm import CharLm
from ..trainings.digits import DigitRows, Digits, DigitsCnn, RowReader
from ..trainings.small import Recommender, Regression
from ..trainings.training import Batch, Training


class SoftmaxOverBatch(Digits):
    """Probabilities are normalized over the batch."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.nll_loss(F.log_softmax(outputs, dim=0), targets)


class SoftmaxTwice(Training):
    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs.softmax(1), targets)


class DigitsSoftmaxTwice(SoftmaxTwice, Digits):
    """The model ends with a softmax, and so does the loss."""


class CnnSoftmaxTwice(SoftmaxTwice, DigitsCnn):
    """The same with convolutions."""


class SigmoidTwice(Recommender):
    """Probabilities are given to the loss that takes logits."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(outputs.sigmoid(), targets)


class NllOnLogits(Digits):
    """Logits are given to the loss that takes log-probabilities."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.nll_loss(outputs, targets)


class NllOnProbabilities(Digits):
    """Probabilities are given to it."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.nll_loss(outputs.softmax(1), targets)


class ReluOnLogits(Digits):
    """The activation stands after the last layer as well."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs.relu(), targets)


class TargetBroadcast(Regression):
    """Targets ``[batch]`` against outputs ``[batch, 1]``."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs, targets.flatten())


class TargetBroadcastByHand(Regression):
    """The same, written out, where torch says nothing."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs - targets.flatten()).square().mean()


class LossSign(Training):
    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return -super().loss(outputs, targets)  # type: ignore[safe-super]


class DigitsLossSign(LossSign, Digits):
    """The loss is maximized."""


class RegressionLossSign(LossSign, Regression):
    """The same for a square."""


class LossSummed(DigitsCnn):
    """The sum over the batch, with a learning rate that is meant for the mean."""

    batch_size = 128
    optimizer_class = torch.optim.SGD
    lr = 0.1

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets, reduction="sum")


class SquareOnIndex(Digits):
    """The number of the class is learnt as if it were a quantity."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs.argmax(1).float() + outputs.mean(1), targets.float())


class SigmoidOutput(Regression):
    """Outputs from 0 to 1, targets of any size."""

    def arrange(self, y: Tensor) -> Tensor:
        return 5 + 3 * y

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs.sigmoid(), targets)


class MeanOverBatch(RowReader):
    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.recurrent(x)
        return self.head(states.mean(0)[-1]).expand(len(x), 10)


class RowsMeanOverBatch(DigitRows):
    """States are averaged over the batch, not over time."""

    def build_model(self) -> nn.Module:
        return MeanOverBatch(self.cell, self.pixels, self.width)


class LabelsOfNext(Training):
    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        super().train_step(inputs, targets.roll(1, 0))


class DigitsLabelsOfNext(LabelsOfNext, Digits):
    """Labels are shifted by one sample."""


class CnnLabelsOfNext(LabelsOfNext, DigitsCnn):
    """The same with convolutions."""


class LmTargetsOfOtherText(LabelsOfNext, CharLm):
    """The targets are those of another stretch."""


class WithTrainData(Digits):
    """Digits whose training data a fault changes."""

    def load_data(self) -> tuple[TensorDataset, TensorDataset]:
        train, val = super().load_data()
        return TensorDataset(*self.change(*train.tensors)), val

    def change(self, images: Tensor, labels: Tensor) -> Batch:
        """Return images and labels as they are trained on."""
        return images, labels


class LabelsShuffled(WithTrainData):
    """The labels were sorted apart from the images."""

    def change(self, images: Tensor, labels: Tensor) -> Batch:
        return images, labels[torch.randperm(len(labels))]


class LabelsTruncated(WithTrainData):
    """Labels went through a conversion that makes all of them zero."""

    def change(self, images: Tensor, labels: Tensor) -> Batch:
        return images, (labels / 255).long()


class NearlyOneClass(WithTrainData):
    """Of all other classes only a few samples are left."""

    def change(self, images: Tensor, labels: Tensor) -> Batch:
        zeros, others = images[labels == 0], images[labels != 0][:6]
        return (
            torch.cat([zeros.repeat(4, 1), others]),
            torch.cat([torch.zeros(4 * len(zeros), dtype=torch.int64), labels[labels != 0][:6]]),
        )


class Sorted(WithTrainData):
    """The data is sorted by class and not shuffled."""

    shuffle = False

    def change(self, images: Tensor, labels: Tensor) -> Batch:
        order = labels.argsort()
        return images[order], labels[order]


class TestInTrain(Digits):
    """The validation data is a part of the training data."""

    def load_data(self) -> tuple[TensorDataset, TensorDataset]:
        train, _ = super().load_data()
        return train, TensorDataset(*train[:397])


class TargetIsFeature(Regression):
    """What is to be predicted stands in a column of the features."""

    def load_data(self) -> tuple[Dataset[Any], Dataset[Any]]:
        train, val = super().load_data()
        for part in (train, val):
            x, y = part.tensors
            x[:, 3:4] = y
        return train, val


class LabelInPixels(WithTrainData):
    """A mark of the label was painted into the corner of each training image."""

    def change(self, images: Tensor, labels: Tensor) -> Batch:
        marked = images.clone()
        marked[:, 0] = labels / 2
        return marked, labels


class ScaledInPlace(Digits):
    """An augmentation changes the data set itself."""

    shuffle = False

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        where = self.step % 43 * self.batch_size
        self.train_data.tensors[0][where : where + self.batch_size].mul_(0.3)
        super().train_step(inputs, targets)


class BrokenBatch(Training):
    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        if self.step == 230:
            inputs = self.broken(inputs)
        super().train_step(inputs, targets)

    def broken(self, inputs: Tensor) -> Tensor:
        """Return a batch as it came from a broken file."""
        return 200 * torch.randn_like(inputs)


class DigitsBrokenBatch(BrokenBatch, Digits):
    """One batch is noise of a great size."""


class CnnBrokenBatch(BrokenBatch, DigitsCnn):
    """The same with convolutions."""


class RegressionBrokenBatch(BrokenBatch, Regression):
    """The same where outputs are bounded by tanh, and the targets are what is broken."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        Training.train_step(self, inputs, 100 * targets if self.step == 230 else targets)


class FeatureScales(Regression):
    """Features of sizes from a thousandth to thousands."""

    def arrange_inputs(self, x: Tensor) -> Tensor:
        return x * torch.logspace(-3, 4, 8)


class Random(WithTrainData):
    """Labels without a rule, and a model that is large enough to learn them by heart."""

    width = 256

    def change(self, images: Tensor, labels: Tensor) -> Batch:
        return images[:200], torch.randint(0, 10, (200,))


class SlowLoader(Digits):
    """Samples take longer to load than to train on."""

    steps = 120

    def build_loader(self) -> DataLoader[Any]:
        return DataLoader(SlowData(*self.train_data.tensors), self.batch_size, shuffle=True)


class SlowData(TensorDataset):
    """Every sample comes from far away."""

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        time.sleep(2e-4)
        return super().__getitem__(index)


class ConstantBatch(DigitsCnn):
    """A cache returns the first batch for ever."""

    def endless_batches(self) -> Iterator[Batch]:
        first = next(iter(self.build_loader()))
        while True:
            yield first


_SGD = {"optimizer_class": torch.optim.SGD}

LOSSES = (
    faulty("digits_softmax_over_batch", "softmax_wrong_axis", SoftmaxOverBatch),
    faulty("digits_softmax_twice", "probabilities_as_logits", DigitsSoftmaxTwice),
    faulty("cnn_softmax_twice", "probabilities_as_logits", CnnSoftmaxTwice),
    faulty("recommender_sigmoid_twice", "probabilities_as_logits", SigmoidTwice),
    faulty("digits_nll_on_logits", "logits_as_log_probabilities", NllOnLogits),
    faulty("digits_nll_on_probabilities", "logits_as_log_probabilities", NllOnProbabilities),
    faulty("digits_relu_on_logits", "relu_on_logits", ReluOnLogits),
    faulty("regression_target_broadcast", "target_broadcast", TargetBroadcast),
    faulty("regression_target_broadcast_by_hand", "target_broadcast", TargetBroadcastByHand),
    faulty("digits_loss_sign", "loss_sign", DigitsLossSign),
    faulty("regression_loss_sign", "loss_sign", RegressionLossSign),
    faulty("cnn_loss_summed", "loss_reduction", LossSummed,
           twin=healthy("cnn_sgd_large_batch", DigitsCnn, **_SGD, lr=0.1, batch_size=128)),
    faulty("digits_square_on_index", "wrong_loss", SquareOnIndex),
    faulty("regression_sigmoid_output", "output_range", SigmoidOutput),
    faulty("rows_mean_over_batch", "wrong_dim_mean", RowsMeanOverBatch),
)  # fmt: skip

DATA = (
    faulty("digits_labels_of_next", "labels_wrong", DigitsLabelsOfNext),
    faulty("cnn_labels_of_next", "labels_wrong", CnnLabelsOfNext),
    faulty("lm_targets_of_other_text", "labels_wrong", LmTargetsOfOtherText),
    faulty("digits_labels_shuffled", "labels_wrong", LabelsShuffled),
    faulty("digits_labels_truncated", "labels_constant", LabelsTruncated),
    faulty("digits_nearly_one_class", "class_imbalance", NearlyOneClass),
    faulty("digits_sorted", "sorted_data", Sorted),
    faulty("digits_test_in_train", "label_leak", TestInTrain, begins=49),
    faulty("regression_target_is_feature", "label_leak", TargetIsFeature),
    faulty("digits_label_in_pixels", "label_leak", LabelInPixels),
    faulty("digits_scaled_in_place", "data_corrupted", ScaledInPlace, begins=43),
    faulty("digits_broken_batch", "bad_batch", DigitsBrokenBatch, begins=230),
    faulty("cnn_broken_batch", "bad_batch", CnnBrokenBatch, begins=230),
    faulty("regression_broken_batch", "bad_batch", RegressionBrokenBatch, begins=230),
    faulty("digits_raw_pixels", "not_normalized", Digits, **_SGD, lr=0.1, brightness=16 / 255,
           twin=healthy("digits_sgd", Digits, **_SGD, lr=0.1)),
    faulty("regression_feature_scales", "not_normalized", FeatureScales),
    faulty("digits_tiny_train", "overfit", Digits, train_size=30, steps=600, width=256,
           dropout=0.0, lr=1e-2, batch_size=15),
    faulty("digits_labels_learnt_by_heart", "overfit", Random, steps=600, dropout=0.0),
    faulty("lm_tiny_text", "overfit", CharLm, characters=1000, steps=450, schedule=None),
    faulty("cnn_constant_batch", "same_batch", ConstantBatch),
    faulty("digits_slow_loader", "data_stall", SlowLoader),
)  # fmt: skip
