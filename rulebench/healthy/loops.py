"""Healthy trainings whose loop, optimizer or schedule is out of the ordinary."""

from __future__ import annotations

import copy
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LinearLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)
from torch.optim.swa_utils import AveragedModel

from ..faults.loops import Averaging, DigitsAccumulating, LmAccumulating
from ..program import family
from ..trainings.char_lm import CharLm
from ..trainings.digits import DigitRows, Digits, DigitsCnn
from ..trainings.replicas import LocalSteps
from ..trainings.small import Autoencoder, MixedExperts, Recommender, Regression
from ..trainings.training import Training


def _warm_up(optimizer: torch.optim.Optimizer, steps: int) -> SequentialLR:
    rise = LinearLR(optimizer, start_factor=1e-3, total_iters=steps)
    fall = CosineAnnealingLR(optimizer, T_max=300 - steps)
    return SequentialLR(optimizer, [rise, fall], milestones=[steps])


class RestartedMomentum(Digits):
    """Momentum is set back to zero at each restart of the schedule."""

    optimizer_class = torch.optim.SGD
    optimizer_options = {"momentum": 0.9}
    lr = 0.05
    period: int = 75

    def build_scheduler(self) -> CosineAnnealingWarmRestarts:
        return CosineAnnealingWarmRestarts(self.optimizer, T_0=self.period)

    def after_update(self) -> None:
        super().after_update()
        if (self.step + 1) % self.period == 0:
            for state in self.optimizer.state.values():
                state["momentum_buffer"].zero_()


class OnPlateau(DigitsCnn):
    """The learning rate falls when the evaluation gets no better."""

    factor: float = 0.5

    def prepare(self) -> None:
        super().prepare()
        self.plateau = ReduceLROnPlateau(self.optimizer, factor=self.factor, patience=1)

    def evaluate(self) -> float:
        loss = super().evaluate()
        self.plateau.step(loss)
        return loss


class Lbfgs(Regression):
    """A second-order optimizer that evaluates the loss several times a step, on all data."""

    steps = 40
    eval_every = 10
    batch_size = 1600
    lr = 0.5
    optimizer_class = torch.optim.LBFGS
    optimizer_options = {"max_iter": 5}

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        def closure() -> Tensor:
            self.optimizer.zero_grad()
            loss = self.loss(self.model(inputs), targets)
            loss.backward()
            return loss

        self.optimizer.step(closure)


class Scaled(DigitsCnn):
    """A gradient scaler that begins too high and skips its first steps."""

    scale: float = 2.0**16
    overflows_at: tuple[int, ...] = (0, 1, 2, 150)

    def prepare(self) -> None:
        super().prepare()
        self.scaler = torch.amp.GradScaler("cpu", init_scale=self.scale)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.optimizer.zero_grad()
        loss = self.loss(self.model(inputs), targets)
        self.scaler.scale(loss).backward()
        if self.step in self.overflows_at:  # as a half-precision gradient would
            next(self.model.parameters()).grad.fill_(float("inf"))
        self.scaler.unscale_(self.optimizer)
        self.scaler.step(self.optimizer)
        self.scaler.update()


class Autocast(Training):
    dtype: torch.dtype = torch.bfloat16

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return super().loss(outputs.float(), targets)  # type: ignore[safe-super]

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.optimizer.zero_grad()
        with torch.autocast("cpu", self.dtype):
            outputs = self.model(inputs)
        self.loss(outputs, targets).backward()
        self.clip_gradients()
        self.optimizer.step()
        self.after_update()


class LmAutocast(Autocast, CharLm):
    """Forward in 16 bits, weights in 32."""


class CnnAutocast(Autocast, DigitsCnn):
    """The same with convolutions."""


class Bfloat16(Digits):
    """Weights in 16 bits, with a learning rate that is large enough for them."""

    lr = 1e-2

    def arrange(self, images: Tensor) -> Tensor:
        return images.bfloat16()

    def build_model(self) -> nn.Module:
        return super().build_model().bfloat16()


class TorchAverage(DigitsCnn):
    """``AveragedModel`` beside the model, evaluated instead of it."""

    decay: float = 0.95

    def prepare(self) -> None:
        super().prepare()
        decay = self.decay
        self.average = AveragedModel(
            self.model, avg_fn=lambda old, new, _: decay * old + (1 - decay) * new
        )

    def after_update(self) -> None:
        super().after_update()
        self.average.update_parameters(self.model)

    def evaluate(self) -> float:
        model, self.model = self.model, self.average
        loss = super().evaluate()
        self.model = model
        return loss


class ZeroAfterStep(Digits):
    """Gradients are set to zero after the step, kept as zeros."""

    set_to_none: bool = False

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.loss(self.model(inputs), targets).backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=self.set_to_none)


class ByHand(Digits):
    """No optimizer: weights are changed by the script."""

    lr = 0.1

    def build_optimizer(self) -> None:
        return None

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.loss(self.model(inputs), targets).backward()
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter -= self.lr * parameter.grad
                parameter.grad = None


class TwoPhases(DigitsCnn):
    """First the head alone, then everything, with another optimizer."""

    unfrozen_at: int = 100

    def build_model(self) -> nn.Module:
        model = super().build_model()
        model.features.requires_grad_(False)
        return model

    def build_optimizer(self) -> torch.optim.Optimizer:
        trained = [p for p in self.model.parameters() if p.requires_grad]
        return torch.optim.Adam(trained, lr=self.lr)

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        if self.step == self.unfrozen_at:
            self.model.features.requires_grad_(True)
            self.optimizer = self.build_optimizer()
        super().train_step(inputs, targets)


class Noisy(Digits):
    """Noise is added to the gradients, as for privacy."""

    amount: float = 0.01

    def clip_gradients(self) -> None:
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for parameter in self.model.parameters():
            parameter.grad.add_(self.amount * torch.randn_like(parameter.grad))


class Sharpness(Digits):
    """Sharpness-aware minimization: two passes for each step."""

    radius: float = 0.05

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        self.optimizer.zero_grad()
        self.loss(self.model(inputs), targets).backward()
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in self.model.parameters()]).norm()
            moves = [self.radius * p.grad / norm for p in self.model.parameters()]
            for parameter, move in zip(self.model.parameters(), moves, strict=True):
                parameter += move
        self.optimizer.zero_grad()
        self.loss(self.model(inputs), targets).backward()
        with torch.no_grad():
            for parameter, move in zip(self.model.parameters(), moves, strict=True):
                parameter -= move
        self.optimizer.step()


class Lookahead(Digits):
    """Every few steps the weights go back half of the way."""

    period: int = 5

    def prepare(self) -> None:
        super().prepare()
        self.slow = [p.detach().clone() for p in self.model.parameters()]

    @torch.no_grad()
    def after_update(self) -> None:
        super().after_update()
        if (self.step + 1) % self.period == 0:
            for slow, fast in zip(self.slow, self.model.parameters(), strict=True):
                slow.lerp_(fast, 0.5)
                fast.copy_(slow)


class Meta(Regression):
    """Reptile: a copy is trained for some steps, and the model follows it."""

    inner_steps: int = 5

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        copied = copy.deepcopy(self.model)
        inner = torch.optim.SGD(copied.parameters(), lr=0.05)
        for _ in range(self.inner_steps):
            inner.zero_grad()
            F.mse_loss(copied(inputs), targets).backward()
            inner.step()
        with torch.no_grad():
            for mine, theirs in zip(self.model.parameters(), copied.parameters(), strict=True):
                mine.lerp_(theirs, 0.2)


def _sgd(**options: object) -> dict[str, object]:
    return {"optimizer_class": torch.optim.SGD, "optimizer_options": options}


LOOPS = (
    *family("warm_up", Digits,
            short={"lr": 5e-3, "schedule": partial(_warm_up, steps=20)},
            long={"lr": 5e-3, "schedule": partial(_warm_up, steps=150)}),
    *family("cosine_restarts", Digits,
            equal={"schedule": partial(CosineAnnealingWarmRestarts, T_0=75)},
            longer={"schedule": partial(CosineAnnealingWarmRestarts, T_0=40, T_mult=2)}),
    *family("cyclic_rate", DigitsCnn,
            triangle={**_sgd(momentum=0.9), "schedule": partial(
                CyclicLR, base_lr=1e-3, max_lr=3e-2, step_size_up=40)},
            shrinking={**_sgd(momentum=0.9), "schedule": partial(
                CyclicLR, base_lr=1e-3, max_lr=5e-2, step_size_up=30, mode="triangular2")}),
    *family("one_cycle", DigitsCnn,
            adam={"schedule": partial(OneCycleLR, max_lr=1e-2, total_steps=300)},
            sgd={**_sgd(momentum=0.9),
                 "schedule": partial(OneCycleLR, max_lr=0.1, total_steps=300)}),
    *family("steps_down", Digits,
            tenfold={"schedule": partial(StepLR, step_size=150, gamma=0.1)},
            often={"schedule": partial(StepLR, step_size=50, gamma=0.5)}),
    *family("decay_to_zero", CharLm,
            linear={"schedule": partial(PolynomialLR, total_iters=300)},
            exponential={"schedule": partial(ExponentialLR, gamma=0.99)}),
    *family("on_plateau", OnPlateau, half={}, tenth={"factor": 0.1}),
    *family("restarted_momentum", RestartedMomentum, often={"period": 50}, rarely={}),
    *family("lbfgs", Lbfgs, five={}, twenty={"optimizer_options": {"max_iter": 20}, "steps": 20}),
    *family("scaler", Scaled, skips={}, high={"scale": 2.0**30, "overflows_at": (0, 1, 2, 3, 4)}),
    *family("autocast", LmAutocast, lm={}, low_rate={"lr": 1e-3}),
    *family("autocast_cnn", CnnAutocast, adam={}, sgd={**_sgd(momentum=0.9), "lr": 0.02}),
    *family("bfloat16", Bfloat16, adam={}, sgd={**_sgd(), "lr": 0.2}),
    *family("accumulating", DigitsAccumulating, four={}, eight={"parts": 8}),
    *family("lm_accumulating", LmAccumulating, two={"parts": 2}, eight={"parts": 8, "steps": 150}),
    *family("averaging", Averaging, digits={}, long={"steps": 450}),
    *family("averaged_model", TorchAverage, slow={"decay": 0.99}, fast={}),
    *family("zero_after_step", ZeroAfterStep, zeros={}, nones={"set_to_none": True}),
    *family("by_hand", ByHand, low={"lr": 0.05}, high={"lr": 0.3}),
    *family("local_steps", LocalSteps, four={"period": 4}, sixteen={"period": 16}),
    *family("two_phases", TwoPhases, early={"unfrozen_at": 50}, late={"unfrozen_at": 200}),
    *family("noisy_gradients", Noisy, little={}, much={"amount": 0.05}),
    *family("sharpness_aware", Sharpness, small={"radius": 0.02}, large={}),
    *family("lookahead", Lookahead, five={}, ten={"period": 10}),
    *family("meta_learning", Meta, five={}, two={"inner_steps": 2}),
    *family("large_batch", DigitsCnn, half={"batch_size": 700, "steps": 120},
            whole={"batch_size": 1400, "steps": 100, "lr": 1e-2}),
    *family("small_batch", Digits, four={"batch_size": 4, "steps": 500},
            one={"batch_size": 1, "steps": 600, "lr": 5e-4}),
    *family("clipped", CharLm, tight={"clip_norm": 0.1}, loose={"clip_norm": 10.0}),
    *family("clipped_recurrent", DigitRows, lstm={"clip_norm": 0.5},
            rnn={"clip_norm": 1.0, "cell": nn.RNN, "lr": 2e-3}),
    *family("other_optimizers", Digits,
            rmsprop={"optimizer_class": torch.optim.RMSprop},
            adagrad={"optimizer_class": torch.optim.Adagrad, "lr": 0.02},
            adamax={"optimizer_class": torch.optim.Adamax},
            nadam={"optimizer_class": torch.optim.NAdam},
            rprop={"optimizer_class": torch.optim.Rprop, "batch_size": 1400, "steps": 100},
            adadelta={"optimizer_class": torch.optim.Adadelta, "lr": 1.0},
            asgd={"optimizer_class": torch.optim.ASGD, "lr": 0.1},
            amsgrad={"optimizer_options": {"amsgrad": True}},
            nesterov={**_sgd(momentum=0.95, nesterov=True), "lr": 0.02}),
    *family("weight_decay", CharLm, usual={"optimizer_options": {"weight_decay": 0.1}},
            strong={"optimizer_options": {"weight_decay": 1.0}}),
    *family("beta_low", CharLm, both={"optimizer_options": {"betas": (0.8, 0.95)}},
            no_momentum={"optimizer_options": {"betas": (0.0, 0.99)}}),
    *family("slow_but_sure", Digits, adam={"lr": 2e-4}, sgd={**_sgd(), "lr": 0.02}),
    *family("sparse_updates", Recommender,
            adam={"sparse": True, "optimizer_class": torch.optim.SparseAdam},
            adagrad={"sparse": True, "optimizer_class": torch.optim.Adagrad, "lr": 0.1}),
    *family("plain_experts", MixedExperts, weak={"balance": 0.01}, strong={"balance": 0.1}),
    *family("plain_autoencoder", Autoencoder, wide={"code": 16}, narrow={"code": 2}),
)  # fmt: skip
