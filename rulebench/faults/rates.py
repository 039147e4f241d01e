"""Faults of learning rates, schedules and optimizers."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    OneCycleLR,
    StepLR,
)

from ..program import faulty, healthy
from ..trainings.char_lm import CharLm, warmup_then_cosine
from ..trainings.digits import Digits, DigitsCnn
from ..trainings.small import Regression
from .loops import LmAccumulating


class SteppedFourTimes(Digits):
    """The scheduler is stepped as often as there are devices."""

    schedule = staticmethod(partial(CosineAnnealingLR, T_max=300))

    def after_update(self) -> None:
        for _ in range(4):
            self.scheduler.step()


class OneCycleTwice(DigitsCnn):
    """The scheduler is stepped in the loop and in a callback."""

    schedule = staticmethod(partial(OneCycleLR, max_lr=4e-3, total_steps=600))

    def after_update(self) -> None:
        self.scheduler.step()
        self.scheduler.step()


class SchedulePerMicroBatch(LmAccumulating):
    """The scheduler is stepped at each micro-batch."""

    def backward_part(self, loss: Tensor) -> None:
        super().backward_part(loss)
        self.scheduler.step()

    def after_update(self) -> None:
        return None


class NeverStepped(CharLm):
    """A schedule begins with a tiny learning rate, and nobody steps it."""

    def after_update(self) -> None:
        return None


class SteppedOncePerRun(Digits):
    """Warm-up is stepped after each evaluation, as if that were an epoch of a long training."""

    lr = 1e-2
    schedule = staticmethod(partial(LinearLR, start_factor=1e-3, total_iters=300))

    def after_update(self) -> None:
        if self.step % self.eval_every == 0:
            self.scheduler.step()


def _jump(optimizer: torch.optim.Optimizer) -> LRScheduler:
    return MultiplicativeLR(optimizer, lambda step: 100.0 if step == 150 else 1.0)


class ZeroGroup(Digits):
    """The learning rate of the first layers was set to zero for a test."""

    def build_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(
            [
                {"params": self.model.layers.parameters(), "lr": 0.0},
                {"params": self.model.head.parameters()},
            ],
            lr=self.lr,
        )


class GradientScaleJumps(Regression):
    """The targets become a hundred times as large, and the second moment is from before."""

    optimizer_options = {"betas": (0.9, 0.9999)}

    def train_step(self, inputs: Tensor, targets: Tensor) -> None:
        super().train_step(inputs, targets if self.step < 200 else 100 * targets)


_SGD = {"optimizer_class": torch.optim.SGD}
_DIGITS_SGD = healthy("digits_sgd", Digits, **_SGD, lr=0.1)
_CNN_SGD = healthy("cnn_sgd", DigitsCnn, **_SGD, lr=0.05)
_MOMENTUM = {**_SGD, "optimizer_options": {"momentum": 0.9}}

RATES = (
    faulty("digits_adam_rate_too_high", "learning_rate_too_high", Digits, lr=1.0),
    faulty("digits_sgd_rate_too_high", "learning_rate_too_high", Digits, **_SGD, lr=20.0,
           twin=_DIGITS_SGD),
    faulty("cnn_rate_too_high", "learning_rate_too_high", DigitsCnn, lr=0.5),
    faulty("lm_rate_too_high", "learning_rate_too_high", CharLm, lr=0.5),
    faulty("regression_rate_too_high", "learning_rate_too_high", Regression, **_SGD, lr=3.0,
           twin=healthy("regression_sgd", Regression, **_SGD, lr=0.05)),
    faulty("digits_rate_too_low", "learning_rate_too_low", Digits, lr=1e-7),
    faulty("lm_rate_too_low", "learning_rate_too_low", CharLm, lr=1e-7),
    faulty("cnn_sgd_rate_too_low", "learning_rate_too_low", DigitsCnn, **_SGD, lr=1e-6,
           twin=_CNN_SGD),
    faulty("digits_rate_zero", "learning_rate_zero", Digits, lr=0.0),
    faulty("digits_zero_group", "learning_rate_zero", ZeroGroup),
    faulty("lm_rate_jumps", "learning_rate_jump", CharLm, schedule=_jump, begins=150,
           twin=healthy("plain_char_lm_constant_rate", CharLm, schedule=None)),
    faulty("digits_rate_jumps", "learning_rate_jump", Digits, schedule=_jump, begins=150),
    faulty("digits_schedule_four_times", "scheduler_too_often", SteppedFourTimes,
           twin=healthy("digits_cosine", Digits,
                        schedule=partial(CosineAnnealingLR, T_max=300))),
    faulty("cnn_one_cycle_twice", "scheduler_too_often", OneCycleTwice,
           twin=healthy("cnn_one_cycle", DigitsCnn,
                        schedule=partial(OneCycleLR, max_lr=4e-3, total_steps=300))),
    faulty("digits_step_schedule_per_batch", "scheduler_too_often", Digits,
           schedule=partial(StepLR, step_size=10, gamma=0.1),
           twin=healthy("digits_step_schedule", Digits,
                        schedule=partial(StepLR, step_size=200, gamma=0.3))),
    faulty("lm_schedule_per_micro_batch", "scheduler_too_often", SchedulePerMicroBatch,
           twin=healthy("lm_accumulating", LmAccumulating)),
    faulty("lm_schedule_never_stepped", "scheduler_never_stepped", NeverStepped),
    faulty("digits_warm_up_per_epoch", "scheduler_never_stepped", SteppedOncePerRun,
           twin=healthy("digits_warm_up", Digits, lr=1e-2,
                        schedule=partial(LinearLR, start_factor=1e-3, total_iters=30))),
    faulty("lm_schedule_ends_early", "schedule_too_short", CharLm,
           schedule=partial(warmup_then_cosine, steps=40), begins=40),
    faulty("digits_cosine_wraps", "schedule_too_short", Digits, begins=100,
           schedule=partial(CosineAnnealingLR, T_max=100)),
    faulty("digits_clipped_to_nothing", "clip_too_tight", Digits, **_SGD, lr=0.1, clip_norm=1e-3,
           twin=_DIGITS_SGD),
    faulty("cnn_clipped_to_nothing", "clip_too_tight", DigitsCnn, **_SGD, lr=0.05, clip_norm=1e-3,
           twin=_CNN_SGD),
    faulty("digits_momentum_too_high", "momentum_too_high", Digits, **_SGD, lr=0.1,
           optimizer_options={"momentum": 0.999}, twin=healthy("digits_momentum", Digits,
                                                               **_MOMENTUM, lr=0.02)),
    faulty("cnn_momentum_too_high", "momentum_too_high", DigitsCnn, **_SGD, lr=0.5,
           optimizer_options={"momentum": 0.999}, twin=healthy("cnn_momentum", DigitsCnn,
                                                               **_MOMENTUM, lr=0.02)),
    faulty("digits_weight_decay_too_high", "weight_decay_too_high", Digits,
           optimizer_class=torch.optim.AdamW, optimizer_options={"weight_decay": 30.0}),
    faulty("lm_weight_decay_too_high", "weight_decay_too_high", CharLm,
           optimizer_options={"weight_decay": 10.0}),
    faulty("cnn_l2_too_high", "weight_decay_too_high", DigitsCnn,
           optimizer_options={"weight_decay": 1.0}),
    faulty("digits_adam_epsilon", "adam_epsilon", Digits, optimizer_options={"eps": 100.0}),
    faulty("regression_gradient_scale_jumps", "second_moment_lags", GradientScaleJumps, begins=200),
)  # fmt: skip
