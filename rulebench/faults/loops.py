"""Faults of the training loop: what PyTorch lets pass without a word."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from ..program import faulty, healthy
from ..trainings.char_lm import Block, CharLm, CharTransformer
from ..trainings.digits import Digits, DigitsCnn, Perceptron
from ..trainings.small import Autoencoder, AutoencoderNet
from ..trainings.training import Batch, Training


class NoZeroGrad(Training):
    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.loss(self.model(inputs), targets).backward()
        self.clip_gradients()
        self.optimizer.step()
        self.after_update()


class DigitsNoZeroGrad(NoZeroGrad, Digits):
    """Gradients of all steps add up."""


class LmNoZeroGrad(NoZeroGrad, CharLm):
    """The same in a transformer; clipping hides it."""


class EvalModeFromStart(Training):
    def prepare(self) -> None:
        super().prepare()
        self.model.eval()

    def evaluate(self) -> float:
        loss = super().evaluate()
        self.model.eval()
        return loss


class CnnEvalModeFromStart(EvalModeFromStart, DigitsCnn):
    """``eval()`` was called and never ``train()``."""


class EvalModeAfterValidation(Training):
    def evaluate(self) -> float:
        loss = super().evaluate()
        self.model.eval()
        return loss


class CnnEvalModeAfterValidation(EvalModeAfterValidation, DigitsCnn):
    """``train()`` is forgotten after the first evaluation."""


class LmEvalModeAfterValidation(EvalModeAfterValidation, CharLm):
    """The same where only dropout tells."""


class TrainModeInEvaluation(Training):
    @torch.no_grad()
    def evaluate(self) -> float:
        batches = itertools.islice(self.endless_batches(), 3)
        return float(sum(self.loss(self.model(inputs), targets) for inputs, targets in batches))


class CnnTrainModeInEvaluation(TrainModeInEvaluation, DigitsCnn):
    """Evaluation changes the statistics of batch normalization."""


class LmDropoutInEvaluation(TrainModeInEvaluation, CharLm):
    """Dropout goes on in evaluation."""


class HeadReplaced(Digits):
    """The head is replaced after the optimizer was made."""

    def prepare(self) -> None:
        super().prepare()
        self.model.head = nn.Linear(self.width, 10)


class FeaturesOnly(DigitsCnn):
    """The optimizer was given the features, not the classifier."""

    def build_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.model.features.parameters(), lr=self.lr)


class BlockLeftOut(CharLm):
    """The optimizer was given all but the last block."""

    def build_optimizer(self) -> torch.optim.Optimizer:
        parts = [self.model.wte, self.model.wpe, self.model.blocks[0], self.model.lm_head]
        return torch.optim.AdamW(
            [parameter for part in parts for parameter in part.parameters()], lr=self.lr
        )


class OptimizerOfCopy(Digits):
    """The optimizer holds the parameters of a copy."""

    def build_optimizer(self) -> torch.optim.Optimizer:
        optimizer = super().build_optimizer()
        self.model = copy.deepcopy(self.model)
        return optimizer


class ListedPerceptron(Perceptron):
    def __init__(self) -> None:
        super().__init__(depth=3)
        self.hidden = [*self.layers[1:]]
        self.layers = self.layers[:1]

    def features(self, x: Tensor) -> Tensor:
        for layer in [*self.layers, *self.hidden]:
            x = self.activation(layer(x))
        return self.dropout(x)


class LayersInList(Digits):
    """Layers stand in a plain list, so the model does not know them."""

    def build_model(self) -> nn.Module:
        return ListedPerceptron()


class BlockFrozen(CharLm):
    """A block in the middle was frozen to look for something, and stayed so."""

    def build_model(self) -> nn.Module:
        model = super().build_model()
        model.blocks[1].requires_grad_(False)
        return model


class FrozenAgain(DigitsCnn):
    """A helper that draws pictures freezes the model's features for good."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        if self.step == 100:
            self.model.features.requires_grad_(False)
        super().train_step(inputs, targets)


class DetachedPerceptron(Perceptron):
    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).detach())


class DetachedFeatures(Digits):
    """Features are detached before the head, as in an experiment with a fixed backbone."""

    def build_model(self) -> nn.Module:
        return DetachedPerceptron()


class EncoderWithoutGrad(AutoencoderNet):
    def encode(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return super().encode(x)


class AutoencoderNoGrad(Autoencoder):
    """The encoder runs under ``no_grad``."""

    def build_model(self) -> nn.Module:
        return EncoderWithoutGrad(self.code)


class RoundedPerceptron(Perceptron):
    def features(self, x: Tensor) -> Tensor:
        hidden = torch.tensor(self.layers[0](x).relu().tolist())
        return self.activation(self.layers[1](hidden))


class ThroughNumpy(Digits):
    """Values leave torch between two layers."""

    def build_model(self) -> nn.Module:
        return RoundedPerceptron()


class ZeroedBeforeStep(Digits):
    """``zero_grad`` stands between backward and step."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        loss = self.loss(self.model(inputs), targets)
        loss.backward()
        self.optimizer.zero_grad()
        self.optimizer.step()


class TwoOptimizers(Digits):
    """The head is in two optimizers."""

    def build_optimizer(self) -> torch.optim.Optimizer:
        self.head_optimizer = torch.optim.SGD(self.model.head.parameters(), lr=0.5)
        return super().build_optimizer()

    def after_update(self) -> None:
        self.head_optimizer.step()


class Accumulating(Training):
    """Four micro-batches make one step."""

    parts: int = 4
    batch_size = 64

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.optimizer.zero_grad()
        for x, y in zip(inputs.chunk(self.parts), targets.chunk(self.parts), strict=True):
            self.backward_part(self.loss(self.model(x), y))
        self.clip_gradients()
        self.optimizer.step()
        self.after_update()

    def backward_part(self, loss: Tensor) -> None:
        """Add the gradients of one micro-batch."""
        (loss / self.parts).backward()


class DigitsAccumulating(Accumulating, Digits):
    """Digits, with accumulation, and an optimizer to which the size of gradients matters."""

    optimizer_class = torch.optim.SGD
    lr = 0.3


class LmAccumulating(Accumulating, CharLm):
    """The language model, with accumulation."""

    batch_size = 16


class DigitsAccumulationSum(DigitsAccumulating):
    """The losses of the micro-batches are not divided."""

    def backward_part(self, loss: Tensor) -> None:
        loss.backward()


class LmAccumulationSum(LmAccumulating):
    """The same in a transformer."""

    def backward_part(self, loss: Tensor) -> None:
        loss.backward()


class LmUnevenParts(LmAccumulating):
    """Micro-batches of other sizes, each of which counts by how much there is in it."""

    sizes: tuple[int, ...] = (1, 2, 4, 9)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.optimizer.zero_grad()
        for x, y in zip(inputs.split(self.sizes), targets.split(self.sizes), strict=True):
            (self.loss(self.model(x), y) * self.share(len(x))).backward()
        self.clip_gradients()
        self.optimizer.step()
        self.after_update()

    def share(self, size: int) -> float:
        """Return the weight of the mean over a micro-batch of so many texts."""
        return size / sum(self.sizes)


class LmPartsCountAlike(LmUnevenParts):
    """The same, and each of them counts for a quarter."""

    def share(self, size: int) -> float:
        return 1 / len(self.sizes)


class DigitsAccumulationZeroed(DigitsAccumulating):
    """``zero_grad`` stands inside the loop over micro-batches: only the last counts."""

    def backward_part(self, loss: Tensor) -> None:
        self.optimizer.zero_grad()
        super().backward_part(loss)


class GraphKept(Digits):
    """Losses are collected with their graphs."""

    def prepare(self) -> None:
        super().prepare()
        self.losses: list[Tensor] = []

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.losses.append(super().loss(outputs, targets))
        return self.losses[-1]


class OptimizerEachStep(Digits):
    """The optimizer is made anew at every step."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.optimizer = self.build_optimizer()
        super().train_step(inputs, targets)


class OptimizerEachEpoch(CharLm):
    """The optimizer is made anew after every evaluation."""

    schedule = None

    def evaluate(self) -> float:
        self.optimizer = self.build_optimizer()
        return super().evaluate()


class ResumedWithoutState(CharLm):
    """Training goes on from a checkpoint that holds the weights alone."""

    schedule = None

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        if self.step == 150:
            weights = copy.deepcopy(self.model.state_dict())
            self.model.load_state_dict(weights)
            self.optimizer = self.build_optimizer()
        super().train_step(inputs, targets)


class Averaging(Digits):
    """Keeps a running average of the weights, and evaluates with it."""

    def prepare(self) -> None:
        super().prepare()
        self.average = copy.deepcopy(self.model.state_dict())

    def after_update(self) -> None:
        super().after_update()
        for name, value in self.model.state_dict().items():
            self.average[name].lerp_(value, 0.02)

    def evaluate(self) -> float:
        weights = copy.deepcopy(self.model.state_dict())
        self.model.load_state_dict(self.average)
        loss = super().evaluate()
        self.put_back(weights)
        return loss

    def put_back(self, weights: dict[str, Tensor]) -> None:
        """Go on with the weights that are trained."""
        self.model.load_state_dict(weights)


class AverageLeftIn(Averaging):
    """The averaged weights are not taken out after evaluation."""

    def put_back(self, weights: dict[str, Tensor]) -> None:
        return None


class FirstBatchOnly(Digits):
    """``next(iter(loader))`` at every step, without shuffling."""

    shuffle = False

    def endless_batches(self) -> Iterator[Batch]:
        while True:
            yield next(iter(self.build_loader()))


class LossNotOfModel(Digits):
    """What is trained is the loss of the step before, kept by name: the graph is gone."""

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.optimizer.zero_grad()
        with torch.no_grad():
            outputs = self.model(inputs)
        loss = F.cross_entropy(outputs, targets).requires_grad_()
        loss.backward()
        self.optimizer.step()


class MiddleDetached(Block):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.data)


class BlocksDetached(CharTransformer):
    block = MiddleDetached


_PLAIN_LM = healthy("plain_char_lm_constant_lr", CharLm, schedule=None)
_DIGITS_ACCUMULATING = healthy("digits_accumulating", DigitsAccumulating)
_LM_ACCUMULATING = healthy("lm_accumulating", LmAccumulating)

LOOPS = (
    faulty("digits_no_zero_grad", "no_zero_grad", DigitsNoZeroGrad),
    faulty("lm_no_zero_grad", "no_zero_grad", LmNoZeroGrad),
    faulty("cnn_eval_mode_from_start", "eval_mode_in_training", CnnEvalModeFromStart),
    faulty("cnn_eval_mode_after_validation", "eval_mode_in_training", CnnEvalModeAfterValidation,
           begins=50),
    faulty("lm_eval_mode_after_validation", "eval_mode_in_training", LmEvalModeAfterValidation,
           begins=50),
    faulty("cnn_train_mode_in_evaluation", "train_mode_in_evaluation", CnnTrainModeInEvaluation,
           begins=49),
    faulty("lm_dropout_in_evaluation", "train_mode_in_evaluation", LmDropoutInEvaluation,
           begins=49),
    faulty("digits_head_replaced", "parameter_not_in_optimizer", HeadReplaced),
    faulty("cnn_features_only", "parameter_not_in_optimizer", FeaturesOnly),
    faulty("lm_block_left_out", "parameter_not_in_optimizer", BlockLeftOut),
    faulty("digits_optimizer_of_copy", "parameter_not_in_optimizer", OptimizerOfCopy),
    faulty("digits_layers_in_list", "layer_not_registered", LayersInList),
    faulty("lm_block_frozen", "frozen_by_accident", BlockFrozen),
    faulty("cnn_frozen_again", "frozen_by_accident", FrozenAgain, begins=100),
    faulty("digits_detached_features", "detached_graph", DetachedFeatures),
    faulty("autoencoder_no_grad", "detached_graph", AutoencoderNoGrad),
    faulty("digits_through_numpy", "detached_graph", ThroughNumpy),
    faulty("lm_blocks_detached", "detached_graph", CharLm, transformer=BlocksDetached),
    faulty("digits_loss_without_graph", "detached_graph", LossNotOfModel),
    faulty("digits_zeroed_before_step", "zeroed_before_step", ZeroedBeforeStep),
    faulty("digits_two_optimizers", "in_two_optimizers", TwoOptimizers),
    faulty("digits_accumulation_sum", "accumulation_scale", DigitsAccumulationSum,
           twin=_DIGITS_ACCUMULATING),
    faulty("lm_accumulation_sum", "accumulation_scale", LmAccumulationSum, twin=_LM_ACCUMULATING),
    faulty("lm_parts_count_alike", "token_weight", LmPartsCountAlike,
           twin=healthy("lm_uneven_parts", LmUnevenParts)),
    faulty("digits_accumulation_zeroed", "accumulation_lost", DigitsAccumulationZeroed,
           twin=_DIGITS_ACCUMULATING),
    faulty("digits_graph_kept", "graph_kept", GraphKept),
    faulty("digits_optimizer_each_step", "optimizer_state_reset", OptimizerEachStep),
    faulty("lm_optimizer_each_epoch", "optimizer_state_reset", OptimizerEachEpoch, begins=50,
           twin=_PLAIN_LM),
    faulty("lm_resumed_without_state", "optimizer_state_reset", ResumedWithoutState, begins=150,
           twin=_PLAIN_LM),
    faulty("digits_average_left_in", "ema_swapped", AverageLeftIn, begins=50,
           twin=healthy("digits_averaging", Averaging)),
    faulty("digits_first_batch_only", "same_batch", FirstBatchOnly),
)  # fmt: skip
