"""Modules in the wrong mode: dropout and batch normalization know training from evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, Rule
from ..judge.step_view import StepNumber, StepView
from ..numerics.measures import number
from .shared import dependence_samples

# What Keras keeps among the weights of a model that PyTorch trains.
_OF_KERAS = ("/moving_mean", "/moving_variance", "/seed_generator_state")
#: Looks at which a batch of one was normalized.
MIN_SAMPLES = 2
#: Loaders that are gone through in one evaluation: no training has so many sets of data.
PASSES = 5
#: Parts of all calls are told apart by this.
SLACK = 0.05


@dataclass(slots=True)
class _Modes:
    """What was seen of one worker so far.

    Args:
        num_trained: TRAIN steps.
        is_fresh: At the first of them nothing was frozen, or trained before.
        was_right: Something was in training mode at a TRAIN step before the first evaluation.
        put_back: Something was in training mode at a TRAIN step after an evaluation.
        num_evaluations: Times that EVAL steps followed a TRAIN step.
        evaluates: The step before was an EVAL step.
        share_in_eval: The largest part that was in eval mode at a TRAIN step, as what is frozen is.
        evaluated_right: Some EVAL step had nothing in training mode, or more in eval mode than any
            TRAIN step: part of the model was put there; or its answers are samples.
        drops_only: At the last EVAL step dropout was at work, and no normalization by the batch.
        one_sample: Looks at which batch normalization took the statistics of one sample.
        last_wrong: The last EVAL step with calls in training mode, how many, and of how many.
    """

    num_trained: int = 0
    is_fresh: bool | None = None
    was_right: bool = False
    put_back: bool = False
    num_evaluations: int = 0
    evaluates: bool = False
    share_in_eval: float = 0.0
    evaluated_right: bool = False
    drops_only: bool = False
    one_sample: int = 0
    last_wrong: tuple[StepNumber, float, float] | None = None


class TrainingMode(Rule):
    """A model that is trained in eval mode, or evaluated in training mode.

    Dropout does nothing in eval mode and batch normalization keeps the statistics it has, so
    ``train()`` is missing where all of them are in eval mode while gradients are computed. Some
    do so on purpose, with a frozen part or with batch normalization as it was pretrained. It is
    reported where it cannot be intended: something was in training mode until the first
    evaluation and nothing ever again; or from the first step on, if no parameter is frozen and a
    normalization begins with weights of one, so that nothing was pretrained.

    Dropout in an evaluation may be intended as well (Gal and Ghahramani: Dropout as a Bayesian
    approximation, 2016). Reported is a run that is never evaluated without it, nor with a part of
    the model in eval mode that is not when it trains, as the encoder whose features are probed;
    unless a model that normalizes nothing by its batch was given the same inputs several times in
    a row, or its evaluation has ``PASSES``: its answers are samples.

    And batch normalization that trains on the statistics of one sample at a time is evaluated with
    those of all, which it never saw; and one that is evaluated with the statistics of a new layer,
    though its weights are trained, was given only a part of what was trained.

    ``F.dropout`` knows no module: where it is not given a mode, it drops in eval mode as well.
    """

    name = "training_mode"
    needs = ("loop", "dependence", "evaluations")
    sign = "mode"
    lacks = NotApplicable("no module was seen that knows training from evaluation")

    consecutive: int = parameter(10, "TRAIN steps in a row.", at_least=1)
    evaluations: int = parameter(
        2, "Evaluations, each after some TRAIN steps, all in training mode.", at_least=1
    )

    def begin(self) -> None:
        self._workers: dict[str, _Modes] = {}

    def check(self, step: StepView) -> Findings:
        for worker in step.workers:
            yield from self._unfilled(step, worker)
            yield from self._left_on(step, worker)
            modes = self._workers.setdefault(worker, _Modes())
            if modes.drops_only and step.scalar("evaluation/number", worker) >= PASSES:
                modes.evaluated_right = True
            total = step.scalar("loop/modules", worker)
            if not total > 0:
                continue
            self._evaluated = True
            if step.trains:
                modes.one_sample += _is_of_one(step, worker)
                yield from self._evaluate_training(step, worker, modes, total)
            # only the model that is trained is timed: a teacher may do as it likes
            elif step.scalar("loop/step_seconds", worker) >= 0:
                yield from self._check_evaluation(step, worker, modes, total)

    def _evaluate_training(
        self, step: StepView, worker: str, modes: _Modes, total: float
    ) -> Findings:
        in_eval = step.scalar("loop/modules_in_eval", worker)
        if modes.is_fresh is None:
            modes.is_fresh = _is_fresh(step, worker)
        if math.isnan(in_eval):
            return  # when the model ran it was not known yet that this step trains
        modes.num_trained, modes.evaluates = modes.num_trained + 1, False
        modes.share_in_eval = max(modes.share_in_eval, in_eval / total)
        streak = self.streak((worker, "eval mode"), in_eval == total)
        if not streak:
            modes.was_right |= modes.num_evaluations == 0
            modes.put_back |= modes.num_evaluations > 0
        forgotten = modes.was_right and modes.num_evaluations > 0 and not modes.put_back
        never = bool(modes.is_fresh) and streak == modes.num_trained
        if streak >= self.consecutive and (forgotten or never):
            yield self.finding(
                step,
                "loop/modules_in_eval",
                f"all {number(total)} calls of dropout and batch normalization were in eval mode at"
                f" {streak} TRAIN steps in a row up to step {step.train_step}, since the first"
                f" {'evaluation' if forgotten else 'step'}",
                worker=worker,
                value=in_eval,
                threshold=0.0,
                condition="eval_mode_in_training",
                remedy="call model.train() before training goes on, after each evaluation; in Keras"
                " it changes nothing: call the model with training=True",
            )

    def _unfilled(self, step: StepView, worker: str) -> Findings:
        # Functions of JAX evaluate between the steps, whatever a budget observes of these.
        for name in ("loop/modules_unfilled", "evaluation/modules_unfilled"):
            count = step.scalar(name, worker)
            if not count > 0:
                continue
            self._evaluated = True
            yield self.finding(
                step,
                name,
                f"{number(count)} batch normalization{'s are' if count > 1 else ' is'} evaluated at"
                f" step {step.train_step} with the running statistics of a new layer, mean 0 and"
                " variance 1, though with trained weights: what is evaluated is not what was"
                " trained",
                worker=worker,
                value=count,
                threshold=0.0,
                condition="unfilled_statistics",
                remedy="in a train_step of your own call the model with training=True, or nothing"
                " is added to its statistics; where weights are copied, copy these, too: in PyTorch"
                " all of state_dict(), or AveragedModel(use_buffers=True), in Keras also the"
                " variables that are not trainable; in JAX return what is new from the training"
                " step, the batch_stats of Flax or the variables that stateless_call gives back,"
                " and pass it on",
            )

    def _left_on(self, step: StepView, worker: str) -> Findings:
        count = step.scalar("loop/modules_left_on", worker)
        if not count > 0:
            return
        self._evaluated = True
        yield self.finding(
            step,
            "loop/modules_left_on",
            f"{number(count)} module{'s' if count > 1 else ''} in eval mode at step"
            f" {step.train_step} call{'' if count > 1 else 's'} F.dropout without its argument"
            " training, which is True unless it is given: what is evaluated is dropped at random",
            worker=worker,
            value=count,
            threshold=0.0,
            condition="left_on",
            remedy="call F.dropout(x, p, training=self.training), or use nn.Dropout",
        )

    def _check_evaluation(
        self, step: StepView, worker: str, modes: _Modes, total: float
    ) -> Findings:
        in_train = step.scalar("loop/modules_in_train", worker)
        modes.num_evaluations += modes.num_trained > 0 and not modes.evaluates
        modes.evaluates = True
        is_in_part = modes.num_trained > 0 and 1 - in_train / total > modes.share_in_eval + SLACK
        draws = step.scalar("loop/draws", worker)
        modes.drops_only = not math.isnan(draws)
        modes.evaluated_right |= in_train == 0 or is_in_part or draws > 0
        if in_train > 0 and modes.num_evaluations:
            modes.last_wrong = step.at, in_train, total
        streak = self.streak((worker, "training mode"), in_train > 0)
        if modes.one_sample >= MIN_SAMPLES and in_train == 0:
            yield self.finding(
                step,
                "loop/modules_in_train",
                "batch normalization took the statistics of one sample in training, and those of"
                f" all samples so far in evaluation, at step {step.train_step}",
                worker=worker,
                value=1.0,
                condition="one_sample",
                remedy="train on larger batches, or take a normalization that knows no batch, such"
                " as GroupNorm",
            )
        if not modes.evaluated_right and modes.num_evaluations >= self.evaluations:
            modes.evaluated_right = True  # reported once: evaluations are far apart
            yield self.finding(
                step,
                "loop/modules_in_train",
                f"{number(in_train)} of {number(total)} calls of dropout and batch normalization"
                f" were in training mode in evaluation, as at all {streak} EVAL steps up to step"
                f" {step.train_step}",
                worker=worker,
                value=in_train,
                threshold=0.0,
                condition="train_mode_in_evaluation",
                remedy="call model.eval() before evaluating, and model.train() after it",
            )

    def finish(self) -> Findings:
        for worker, modes in self._workers.items():
            if modes.last_wrong is not None and not modes.evaluated_right:
                at, in_train, total = modes.last_wrong
                yield self.finding(
                    at,
                    "loop/modules_in_train",
                    f"{number(in_train)} of {number(total)} calls of dropout and batch"
                    f" normalization were in training mode at step {at.train_step}, in the only"
                    " evaluation of the run",
                    mode="EVAL",
                    worker=worker,
                    value=in_train,
                    threshold=0.0,
                    condition="train_mode_in_evaluation",
                    remedy="call model.eval() before evaluating",
                )


def _is_of_one(step: StepView, worker: str) -> bool:
    """Return whether batch normalization took the statistics of a single sample."""
    return any(
        sample.together == 1
        for tensor, sample in dependence_samples(step)
        if tensor.worker == worker
    )


def _is_fresh(step: StepView, worker: str) -> bool:
    """Return whether no parameter is frozen, and a normalization has its first weights."""
    for group in step.groups("weights", worker=worker):
        is_open = all(
            info.trainable is not False or info.name.endswith(_OF_KERAS) for info in group.infos
        )
        ones = (group.quantity("min") == 1) & (group.quantity("max") == 1)
        return is_open and bool((ones & (group.quantity("count") > 1)).any())
    return False
