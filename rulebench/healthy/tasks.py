"""Healthy trainings whose loss or data is out of the ordinary."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset, WeightedRandomSampler

from ..program import family
from ..trainings.digits import ConvNet, DigitRows, Digits, DigitsCnn, Perceptron
from ..trainings.small import Recommender, Regression
from ..trainings.training import Training


class Smoothed(DigitsCnn):
    """Targets that are not quite certain."""

    smoothing: float = 0.1

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        smoothing = self.smoothing if self.model.training else 0.0
        return F.cross_entropy(outputs, targets, label_smoothing=smoothing)


class Mixup(DigitsCnn):
    """Images and labels of pairs are mixed."""

    alpha: float = 0.2

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        share = float(torch.distributions.Beta(self.alpha, self.alpha).sample())
        order = torch.randperm(len(inputs))
        labels = F.one_hot(targets, 10).float()
        super().train_step(
            share * inputs + (1 - share) * inputs[order],
            share * labels + (1 - share) * labels[order],
        )


class LogSoftmax(Digits):
    """The model ends with log-probabilities, and the loss takes them."""

    twice: bool = False

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        log_probabilities = F.log_softmax(outputs, 1)
        # cross_entropy of log-probabilities is the same: they are logits, too
        loss = F.cross_entropy if self.twice else F.nll_loss
        return loss(log_probabilities, targets)


class Hinge(Digits):
    """A margin instead of probabilities: the loss of most samples is zero at the end."""

    margin: float = 1.0

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.multi_margin_loss(outputs, targets, margin=self.margin)


class Focal(Digits):
    """Easy samples count little."""

    gamma: float = 2.0

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        each = F.cross_entropy(outputs, targets, reduction="none")
        return ((1 - torch.exp(-each)) ** self.gamma * each).mean()


class SumLoss(Digits):
    """The loss is a sum, and the learning rate is chosen for it."""

    optimizer_class = torch.optim.SGD
    lr = 0.003

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets, reduction="sum")


class BinaryLabels(Digits):
    """Ten yes-or-no questions instead of one of ten."""

    through_sigmoid: bool = False

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        labels = F.one_hot(targets, 10).float()
        if self.through_sigmoid:
            return F.binary_cross_entropy(outputs.sigmoid(), labels)
        return F.binary_cross_entropy_with_logits(outputs, labels)


class HugeTargets(Regression):
    """Targets of many thousands, a loss of millions."""

    size: float = 1e4
    lr = 1e-2
    steps = 400
    robust: bool = False

    def arrange(self, y: Tensor) -> Tensor:
        return self.size * y

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        loss = F.l1_loss if self.robust else F.mse_loss
        return loss(self.size * outputs, targets)


class TinyTargets(Regression):
    """Targets of some thousandths, a loss of millionths."""

    def arrange(self, y: Tensor) -> Tensor:
        return 1e-3 * y

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(1e-3 * outputs, targets)


class Quantiles(Regression):
    """Three quantiles are learnt at once."""

    def build_model(self) -> nn.Module:
        return Perceptron(inputs=8, width=32, outputs=3, dropout=0.0)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        error = targets - outputs
        quantile = torch.tensor([0.1, 0.5, 0.9])
        return torch.maximum(quantile * error, (quantile - 1) * error).mean()


class Likelihood(Regression):
    """Mean and variance are learnt; the loss goes below zero."""

    def build_model(self) -> nn.Module:
        return Perceptron(inputs=8, width=32, outputs=2, dropout=0.0, activation=nn.Tanh)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.gaussian_nll_loss(outputs[:, :1], targets, F.softplus(outputs[:, 1:]) + 1e-3)


class TwoTasks(Digits):
    """The class, and how much ink there is, from the same features."""

    weight: float = 0.5

    def build_model(self) -> nn.Module:
        return Perceptron(width=self.width, outputs=11, dropout=self.dropout)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        super().train_step(inputs, torch.stack([targets.float(), inputs.mean(1)], 1))

    @torch.no_grad()
    def evaluate(self) -> float:
        self.model.eval()
        inputs, targets = self.val_data.tensors
        ink = inputs.mean(1)
        loss = self.loss(self.model(inputs), torch.stack([targets.float(), ink], 1))
        self.model.train()
        return float(loss)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        kind = F.cross_entropy(outputs[:, :10], targets[:, 0].long())
        return kind + self.weight * F.mse_loss(outputs[:, 10], targets[:, 1])


class Contrastive(Digits):
    """Two noisy views of an image should be nearer to each other than to all others."""

    temperature: float = 0.2
    batch_size = 64

    def view(self, inputs: Tensor) -> Tensor:
        """Return the directions of noisy copies, ``[batch, 10]``."""
        return F.normalize(self.model(inputs + 0.2 * torch.randn_like(inputs)), dim=1)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        similar = self.view(inputs) @ self.view(inputs).T / self.temperature
        loss = F.cross_entropy(similar, torch.arange(len(inputs)))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def evaluate(self) -> float:
        return 0.0  # what it learnt is judged by another task


class Triplets(Contrastive):
    """Images of a class should be nearer to each other than to those of the next."""

    margin: float = 1.0

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        order = targets.argsort()
        anchor, positive, negative = (
            self.model(inputs[order.roll(shift)]) for shift in (0, 1, len(order) // 2)
        )
        self.optimizer.zero_grad()
        F.triplet_margin_loss(anchor, positive, negative, margin=self.margin).backward()
        self.optimizer.step()


class Distillation(Digits):
    """A student learns from the outputs of a larger teacher that is asked in every step."""

    temperature: float = 2.0

    def prepare(self) -> None:
        super().prepare()
        self.teacher = Perceptron(width=128, dropout=0.0)
        images, labels = self.train_data.tensors
        optimizer = torch.optim.Adam(self.teacher.parameters(), lr=3e-3)
        for batch in torch.randperm(len(images)).repeat(4).split(64):
            optimizer.zero_grad()
            F.cross_entropy(self.teacher(images[batch]), labels[batch]).backward()
            optimizer.step()
        self.teacher.requires_grad_(False).eval()

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        with torch.no_grad():
            wanted = (self.teacher(inputs) / self.temperature).softmax(1)
        outputs = (self.model(inputs) / self.temperature).log_softmax(1)
        self.optimizer.zero_grad()
        F.kl_div(outputs, wanted, reduction="batchmean").backward()
        self.optimizer.step()


class SelfDistillation(DigitsCnn):
    """The teacher is an average of the student, and follows it."""

    momentum: float = 0.99
    noise: float = 0.1

    def prepare(self) -> None:
        super().prepare()
        self.teacher = copy.deepcopy(self.model).requires_grad_(False)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        with torch.no_grad():
            wanted = self.teacher(inputs).softmax(1)
        outputs = self.model(inputs + self.noise * torch.randn_like(inputs))
        loss = self.loss(outputs, targets) + F.cross_entropy(outputs, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for mine, theirs in zip(
                self.teacher.parameters(), self.model.parameters(), strict=True
            ):
                mine.lerp_(theirs, 1 - self.momentum)


class OneClass(Digits):
    """Only zeros are seen; everything is pulled to one point (Deep SVDD)."""

    pulled: float = 1.0
    lr = 5e-4

    def prepare(self) -> None:
        super().prepare()
        images, labels = self.train_data.tensors
        self.zeros = images[labels == 0]
        with torch.no_grad():
            self.center = self.model(self.zeros).mean(0)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        batch = self.zeros[torch.randint(len(self.zeros), (32,))]
        loss = self.pulled * (self.model(batch) - self.center).square().sum(1).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def evaluate(self) -> float:
        return 0.0  # there is no loss for what is not a zero


class Weighted(DigitsCnn):
    """One class is rare, and its samples weigh more."""

    rare: float = 0.2
    by_sampler: bool = False

    def load_data(self) -> tuple[Dataset[Any], Dataset[Any]]:
        train, val = super().load_data()
        images, labels = train.tensors
        kept = (labels != 3) | (torch.rand(len(labels)) < self.rare)
        return TensorDataset(images[kept], labels[kept]), val

    def build_loader(self) -> DataLoader[Any]:
        if not self.by_sampler:
            return super().build_loader()
        labels = self.train_data.tensors[1]
        weights = torch.where(labels == 3, 1 / self.rare, 1.0)
        sampler = WeightedRandomSampler(weights.tolist(), len(labels))
        return DataLoader(self.train_data, self.batch_size, sampler=sampler, drop_last=True)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        weight = torch.ones(10)
        weight[3] = 1.0 if self.by_sampler else 1 / self.rare
        return F.cross_entropy(outputs, targets, weight=weight)


class Rare(Digits):
    """Is it a nine? Ten percent are, and that is as it is."""

    def load_data(self) -> tuple[TensorDataset, TensorDataset]:
        parts = super().load_data()
        return tuple(TensorDataset(p.tensors[0], (p.tensors[1] == 9).float()) for p in parts)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(outputs[:, 0], targets)


class Augmented(DigitsCnn):
    """Images are shifted and covered anew each time, in copies."""

    covered: int = 2

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        shift = torch.randint(-1, 2, (2,)).tolist()
        inputs = inputs.roll(shift, (2, 3)).clone()
        inputs[:, :, : self.covered, : self.covered] = 0
        super().train_step(inputs, targets)


class Curriculum(Digits):
    """Easy classes first: the data changes while it trains."""

    first: int = 4

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        known = targets < (self.first if self.step < 100 else 10)
        super().train_step(inputs[known], targets[known])


class NoisyLabels(DigitsCnn):
    """A fifth of the labels is wrong, as labels are."""

    wrong: float = 0.2

    def load_data(self) -> tuple[Dataset[Any], Dataset[Any]]:
        train, val = super().load_data()
        images, labels = train.tensors
        changed = torch.rand(len(labels)) < self.wrong
        return TensorDataset(
            images, torch.where(changed, torch.randint(0, 10, labels.shape), labels)
        ), val


class Unnormalized(DigitsCnn):
    """Pixels as they are, which batch normalization puts right."""

    brightness = 1.0


class Copying(DigitRows):
    """Teacher forcing: the network predicts each row from those before it."""

    def build_model(self) -> nn.Module:
        return NextRow(self.width)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        super().train_step(inputs[:, :-1], inputs[:, 1:])

    @torch.no_grad()
    def evaluate(self) -> float:
        self.model.eval()
        images = self.val_data.tensors[0]
        loss = self.loss(self.model(images[:, :-1]), images[:, 1:])
        self.model.train()
        return float(loss)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs, targets)


class NextRow(nn.Module):
    """Rows ``[batch, time, 8]`` to the rows that follow."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.recurrent = nn.GRU(8, width, batch_first=True)
        self.head = nn.Linear(width, 8)

    def forward(self, rows: Tensor) -> Tensor:
        return self.head(self.recurrent(rows)[0])


class Seq2SeqNet(nn.Module):
    """Reads a number sequence and writes it backwards."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, 11)

    def forward(self, pair: Tensor) -> Tensor:
        source, written = pair.unbind(1)
        _, state = self.encoder(self.embedding(source))
        states, _ = self.decoder(self.embedding(written), state)
        return self.head(states)


class Reversing(Training):
    """Sequence to sequence with teacher forcing."""

    lr = 1e-2
    width: int = 32
    length: int = 4

    def load_data(self) -> tuple[Dataset[Any], Dataset[Any]]:
        source = torch.randint(1, 11, (2000, self.length))
        target = source.flip(1)
        written = F.pad(target[:, :-1], (1, 0))
        pairs = torch.stack([source, written], 1)
        return TensorDataset(pairs[:1600], target[:1600]), TensorDataset(
            pairs[1600:], target[1600:]
        )

    def build_model(self) -> nn.Module:
        return Seq2SeqNet(self.width)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs.flatten(0, 1), targets.flatten())


class MonteCarloDropout(DigitsCnn):
    """Some evaluations keep dropout on purpose, to see how sure the model is."""

    draws: int = 3

    @torch.no_grad()
    def evaluate(self) -> float:
        loss = super().evaluate()
        self.model.eval()
        for module in self.model.modules():
            if isinstance(module, nn.Dropout):
                module.train()
        images = self.val_data.tensors[0][:64]
        for _ in range(self.draws):
            self.model(images)
        self.model.train()
        return loss


class Ensemble(nn.Module):
    """Three networks whose logits are averaged."""

    def __init__(self, members: int) -> None:
        super().__init__()
        self.members = nn.ModuleList(ConvNet(0.1) for _ in range(members))

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([member(x) for member in self.members]).mean(0)


class Together(DigitsCnn):
    """An ensemble is trained as one."""

    members: int = 2

    def build_model(self) -> nn.Module:
        return Ensemble(self.members)


class Penalized(Digits):
    """A penalty on the weights pushes many of them to zero."""

    l1: float = 1e-4

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        size = sum(parameter.abs().sum() for parameter in self.model.parameters())
        return F.cross_entropy(outputs, targets) + self.l1 * size


class Smooth(Digits):
    """A penalty on the gradient of the inputs: a backward within the forward."""

    weight: float = 0.01

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        inputs = inputs.clone().requires_grad_()
        loss = self.loss(self.model(inputs), targets)
        (slope,) = torch.autograd.grad(loss, inputs, create_graph=True)
        self.optimizer.zero_grad()
        (loss + self.weight * len(inputs) * slope.square().sum()).backward()
        self.optimizer.step()


class Adversarial(Digits):
    """Inputs are moved towards a higher loss before each step."""

    size: float = 0.05

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        moved = inputs.clone().requires_grad_()
        (slope,) = torch.autograd.grad(self.loss(self.model(moved), targets), moved)
        super().train_step(inputs + self.size * slope.sign(), targets)


TASKS = (
    *family("label_smoothing", Smoothed, usual={}, strong={"smoothing": 0.3}),
    *family("mixup", Mixup, usual={}, strong={"alpha": 1.0}),
    *family("log_softmax", LogSoftmax, nll={}, cross_entropy={"twice": True}),
    *family("hinge", Hinge, one={}, three={"margin": 3.0}),
    *family("focal", Focal, two={}, five={"gamma": 5.0}),
    *family("sum_loss", SumLoss, sgd={}, large={"batch_size": 128, "lr": 1e-3}),
    *family("binary_labels", BinaryLabels, logits={}, sigmoid={"through_sigmoid": True}),
    *family("huge_targets", HugeTargets, square={}, absolute={"robust": True}),
    *family("tiny_targets", TinyTargets, adam={}, low={"lr": 2e-3}),
    *family("quantile_regression", Quantiles, usual={}, noisy={"noise": 0.5}),
    *family("likelihood", Likelihood, usual={}, noisy={"noise": 0.5}),
    *family("two_tasks", TwoTasks, half={}, much={"weight": 5.0}),
    *family("contrastive", Contrastive, usual={}, cold={"temperature": 0.1}),
    *family("triplets", Triplets, one={}, small={"margin": 0.3}),
    *family("distillation", Distillation, warm={}, hot={"temperature": 5.0}),
    *family("self_distillation", SelfDistillation, slow={}, fast={"momentum": 0.9}),
    *family("one_class", OneClass, usual={}, strong={"pulled": 10.0}),
    *family("rare_class", Weighted, weighted={}, sampled={"by_sampler": True}),
    *family("rare_positive", Rare, usual={}, wide={"width": 128}),
    *family("augmented", Augmented, little={}, much={"covered": 4}),
    *family("curriculum", Curriculum, four={}, seven={"first": 7}),
    *family("noisy_labels", NoisyLabels, some={}, many={"wrong": 0.4}),
    *family("unnormalized", Unnormalized, adam={}, bright={"brightness": 0.1}),
    *family("teacher_forcing", Copying, usual={}, wide={"width": 64}),
    *family("reversing", Reversing, four={}, eight={"length": 8}),
    *family("monte_carlo_dropout", MonteCarloDropout, three={}, ten={"draws": 10}),
    *family("ensemble", Together, two={}, three={"members": 3}),
    *family("penalized", Penalized, little={}, much={"l1": 1e-3}),
    *family("smooth", Smooth, little={}, much={"weight": 0.1}),
    *family("adversarial", Adversarial, little={}, much={"size": 0.2}),
    *family("recommender_ties", Recommender, small={"batch_size": 32}, large={"batch_size": 1024}),
)  # fmt: skip
