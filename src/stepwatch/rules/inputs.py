"""Rules on what models are given: its size, images, and sequences of tokens."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from ..errors import ConfigError
from ..judge.declaration import parameter, within
from ..judge.rule import EvidenceView, Findings, Rule, Selection, few_steps
from ..judge.step_view import StepNumber, StepView, TensorGroup, TensorView
from ..model.finding import Finding
from ..model.record import Layout, TensorInfo
from ..model.steps import Mode
from ..numerics.measures import Floats, number
from ..numerics.statistics import COUNT, MAX, MIN, ZEROS
from .history import Series
from .shared import (
    CROSS_ENTROPIES,
    ELEMENTWISE,
    Array,
    in_a_row,
    of_same_loss,
    prefixed,
    raw_values,
    summaries,
)

#: Mean square of activations between -1 and 1 above which they are nearly all at their ends.
SATURATED = 0.9

#: Of fewer TRAIN steps the range of an input is not known.
_LEAST_LOOKS = 10
#: Other inputs do no harm where a loss that fell to less than this part of what it was at first is
#: no more than so many times that for them.
_LEARNED, _NO_WORSE = 0.5, 1.5
#: What a model that samples is given may be so many times as large as in training, or as small; at
#: so many looks in a row it is more.
_SAMPLED, _SAMPLED_LOOKS = 1.5, 3


class InputDrift(Rule):
    """Inputs that become many times larger or smaller while it trains.

    The root mean square of each input of a model, of a floating dtype, is compared with those of
    the first TRAIN steps. It changes so when samples are changed in place, and each epoch changes
    them again. A single batch that is ``factor`` times as large as any before is reported as well.

    Inputs of EVAL steps, but of those whose labels are all the same, are held against the same
    TRAIN steps, by mean and standard deviation, as if both were normal: a normalization that was
    forgotten for one of them sets them ``nats`` apart, and ten times as far as any of the TRAIN
    steps is. Where a loss that was learned is as low for them, that is information. Where all
    elements of a batch are one number, as the time step of a diffusion model that samples, that
    number is held against the range of the TRAIN steps: it lies outside by more than this is wide.
    What such a model is given as it samples must be as large as in training at the same time step,
    within a factor of 1.5, or the sampler takes off too little noise, or too much.
    """

    name = "input_drift"
    needs = ("batches", "labels", "evaluations")
    per_model = True
    sign = "inputs"
    view = EvidenceView("batches", "rms")

    factor: float = parameter(
        10.0, "So many times the largest at first, or the least over this, is a drift.", above=1
    )
    first: int = parameter(20, "TRAIN steps whose inputs are the first.", at_least=1)
    consecutive: int = parameter(20, "TRAIN steps in a row.", at_least=1)
    nats: float = parameter(
        0.5, "Raw pixels are about 1 from normalized ones, mixed images 0.2.", above=0
    )
    evaluations: int = parameter(
        4, "EVAL steps in a row, or one of so many samples as these many TRAIN steps.", at_least=1
    )

    def begin(self) -> None:
        self._inputs = Selection(("batches",), keep=_is_real)
        self._numbers = Selection(("batches",), keep=_is_floating)
        self._sizes: dict[tuple[str, str], list[float]] = {}
        self._peaks: dict[tuple[str, str], float] = {}
        self._trained: dict[_Input, list[tuple[float, float]]] = {}
        self._sizes_of_batches: dict[_Input, float] = {}
        # The first step of an evaluation, and number, sum and sum of squares of its elements so
        # far: of the one that goes on, and of the first one.
        self._evaluating: dict[_Input, tuple[StepNumber, Floats]] = {}
        self._first_evaluated: dict[_Input, tuple[StepNumber, Floats]] = {}
        # The least and largest of what is trained on, and at how many steps that was seen.
        self._ranges: dict[_Input, tuple[float, float, int]] = {}
        # How many batches of the size of those that are trained were far apart, in a row.
        self._apart: dict[_Input, float] = {}
        # Of each loss in TRAIN: the first, and the last ones.
        self._first_losses: dict[str, float] = {}
        self._last_losses: Series[str, float] = Series(5)

    def check(self, step: StepView) -> Findings:
        if step.trains:
            for loss in step.tensors("losses"):
                self._first_losses.setdefault(loss.name, loss.scalar)
                self._last_losses.add(loss.name, loss.scalar)
        if step.mode is Mode.EVAL:
            yield from self._compare_sampled(step)
            for group, _ in self._numbers.groups(step):
                if _is_of_one_label(step, group.record.worker):
                    continue  # the samples lie class by class
                for tensor in group:
                    yield from self._compare_evaluated(step, tensor)
        if not step.trains:
            return
        for group, _ in self._numbers.groups(step):
            for tensor in group:
                key, of = _input(tensor), tensor.statistics
                least, largest, looks = self._ranges.get(key, (math.inf, -math.inf, 0))
                self._ranges[key] = min(least, of.min), max(largest, of.max), looks + 1
        self._steps += 1
        self._first_evaluated = {**self._evaluating, **self._first_evaluated}
        self._evaluating.clear()
        for group, names in self._inputs.groups(step):
            for tensor in group:
                key, of = _input(tensor), tensor.statistics
                trained = self._trained.setdefault(key, [])
                if len(trained) < self.first:
                    trained.append((of.mean, of.std))
                    self._sizes_of_batches[key] = max(self._sizes_of_batches.get(key, 0), of.count)
            sizes = group.quantity("rms").tolist()
            for name, size in zip(names, sizes, strict=True):
                yield from self._evaluate(step, group.record.worker, name, size)

    def unevaluated(self) -> str | None:
        missing = "no input of a floating dtype was seen"
        return few_steps(self._steps, self.first) if self._inputs.found_any else missing

    def _evaluate(self, step: StepView, worker: str, name: str, size: float) -> Findings:
        sizes = self._sizes.setdefault((worker, name), [])
        if len(sizes) < self.first:
            sizes.append(size)
            return
        yield from self._evaluate_one(step, worker, name, size, max(sizes))
        least, largest = min(sizes) / self.factor, max(sizes) * self.factor
        for side, limit, holds in (
            ("shrunk", least, size < least),
            ("grown", largest, size > largest > 0),
        ):
            if self.persists((worker, name, side), holds):
                yield self.finding(
                    step,
                    name,
                    f"{name}: the root mean square of the inputs is {number(size)} at step"
                    f" {step.train_step}, {in_a_row(self.consecutive, 'step')} beyond"
                    f" {number(limit)};"
                    f" at the first {self.first} steps it was {number(min(sizes))} to"
                    f" {number(max(sizes))}",
                    worker=worker,
                    value=size,
                    threshold=limit,
                    condition=f"{side} {name}",
                    remedy="look for operations in place (mul_, /=, sub_) on what the data set"
                    " holds: they are done again each epoch; clone the sample first",
                )

    def _evaluate_one(
        self, step: StepView, worker: str, name: str, size: float, usual: float
    ) -> Findings:
        """Judge a single batch, beside the largest of those before that were not as large."""
        peak = self._peaks.setdefault((worker, name), usual)
        if size > self.factor * peak > 0:
            yield self.finding(
                step,
                name,
                f"{name}: the root mean square of the inputs is {number(size)} at step"
                f" {step.train_step}, {number(size / peak)} times that of any batch before"
                f" (> {number(self.factor)})",
                worker=worker,
                value=size,
                threshold=self.factor * peak,
                condition=f"outlier {name}",
                remedy="look at the batch of this step; filter or repair its samples",
            )
        else:
            self._peaks[worker, name] = max(peak, size)

    def _compare_evaluated(self, step: StepView, tensor: TensorView) -> Findings:
        of, key = tensor.statistics, _input(tensor)
        if of.min == of.max and of.count > 1:
            yield from self._compare_one_number(step, tensor, key)
            return
        moments = np.array([1.0, of.mean, of.std**2 + of.mean**2]) * of.count
        began, before = self._evaluating.get(key, (step.at, np.zeros(3)))
        self._evaluating[key] = began, before + moments
        trained = self._trained.get(key, ())
        # Of the evaluation so far, from as many samples on as are trained at once: single ones
        # differ, and they may come class by class.
        if len(trained) < self.first or not (before + moments)[0] >= self._sizes_of_batches[key]:
            return
        usual = tuple(np.median(trained, axis=0).tolist())
        now = _mean_and_std(before + moments)
        apart = divergence(now, usual)
        limit = max(self.nats, 10 * max(divergence(each, usual) for each in trained))
        batches = max(1.0, of.count / self._sizes_of_batches[key])
        self._apart[key] = (self._apart.get(key, 0.0) + batches) * (apart > limit)
        if self.persists((*key, "evaluated"), self._apart[key] >= self.evaluations, 1):
            first_began, first = self._first_evaluated.get(key, self._evaluating[key])
            is_from_first = divergence(_mean_and_std(first), usual) > limit
            is_harmless = self._is_harmless(step)
            known = "; the loss is as low for them" if is_harmless else ""
            yield self.finding(
                step,
                tensor,
                f"{tensor.name}: inputs that are evaluated have mean {number(now[0])} and standard"
                f" deviation {number(now[1])} at step {step.train_step}; those that are trained"
                f" have {number(usual[0])} and {number(usual[1])}: {_apart(now, usual)}{known}",
                value=apart,
                threshold=self.nats,
                severity="info" if is_harmless else "warning",
                onset=first_began if is_from_first else began,
                condition=f"evaluated {tensor.name}",
                remedy="do to the inputs of an evaluation what is done in training: the same"
                " normalization, by the numbers of the training data, and the same units",
            )

    def _is_harmless(self, step: StepView) -> bool:
        """Return whether what was learned holds for the inputs of an EVAL step as well."""
        losses = [one for one in step.tensors("losses") if one.name in self._last_losses]
        return bool(losses) and all(
            one.scalar <= _NO_WORSE * (trained := statistics.median(self._last_losses[one.name]))
            and trained < _LEARNED * self._first_losses[one.name]
            for one in losses
        )

    def _compare_sampled(self, step: StepView) -> Findings:
        """Judge what a sampler gives a model, by its size beside that of training."""
        for group in prefixed(step, "evaluations", "evaluation/sampled_size"):
            worker, size = group.record.worker, float(group.quantity("mean")[0])
            for side, is_other in (
                ("too large", size > _SAMPLED),
                ("too small", size * _SAMPLED < 1),
            ):
                if not self.persists((worker, side), is_other, _SAMPLED_LOOKS):
                    continue
                yield self.finding(
                    step,
                    group[0],
                    f"as it samples, the model is given what is {number(size)} times as large, by"
                    " the root mean square, as what it was given in training at the same time"
                    f" step: the sampler takes off {'less' if size > 1 else 'more'} of the noise"
                    " than it should, and the model has not learnt what is left",
                    worker=worker,
                    value=size,
                    threshold=_SAMPLED if size > 1 else 1 / _SAMPLED,
                    condition=f"sampled {side}",
                    remedy="look at the step of the sampler: predicted noise goes with"
                    " (1 - alpha[t]) / sqrt(1 - alpha_bar[t]), where alpha_bar is the cumulative"
                    " product, and the noise that is added with sqrt(beta[t])",
                )

    def _compare_one_number(self, step: StepView, tensor: TensorView, key: _Input) -> Findings:
        """Judge an input that is one number in all of a batch that is evaluated."""
        least, largest, looks = self._ranges.get(key, (0.0, 0.0, 0))
        now, width = tensor.statistics.max, largest - least
        is_outside = (
            looks >= _LEAST_LOOKS and width > 0 and abs(now - least - width / 2) > (1.5 * width)
        )
        if self.persists((*key, "one number"), is_outside, 2):
            yield self.finding(
                step,
                tensor,
                f"{tensor.name}: what is evaluated is given {number(now)} at step"
                f" {step.train_step}, and in training it is from {number(least)} to"
                f" {number(largest)}: the model has seen nothing like it",
                value=now,
                threshold=largest if now > largest else least,
                condition=f"range {tensor.name}",
                remedy="give it in the units of the training: a time step as a part of all steps"
                " (t / T), if that is what was trained with",
            )


def _mean_and_std(moments: Floats) -> tuple[float, float]:
    """Return the mean and standard deviation of number, sum and sum of squares."""
    count, total, squares = moments.tolist()
    mean = total / count
    return mean, math.sqrt(max(squares / count - mean**2, 0.0))


def _apart(now: tuple[float, float], usual: tuple[float, float]) -> str:
    """Return how far two distributions are apart, in words; each is a mean and a deviation.

    Example:
        >>> _apart((4.7, 6.0), (0.0, 1.0))
        'the means differ by 4.7 standard deviations, and the spread is 6 times as large'
        >>> _apart((0.0, 0.5), (0.0, 1.0))
        'the means differ by 0 standard deviations, and the spread is 0.5 times as large'
    """
    if not usual[1] > 0:
        return "they do not vary in training"
    means, spread = abs(now[0] - usual[0]) / usual[1], now[1] / usual[1]
    return (
        f"the means differ by {number(means)} standard deviations, and the spread is"
        f" {number(spread)} times as large"
    )


def _is_of_one_label(step: StepView, worker: str) -> bool:
    """Return whether all samples of a step that are evaluated have the same label."""
    labels = [one.statistics for one in step.tensors("labels", worker=worker)]
    return bool(labels) and all(of.min == of.max and of.count > 1 for of in labels)


_Input = tuple[str, str, tuple[int, ...]]


def _input(tensor: TensorView) -> _Input:
    """Return the worker, the name and the shape of a sample: the same at all steps."""
    return tensor.worker, tensor.name, tuple(tensor.info.shape[1:])


def divergence(of: tuple[float, float], given: tuple[float, float]) -> float:
    """Return Kullback and Leibler's divergence of a normal distribution from another.

    Each is given by its mean and its standard deviation.

    Returns:
        Nats, at least 0; nan where a standard deviation is 0.

    Example:
        >>> divergence((1.0, 1.0), (0.0, 1.0))
        0.5
    """
    (mean, std), (other, spread) = of, given
    if not (std > 0 and spread > 0):
        return math.nan
    return math.log(spread / std) + ((std**2 + (mean - other) ** 2) / spread**2 - 1) / 2


#: By what bytes of pictures are divided, and within which fraction it is that.
_DIVISORS, _SAME_DIVISOR = (127.5, 128.0, 255.0, 256.0), 1e-3
#: What goes from 0 to 1, or from -1 to 1, has at least such a range; and at the first step no layer
#: of a model that is given next to nothing has outputs of more than the other: what is there is of
#: the biases, and what is normalized has more.
_SCALED, _NOTHING = 0.3, 1.5


class InputScale(Rule):
    """Inputs so large, or so small, that a new model cannot begin to learn from them.

    Judged at the first TRAIN step: an input of a floating dtype whose root mean square is above
    ``size``, while the outputs are far beyond what the loss is made for, or activations between
    -1 and 1 are nearly all at their ends (their mean square is above ``SATURATED``).

    Outputs are far beyond if their root mean square is more than ``outputs`` times the unit of the
    loss. For classes that is 1, the unit of logits, and the loss must be above twice
    ``log(classes)`` as well; of probabilities the loss itself must be more than ``outputs`` times
    ``log(classes)``, as where a sigmoid is at its ends and wrong; for squares and magnitudes it is
    the root mean square of the targets.
    A model that normalizes what it is given is not affected, and is not reported.

    ``scaled_twice``: pictures whose bytes were divided by 255 are divided once more, by a layer of
    the model or before it, and no output of the model has a range above 1.5, as what normalizes
    them has.
    """

    name = "input_scale"
    needs = ("batches",)
    training_only = True
    per_model = True
    sign = "inputs"
    view = EvidenceView("batches", "abs_max")
    lacks = "no input of a floating dtype was seen"

    size: float = parameter(
        10.0, "The largest root mean square of an input; unit size has 1.", above=1
    )
    outputs: float = parameter(5.0, "Outputs beyond so many units are far off.", above=1)

    def begin(self) -> None:
        self._inputs = Selection(("batches",), keep=_is_real)
        self._workers: set[str] = set()

    def check(self, step: StepView) -> Findings:
        for group, names in self._inputs.groups(step):
            worker = group.record.worker
            if worker in self._workers:
                continue
            self._workers.add(worker)
            self._evaluated = True
            yield from self._evaluate_twice(step, group)
            sizes = group.quantity("rms")
            if not (sizes > self.size).any():
                continue
            worst = int(np.nanargmax(sizes))
            size = float(sizes[worst])
            for given, units, what in _beyond(step, worker):
                if units > self.outputs:
                    text = f"{given.name} begins {number(units)} times {what}"
                    text += f" (> {number(self.outputs)})"
                    yield self._finding(step, given, names[worst], size, text)
            for gradient in _cut_off(step, worker):
                text = f"nothing of {gradient.name} differs from 0"
                yield self._finding(step, gradient, names[worst], size, text)
                break
            for output in _saturated(step, worker):
                text = f"nearly all of {output.name} is at -1 or 1"
                yield self._finding(step, output, names[worst], size, text)
                break

    def _evaluate_twice(self, step: StepView, group: TensorGroup) -> Findings:
        """Judge pictures that are divided by 255 and once more, as no layer makes good for that."""
        worker = group.record.worker
        outputs = list(step.tensors("outputs", worker=worker))
        if not outputs or any(_range_of(one) > _NOTHING for one in outputs):
            return
        for given in group:
            if len(given.info.shape) < 3:
                continue
            size = given.info.shape
            layers = [one for one in outputs if one.info.shape == size and _divides(given, one)]
            within = given.statistics.min >= 0
            if layers:
                least = _range_of(layers[0])
                what = f"{layers[0].name.removeprefix('output/')} divides them once more"
            elif within and math.isclose(given.statistics.max * 255, 1, rel_tol=_SAME_DIVISOR):
                least, what = given.statistics.max, "they were divided by 255 twice"
            else:
                continue
            effect = max(outputs, key=_range_of)
            yield self.finding(
                step,
                given,
                f"{given.name} holds values from {number(given.statistics.min)} to"
                f" {number(given.statistics.max)}, and {what}: the first trained layer is given"
                f" values that differ by at most {number(least)}, and no output of the model"
                f" differs by more than {number(_range_of(effect))} at step {step.train_step}",
                value=least,
                threshold=_NOTHING,
                condition=f"scaled_twice {given.name}",
                remedy="scale once: take Rescaling(1/255) out of the model, or the division out of"
                " what prepares the data; tf.image.convert_image_dtype and ToTensor() divide, too",
                evidence={"seen_at": effect.name},
            )

    def _finding(
        self, step: StepView, effect: TensorView, name: str, size: float, text: str
    ) -> Finding:
        return self.finding(
            step,
            name,
            f"{name}: the root mean square of the inputs is {number(size)} (> {number(self.size)})"
            f" at step {step.train_step}, and {text}",
            worker=effect.worker,
            value=size,
            threshold=self.size,
            condition=f"{name} {effect.name}",
            remedy="normalize inputs to mean 0 and standard deviation 1, each feature by its own,"
            " or begin with a normalization layer",
            evidence={"seen_at": effect.name},
        )


def _range_of(tensor: TensorView) -> float:
    found = tensor.statistics
    return float(found.max - found.min)


def _divides(given: TensorView, output: TensorView) -> bool:
    """Return whether a layer returns what it is given, divided as bytes of pictures are."""
    before, after = _range_of(given), _range_of(output)
    is_scaled = before >= _SCALED and max(abs(given.statistics.min), given.statistics.max) <= 1.01
    divides = any(math.isclose(after * by, before, rel_tol=_SAME_DIVISOR) for by in _DIVISORS)
    return is_scaled and divides


def _cut_off(step: StepView, worker: str) -> Iterator[TensorView]:
    """Yield the gradient of the first weights if it is 0, and no weights that follow are."""
    weights = next(step.groups("weights", worker=worker), None)
    if weights is None:
        return
    is_matrix = np.array([len(info.shape) > 1 for info in weights.infos], bool)
    rows = weights.record.statistics[weights.rows]
    if (rows[is_matrix, ZEROS] == rows[is_matrix, COUNT]).any():
        return  # it is what began at 0 that lets nothing through
    for group in step.groups("gradients", worker=worker):
        first = group.record.statistics[group.rows[0]]
        if first[ZEROS] == first[COUNT] > 1:
            yield group[0]


def _saturated(step: StepView, worker: str) -> Iterator[TensorView]:
    """Yield the outputs that are between -1 and 1, reach both ends, and are mostly there."""
    for group in step.groups("outputs", worker=worker):
        rows = group.record.statistics[group.rows]
        ends = (rows[:, MIN] < -SATURATED) & (rows[:, MAX] > SATURATED)
        bounded = (rows[:, MIN] >= -1) & (rows[:, MAX] <= 1)
        yield from group.where(ends & bounded & (group.quantity("rms") ** 2 > SATURATED))


def _beyond(step: StepView, worker: str) -> Iterator[tuple[TensorView, float, str]]:
    """Yield what each loss is given, how large it is, or its loss, and in which units."""
    made_for = "as large as its loss is made for"
    for given in step.tensors("predictions", worker=worker):
        label, loss = (of_same_loss(step, given, kind) for kind in ("label", "loss"))
        if label is None or loss is None:
            continue
        size = given.statistics.rms
        if given.info.function in CROSS_ENTROPIES:
            shape = given.info.shape
            guessing = math.log(max(2, shape[1] if len(shape) > 1 else 2))
            if given.statistics.min >= 0 and given.statistics.max <= 1:
                yield given, loss.scalar / guessing, "as far off as guessing"
            elif loss.scalar > 2 * guessing:
                yield given, size, made_for
        elif given.info.function in ELEMENTWISE:
            unit = label.statistics.rms
            yield given, size / unit if unit else math.nan, made_for


def _is_floating(layout: Layout, tensor: TensorInfo) -> bool:  # noqa: ARG001 - a Selection's keep
    return "float" in tensor.dtype


def _is_real(layout: Layout, tensor: TensorInfo) -> bool:  # noqa: ARG001 - a Selection's keep
    return "float" in tensor.dtype and len(tensor.shape) > 1


MEAN, STD, IMAGES = "channel_mean", "channel_std", "channel_images"
#: Means beyond this are those of bytes, not of numbers from 0 to 1.
_OF_BYTES = 2.0

# of each channel: number of images, their mean, and the mean of their squares
Moments = tuple[float, Floats, Floats]


class CheckInputImages(Rule):
    """Images whose channels have a mean far from 0, over all that were seen.

    The hook measures the images that a model is given; inputs that are saved in full and match
    ``regex`` are taken where it did not.
    """

    name = "check_input_images"
    sign = "inputs"
    evidence = ("channels:raw:every=10",)

    threshold_mean: float = parameter(
        0.2, "How far the mean of a channel may be from 0.", at_least=0
    )
    threshold_samples: int = parameter(500, "Judge when so many images were seen.", at_least=1)
    regex: str = parameter(".*hybridsequential0_input_0", "Images, where they are saved in full.")
    channel: int = parameter(1, "The axis of the channels of images with four axes.", at_least=0)
    threshold_std: float | None = parameter(
        None, "How far a standard deviation may be from 1; `none` for any.", above=0
    )

    def begin(self) -> None:
        self._images = Selection(
            (), (self.regex,), keep=lambda _, info: info.collection != "channels"
        )
        self._totals: dict[str, Moments] = {}
        self._why_not = ""

    def check(self, step: StepView) -> Findings:
        for name, (images, mean, squares) in self._moments(step):
            before = self._totals.get(name)
            if before is not None and before[1].shape == mean.shape:
                total = before[0] + images
                mean = (before[0] * before[1] + images * mean) / total
                squares = (before[0] * before[2] + images * squares) / total
                images = total
            self._totals[name] = images, mean, squares
            if images >= self.threshold_samples:
                yield from self._evaluate(step, name)

    def unevaluated(self) -> str | None:
        most = max((images for images, _, _ in self._totals.values()), default=0)
        if most >= self.threshold_samples:
            return None
        if most:
            return f"{most:.0f} images were seen, {self.threshold_samples} are needed"
        measured = "no image was measured, and "
        return self._why_not or measured + (self._images.missing() or "no value was saved in full")

    def _moments(self, step: StepView) -> Iterator[tuple[str, Moments]]:
        """Yield what one step adds, by input; full values first."""
        full = list(raw_values(step, self._images))
        for _, name, value in full:
            axis = self.channel if value.ndim == 4 else None
            if value.ndim not in (3, 4) or not value.size or (axis or 0) >= value.ndim:
                self._why_not = f"{name} has {value.ndim} axes, which are no images"
            else:
                yield name, _of_images(value, axis)
        for record, path in () if full else summaries(step, MEAN):
            count, std = step.tensor(IMAGES + path, record.worker), record.raw.get(STD + path)
            if count is not None and std is not None:
                means = record.raw[MEAN + path].astype(np.float64)
                squares = std.astype(np.float64) ** 2 + means**2
                yield f"images{path}", (count.statistics.mean, means, squares)

    def _evaluate(self, step: StepView, name: str) -> Findings:
        _, mean, squares = self._totals[name]
        std = np.sqrt(np.maximum(squares - mean**2, 0.0))
        worst = int(np.nanargmax(np.append(np.abs(mean), -1.0)))
        if worst < len(mean) and abs(mean[worst]) > self.threshold_mean:
            yield self._finding(step, name, worst, ("mean", float(mean[worst])))
        if self.threshold_std is not None:
            worst = int(np.nanargmax(np.append(np.abs(std - 1), -1.0)))
            if worst < len(std) and abs(std[worst] - 1) > self.threshold_std:
                yield self._finding(step, name, worst, ("standard deviation", float(std[worst])))

    def _finding(
        self, step: StepView, name: str, channel: int, measured: tuple[str, float]
    ) -> Finding:
        images, mean, _ = self._totals[name]
        what, value = measured
        is_mean = what == "mean"
        limit = self.threshold_mean if is_mean else self.threshold_std
        wanted = "0" if is_mean else "1"
        bytes_ = "; values span far more than 0 to 1: inputs are not scaled"
        return self.finding(
            step,
            name,
            f"{name}: the {what} of channel {channel} is {number(value)} over {images:.0f} images,"
            f" further than {limit} from {wanted}, up to step {step.train_step}"
            + (bytes_ if np.nanmax(np.abs(mean)) > _OF_BYTES else ""),
            value=value,
            threshold=limit,
            condition=f"{name} {what}",
            remedy="subtract the mean of the data set and divide by its standard deviation",
            evidence={"channel": channel, "images": images},
        )


def _of_images(value: Array, axis: int | None) -> Moments:
    """Return the moments of each channel over its finite pixels; of one without an axis."""
    values = value.astype(np.float64)
    channels = values.reshape(1, -1) if axis is None else np.moveaxis(values, axis, 0)
    channels = channels.reshape(len(channels), -1)
    finite = np.isfinite(channels)
    count = np.maximum(finite.sum(axis=1), 1)
    kept = np.where(finite, channels, 0.0)
    return float(len(value)), kept.sum(axis=1) / count, (kept**2).sum(axis=1) / count


TOKEN, TOKEN_COUNT = "token/", "token_count/"

# how many positions there are, and at how many each listed token stands, shape [tokens]
Counted = tuple[float, Floats]


class NLPSequenceRatio(Rule):
    """A token, such as padding, that stands at too many positions of the sequences of a step.

    The hook counts the most frequent tokens that embeddings get; inputs that are saved in
    full and match ``tensor_regex`` are taken where it did not.
    """

    name = "nlp_sequence_ratio"
    sign = "data"
    evidence = ("tokens:raw:every=10",)

    tensor_regex: Sequence[str] = parameter(
        (".*embedding0_input_0",), "Token ids, where they are saved in full."
    )
    token_values: Sequence[str] = parameter(("0",), "The tokens, separated by commas.")
    token_thresholds_percent: Sequence[str] = parameter(
        ("50",), "Percentage of the positions; one for each token, or one for all."
    )
    window: int = parameter(
        1, "Add up so many last looks at an input instead of judging each.", at_least=1
    )

    def begin(self) -> None:
        self._last: Series[str, Counted] = Series(self.window)
        self._tokens = _numbers("token_values", self.token_values)
        limits = _numbers("token_thresholds_percent", self.token_thresholds_percent)
        if len(limits) == 1:
            limits = np.repeat(limits, len(self._tokens))
        if len(limits) != len(self._tokens):
            raise ConfigError(
                f"{len(self._tokens)} token_values and {len(limits)}"
                " token_thresholds_percent were given; give one for each token, or one for all"
            )
        for limit in limits:
            within("token_thresholds_percent", float(limit), 0, 100)
        self._limits = limits
        self._ids = Selection(
            (), self.tensor_regex, keep=lambda _, info: info.collection != "tokens"
        )

    def check(self, step: StepView) -> Findings:
        counted: dict[str, Counted] = {}
        for name, (positions, found) in self._counted(step):
            before = counted.get(name, (0.0, 0.0))
            counted[name] = before[0] + positions, before[1] + found
        for name, count in counted.items():
            last = self._last.add(name, count)
            if len(last) < self.window:
                continue
            self._evaluated = True
            positions, found = sum(one[0] for one in last), np.sum([one[1] for one in last], axis=0)
            percents = 100.0 * found / positions
            for index in np.flatnonzero(percents > self._limits):
                yield self._finding(step, name, int(index), float(percents[index]), positions)

    def unevaluated(self) -> str | None:
        if self._evaluated:
            return None
        measured = "no token was counted, and "
        return measured + (self._ids.missing() or "no ids were saved in full")

    def _counted(self, step: StepView) -> Iterator[tuple[str, Counted]]:
        """Yield the counts of each input of each worker; full values first."""
        full = list(raw_values(step, self._ids))
        for _, name, value in full:
            if value.size:
                ids = np.rint(value.astype(np.float64)).ravel()
                found = [np.count_nonzero(ids == token) for token in self._tokens]
                yield name, (float(ids.size), np.array(found, np.float64))
        for record, module in () if full else summaries(step, TOKEN):
            total = step.tensor(TOKEN_COUNT + module, record.worker)
            if total is not None and total.statistics.sum > 0:
                ids, times = record.raw[TOKEN + module].astype(np.float64)
                found = [times[ids == token].sum() for token in self._tokens]
                yield TOKEN + module, (total.statistics.sum, np.array(found))

    def _finding(
        self, step: StepView, name: str, index: int, percent: float, positions: float
    ) -> Finding:
        token = number(self._tokens[index])
        limit = float(self._limits[index])
        return self.finding(
            step,
            name,
            f"{name}: token {token} stands at {number(percent)}% of {positions:.0f} positions"
            f" (> {number(limit)}%) at step {step.train_step}; if it is padding, so much of the"
            " work is"
            " for nothing",
            value=percent,
            threshold=limit,
            condition=f"{name} {token}",
            remedy="group sequences by length, pack several into one, or use another vocabulary",
            evidence={"token": float(self._tokens[index]), "positions": positions},
        )


def _numbers(name: str, texts: Sequence[str]) -> Floats:
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        raise ConfigError(f"{name} must be numbers separated by commas, got {texts!r}") from None
    if not len(numbers):
        raise ConfigError(f"{name} must have at least one number")
    return numbers
