"""Rules on what predictions depend on, and on data that repeats or comes class by class."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, NotApplicable, Rule
from ..judge.step_view import StepNumber, StepView, TensorView
from ..model.finding import Finding
from ..model.steps import Mode
from ..numerics.measures import Floats, listed, number
from .history import Series
from .samples import DrawnSamples
from .shared import (
    BINARY,
    DependenceSample,
    dependence_samples,
    in_a_row,
    of_same_loss,
    prefixed,
)

#: Targets of which so many are the input at another position are that input.
COPY_SHARE = 0.95
#: Tokens have one target each by so much more, of all, in the order in which these are theirs.
PURER = 0.15
#: Samples of which this share of a prediction comes are no by-work of a normalization.
FOREIGN_SHARE = 0.5
#: What is reported of classes that training never had: the share of all labels that are evaluated,
#: if of as many labels of training so many would be of them.
LEAST_UNSEEN, LEAST_EXPECTED = 0.05, 20
#: Other classes may be trained where nothing was looked at after this part of the run, or where
#: classes depend on the step like this at the first looks and the last: they come in tasks.
LATE, IN_TASKS = 2 / 3, 0.1
#: So few samples are learnt by heart, to see that the model can.
BY_HEART = 64
#: So many targets must lie flipped against their pictures, and this share of all.
LEAST_FLIPPED, LEAST_SHARE = 4, 0.15
#: Pixels side by side correlate in another order of the elements of a picture, by so much at least,
#: and by so much more than as they are, both by Fisher's transformation.
LEAST_LIKE, MORE_LIKE = 0.03, 0.03
_DERIVATIVES = ("derivatives:statistics:steps=5+9+20+100+500+2000+10000",)


_REMEDIES = {
    "future": "mask attention: a position may see those before it and itself, is_causal=True; see"
    " over which axis softmax is taken, and that no axes are mixed by view or reshape",
    "samples": "look for a recurrent layer or attention that needs batch_first=True, and for a"
    " softmax, mean, view or reshape over the axis of the batch; if the statistics of the batch are"
    " meant, as in a normalization, this is as it should be",
    "blind": "see which keys the mask hides, and that no axes are mixed by view or reshape",
    "order": "flatten predictions and targets in the same order of axes",
    "as_time": "give the layer batch_first=True, or inputs with time on the first axis",
    "ahead": "shift the targets by one position, once: in the data or in the loss",
    "flipped": "draw a flip or rotation once and do it to picture and target alike; see which axis"
    " of the target is its height",
    "reshaped": "move the axis of channels, by np.moveaxis, transpose or permute: reshape and view"
    " leave the elements in their order, so that rows and channels are mixed",
}


class Dependence(Rule):
    """Predictions that depend on what they must not, or not on what they should.

    Derivatives of one row of a prediction, by what its batch became in the first layer, are exact
    about what it depends on. ``future``: a model whose targets are the next tokens uses later ones,
    or, in JAX, its mask of constants lets each token see those after it. ``blind``: it uses tokens
    further back and not those right before. ``samples``: the prediction of a sample depends on
    other samples; ``as_time``, because a recurrent layer or attention takes them for steps of time,
    as its sizes show. By the targets themselves: ``order``, they are the next tokens, in another
    order than the predictions; ``ahead``, they are the next but one. ``flipped``: they lie on their
    pictures flipped or turned, such as masks that a random augmentation left where they were.
    ``reshaped``: the elements of what the model is given are pictures, or signals of several
    channels, where the axis of channels is read at its other place, and none as they are.
    """

    name = "dependence"
    needs = ("dependence", "setup")
    training_only = True
    sign = "loss_input"
    lacks = NotApplicable("no prediction was looked back from")

    min_share: float = parameter(
        1e-6, "Of the squared derivatives; less is let be.", above=0, at_most=1
    )
    consecutive: int = parameter(2, "Looks in a row.", at_least=1)
    derivatives: bool = parameter(
        True, "Let derivatives be taken: less than one more backward pass at each of seven steps."
    )

    @property
    def evidence(self) -> tuple[str, ...]:  # type: ignore[override]  # that of other rules is fixed
        """What must be saved for it, in the words of ``--save``."""
        return _DERIVATIVES if self.derivatives else ()

    def begin(self) -> None:
        self._digests: set[int] = set()
        # By worker and loss, how many targets lie on their pictures as they are, and flipped, of
        # how many.
        self._pictures: defaultdict[tuple[str, str], Floats] = defaultdict(lambda: np.zeros(3))
        # Of each condition whether it held at every look, the first of which was an early one.
        self._always: dict[tuple[str, str, str], bool] = {}

    def check(self, step: StepView) -> Findings:
        for group in prefixed(step, "setup", "setup/ahead/"):
            for tensor in group:
                self._evaluated = True
                if self.persists((tensor.worker, tensor.name), holds=True):
                    yield self.finding(
                        step,
                        tensor,
                        f"{tensor.name.rpartition('/')[2]} masks scores by a constant that lets"
                        f" each token see the next, too, {in_a_row(self.consecutive, 'look')} up to"
                        f" step {step.train_step}",
                        onset=StepNumber(0, 0),
                        condition="future",
                        remedy="make the mask by jnp.tril(jnp.ones((n, n))), with k=0: a position"
                        " may see those before it and itself",
                    )
        samples = list(dependence_samples(step))
        one_ahead = any(sample.same_1 >= COPY_SHARE for _, sample in samples)
        for tensor, sample in samples:
            self._evaluated |= sample.is_about_predictions
            batches = step.tensors("batches", worker=tensor.worker)
            self._digests.update(batch.digest for batch in batches if batch.digest is not None)
            conditions = self._conditions(sample, one_ahead)
            conditions["flipped"] = self._flipped(tensor, sample)
            for condition, (holds, value, what) in conditions.items():
                key = tensor.worker, tensor.name, condition
                always = self._always.get(key, step.train_step < _EARLY)
                self._always[key] = always and holds
                looks, times = self.consecutive, f"{in_a_row(self.consecutive, 'look')} "
                if condition == "flipped":  # which is of all looks so far
                    looks, times = 1, ""
                if self.persists(key, holds, looks):
                    loss = tensor.name.partition("/")[2]
                    is_part = condition == "samples" and value < FOREIGN_SHARE
                    if is_part and len(self._digests) > 1:  # one graph is the same at each step
                        is_part = not _has_one_class_each(step, tensor)
                    yield self.finding(
                        step,
                        tensor,
                        f"the prediction of {loss} {what}, {times}up to step {step.train_step}",
                        severity="info" if is_part else "warning",
                        onset=StepNumber(0, 0) if self._always[key] else None,
                        value=value,
                        condition=condition,
                        remedy=_REMEDIES[condition],
                    )

    def _conditions(
        self, sample: DependenceSample, one_ahead: bool
    ) -> dict[str, tuple[bool, float, str]]:
        """Return, for each condition, whether it holds, by which value, and its sentence."""
        is_next = sample.same_1 >= COPY_SHARE
        turned = sample.turned >= COPY_SHARE > 2 * sample.same_1 and sample.order == 1
        turned |= is_next and 2 * sample.turned < COPY_SHARE and sample.order == 0
        # Of other targets, as of the tags of words, the tokens tell which is whose.
        turned |= sample.order == 0 and sample.purity - sample.purity_turned >= PURER
        turned |= sample.order == 1 and sample.purity_turned - sample.purity >= PURER
        # A recurrent layer goes along the first axis, and time is on the second, as targets show.
        is_across = sample.as_time == 0 and is_next and sample.others > self.min_share
        as_time = sample.as_time == 1 or is_across
        as_is, other = np.arctanh(np.minimum([sample.neighbours, sample.other_order], 1 - 1e-9))
        return {
            "future": (
                is_next and not turned and sample.future > self.min_share,
                sample.future,
                f"depends on later tokens, by {number(sample.future)} of its squared derivatives,"
                " and its targets are the next tokens",
            ),
            "blind": (
                sample.gap > 1,
                sample.gap,
                f"depends on tokens {number(sample.gap)} positions back and on none nearer but its"
                " own",
            ),
            "samples": (
                sample.others > self.min_share and math.isnan(sample.as_time),
                sample.others,
                f"depends on other samples of the batch, by {number(sample.others)} of its squared"
                " derivatives",
            ),
            "as_time": (
                as_time,
                1.0,
                "comes from a recurrent layer or attention that takes the samples of a batch for"
                " steps of time",
            ),
            "order": (
                turned,
                sample.turned if sample.turned >= COPY_SHARE else 1.0,
                "lies in another order than the targets: each is compared with that of another"
                " place",
            ),
            "ahead": (
                sample.same_2 >= COPY_SHARE and not one_ahead,
                sample.same_2,
                "is compared with the next token but one",
            ),
            "reshaped": (
                bool(other >= LEAST_LIKE and other - as_is >= MORE_LIKE),
                sample.other_order,
                "is that of inputs that were reshaped where an axis was to be moved: with the"
                f" axis of channels at its other place values side by side correlate by"
                f" {number(sample.other_order)}, and as they are by {number(sample.neighbours)}",
            ),
        }

    def _flipped(self, tensor: TensorView, sample: DependenceSample) -> tuple[bool, float, str]:
        """Return the same of targets that lie flipped on their pictures, of all looks so far."""
        counts = self._pictures[tensor.worker, tensor.name]
        counts += np.nan_to_num([sample.aligned, sample.flipped, sample.pictures])
        aligned, flipped, pictures = counts.tolist()
        share = flipped / max(pictures, 1)
        return (
            flipped >= LEAST_FLIPPED and share >= LEAST_SHARE,
            share,
            f"is compared with targets of which {number(flipped)} lie on their pictures only where"
            f" they are flipped or turned, and {number(aligned)} as they are, of"
            f" {number(pictures)}",
        )


def _has_one_class_each(step: StepView, dependence: TensorView) -> bool:
    """Return whether a loss compares one row of logits of classes with each sample of a batch.

    Then samples have nothing to do with each other. Logits of pairs of samples have, as those of
    contrastive losses, and so have nodes of one graph.
    """
    prediction = of_same_loss(step, dependence, "prediction")
    if prediction is None or prediction.info.function != "cross_entropy":
        return False
    shape = prediction.info.shape
    batches = step.tensors("batches", worker=dependence.worker)
    sizes = {batch.info.shape[0] for batch in batches if batch.info.shape}
    return len(shape) == 2 and shape[0] != shape[1] and sizes == {shape[0]}


_PREFIX = "class_count/"
# What holds at the first look, which comes before this TRAIN step, is how the script is made.
_EARLY = 10


def dependence(counts: Floats) -> float:
    """Return how much the classes depend on the step: Cramér's V squared, less that of chance.

    Args:
        counts: Labels of each class at each step, shape ``[steps, classes]``, at least 0.

    Returns:
        About 0 if every step is a random sample of all labels, and up to 1 if each holds a single
        class (Cramér: Mathematical methods of statistics, 1946; what chance makes of it is taken
        off as by Bergsma: A bias-correction for Cramér's V, 2013). 0 for a single step or class.
    """
    counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
    steps, classes = counts.shape
    if min(steps, classes) < 2:
        return 0.0
    total = float(counts.sum())
    expected = np.outer(counts.sum(1), counts.sum(0)) / total
    squares = float(((counts - expected) ** 2 / expected).sum())
    by_chance = (steps - 1) * (classes - 1) / max(total - 1, 1.0)
    above_chance = max(0.0, squares / total - by_chance)
    return float(above_chance / (min(steps, classes) - 1))


#: How many samples are evaluated by what is no step of its own, as functions of JAX, if that are
#: more than the batch has.
EVALUATED = "evaluation/samples"
#: Labels of pixels or tokens are judged by so many samples: a class may be in few of them.
MANY_SAMPLES = 100
#: So many steps that follow each other are looked at: steps apart may be those of an epoch each.
IN_A_ROW = 10


class RepeatedData(Rule):
    """Training data of which there is too little variety from step to step.

    ``same_batch``: what the model is given is bit for bit the same over ``num_steps`` TRAIN steps,
    ``IN_A_ROW`` of which follow each other, and fewer samples than were evaluated at once, others:
    it is not all the data there is. A training on all data at each step is accepted, and so is one
    that never evaluates, or that differentiates by its inputs, as a physics-informed network at the
    points it is given.
    ``one_class``: all labels so far are of one class out of three or more. ``class_by_class``: each
    step holds hardly more than one class, and the next another, as in data that is sorted and not
    shuffled; or, by the least and the largest label at each look, every other batch or more is of
    one class, three classes or more have batches of their own, and some come back; or nearly all
    are, and of two classes or more many follow each other.
    ``unseen_class``: at the end, labels that were evaluated are of classes that training never had,
    as where sorted data is split before it is shuffled; not where other classes come while it
    trains, and some may not have been looked at. ``few_samples``: batches repeat the same few
    samples, by their digests, and evaluations show that there are many more. ``overlapping``: most
    batches hold samples of the one before, in the same order at another place.

    Classes are judged from ``looks`` steps on at which they were counted, their order over the last
    ones, where a sample has one label.
    """

    name = "repeated_data"
    needs = ("batches", "classes", "samples", "labels", "evaluations")
    needed_steps = "looks"
    per_model = True
    sign = "data"
    view = EvidenceView("losses", "mean")

    num_steps: int = parameter(40, "TRAIN steps with one batch.", at_least=2)
    looks: int = parameter(10, "Steps at which classes were counted.", at_least=2)
    depends: float = parameter(
        0.5,
        "Cramér's V squared of classes and steps: 0 if shuffled, 1 if sorted.",
        above=0,
        at_most=1,
    )

    def begin(self) -> None:
        # Of each worker the last batch, at how many steps that follow each other, the last of them,
        # and the first at which it was this batch.
        self._batches: dict[str, tuple[tuple[int, ...], int, int, int]] = {}
        self._widths: dict[str, set[int]] = {}
        self._counts: Series[tuple[str, str], Floats] = Series(self.looks)
        self._num_classes: dict[tuple[str, str], int] = {}
        self._totals: dict[tuple[str, str], Floats] = {}
        # Of each loss the classes at the first looks, and the TRAIN step of the last one.
        self._first_counts: dict[tuple[str, str], list[Floats]] = {}
        self._last_look: dict[tuple[str, str], int] = {}
        # Of labels of which a sample has many: the least and the largest, and how many samples.
        self._of_many: dict[tuple[str, str], tuple[float, float, int]] = {}
        # Of each worker that boosts: the labels that its rounds are trained on.
        self._boosted: dict[str, Floats] = {}
        self._num_trained = 0
        self._evaluated_totals: dict[tuple[str, str], Floats] = {}
        self._first_evaluated: StepNumber | None = None
        # Of each worker, by its models, the most samples of one evaluation; ``""`` for any of them.
        self._num_evaluated: dict[tuple[str, str], int] = {}
        # After which TRAIN step it evaluates, how many samples, and which batches.
        self._evaluating: dict[tuple[str, str], tuple[int, int, set[tuple[int | None, ...]]]] = {}
        self._drawn: dict[tuple[str, str], DrawnSamples] = {}
        self._of_one: dict[tuple[str, str], _BatchesOfOne] = {}
        # Of which losses of which workers it was said already.
        self._sorted: set[tuple[str, str]] = set()

    def check(self, step: StepView) -> Findings:
        yield from self._evaluate_samples(step)
        for tensor in step.tensors("evaluations"):
            if tensor.name == EVALUATED:
                key = tensor.worker, ""
                known = self._num_evaluated.get(key, 0)
                self._num_evaluated[key] = max(known, int(tensor.scalar))
        self._num_trained = step.train_step
        if step.mode is Mode.EVAL:
            for worker in step.workers:
                self._count_evaluated(step, worker)
            for tensor, counts in self._class_counts(step):
                key = tensor.worker, tensor.name
                self._first_evaluated = self._first_evaluated or step.at
                # Boosting evaluates all of them in each round.
                so_far = 0 if tensor.worker in self._boosted else self._evaluated_totals.get(key, 0)
                self._evaluated_totals[key] = so_far + counts
            return
        if not step.trains:
            return
        self._steps += 1
        for worker in step.workers:
            yield from self._evaluate_batch(step, worker)
        for tensor in step.tensors("labels"):
            yield from self._evaluate_labels(step, tensor)
        boosting = {group.record.worker for group in step.groups("boosting")}
        for tensor, counts in self._class_counts(step):
            if tensor.worker not in boosting:
                yield from self._evaluate_classes(step, tensor, counts)
            elif len(counts) > 2:
                before = self._boosted.get(tensor.worker, counts)
                is_alike = before.shape == counts.shape
                # Later rounds of a model may be trained on other rows.
                self._boosted[tensor.worker] = np.maximum(before, counts) if is_alike else counts

    def finish(self) -> Findings:
        for (worker, name), evaluated in self._evaluated_totals.items():
            trained = self._boosted.get(worker)
            if trained is None:
                trained = self._looked_at(worker, name)
            step = self._first_evaluated
            if trained is None or step is None or trained.shape != evaluated.shape:
                continue
            unseen = np.flatnonzero((trained == 0) & (evaluated > 0))
            share = float(evaluated[unseen].sum() / max(evaluated.sum(), 1))
            if share < LEAST_UNSEEN or share * trained.sum() < LEAST_EXPECTED:
                continue
            which = listed([str(one) for one in unseen.tolist()])
            yield self.finding(
                step,
                name,
                f"{share:.0%} of {number(evaluated.sum())} labels that were evaluated are of"
                f" {'classes' if len(unseen) > 1 else 'class'} {which}, of which none of"
                f" {number(trained.sum())} labels was in training"
                f"{'' if worker in self._boosted else ', as far as they were looked at'}",
                mode=Mode.EVAL.value,
                worker=worker,
                value=share,
                threshold=LEAST_UNSEEN,
                condition=f"unseen_class {name}",
                remedy=_UNSEEN,
            )

    def _class_counts(self, step: StepView) -> Iterator[tuple[TensorView, Floats]]:
        """Yield how many labels of each class there are, where that was counted.

        Of classes that are more or fewer from step to step, as the samples of a batch that are told
        from one another, nothing is yielded once they are.
        """
        for tensor in step.tensors("classes"):
            if tensor.name.startswith(_PREFIX) and tensor.name in tensor.record.raw:
                key, counts = (tensor.worker, tensor.name), np.asarray(tensor.value(), np.float64)
                if self._num_classes.setdefault(key, len(counts)) != len(counts):
                    self._num_classes[key] = 0
                    self._totals.pop(key, None)
                else:
                    yield tensor, counts

    def _looked_at(self, worker: str, name: str) -> Floats | None:
        """Return the labels of training of each class, if no class can have been overlooked."""
        key = worker, name
        drawn = (one for (of, _), one in self._drawn.items() if of == worker)
        if key not in self._totals or any(len(one.trained) <= BY_HEART for one in drawn):
            return None
        is_late = self._last_look[key] >= LATE * (self._num_trained - 1)
        in_tasks = dependence(np.array([*self._first_counts[key], *self._counts[key]])) > IN_TASKS
        return self._totals[key] if is_late and not in_tasks else None

    def _count_evaluated(self, step: StepView, worker: str) -> None:
        """Remember how many samples one evaluation had, all its steps together.

        What is the batch that is trained on shows no others, as where parts of a graph are masked,
        nor does a batch that is evaluated once more, nor what one part of a model gives another,
        nor what another model is given.
        """
        trained, *_ = self._batches.get(worker, ((),))
        widths = self._widths.get(worker)
        batches = [
            batch
            for batch in step.tensors("batches", worker=worker)
            if batch.digest not in trained and (widths is None or _width(batch) in widths)
        ]
        if not batches:
            return
        key = worker, _model(batches)
        after, so_far, seen = self._evaluating.get(key, (step.train_step, 0, set()))
        if after != step.train_step:
            so_far, seen = 0, set()
        digests = tuple(batch.digest for batch in batches)
        so_far += 0 if digests in seen and None not in digests else _samples(batches)
        seen.add(digests)
        self._evaluating[key] = step.train_step, so_far, seen
        self._num_evaluated[key] = max(so_far, self._num_evaluated.get(key, 0))

    def _evaluate_batch(self, step: StepView, worker: str) -> Findings:
        batches = list(step.tensors("batches", worker=worker))
        digests = tuple(batch.digest for batch in batches)
        known = tuple(digest for digest in digests if digest is not None)
        before, times, at, since = self._batches.get(worker, ((), 0, 0, 0))
        self._widths[worker] = {_width(batch) for batch in batches}
        if any(batch.info.trainable for batch in batches):
            return  # points at which a solution of an equation is differentiated may stay
        # Where steps in between were not observed, an epoch may have passed.
        is_next = step.mode_step == at + 1
        is_same = bool(known) and known == before
        times, since = (times + is_next, since) if is_same else (1, step.mode_step)
        self._batches[worker] = known, times, step.mode_step, since
        samples = _samples(batches)
        models = "", _model(batches)
        evaluated = max(self._num_evaluated.get((worker, model), 0) for model in models)
        times = step.mode_step - since + 1 if times >= min(IN_A_ROW, self.num_steps) else 0
        if len(known) == len(digests) and times >= self.num_steps and samples < evaluated:
            yield self.finding(
                step,
                batches[0].name,
                f"{batches[0].name}: the same {samples} samples, bit for bit, over {times} TRAIN"
                f" steps up to step {step.train_step}; {evaluated} are evaluated",
                worker=worker,
                value=float(times),
                threshold=float(self.num_steps),
                condition="same_batch",
                remedy="go through the loader: next(iter(loader)) begins it anew each time",
            )

    def _evaluate_samples(self, step: StepView) -> Findings:
        """Judge how many different samples TRAIN has seen, beside those of EVAL."""
        for tensor in step.tensors("samples"):
            if tensor.name not in tensor.record.raw:
                continue
            drawn = self._drawn.setdefault((tensor.worker, tensor.name), DrawnSamples(self.looks))
            digests = tensor.value().ravel().tolist()
            drawn.add(step.mode, digests, step.mode_step, trains=step.trains)
            if not step.trains:
                continue
            if self.streak((tensor.worker, "shifted"), drawn.are_shifted) == 1:
                yield self._shifted(step, tensor, drawn)
            if self.streak((tensor.worker, tensor.name, "few_samples"), drawn.are_few) == 1:
                yield self._few(step, tensor, drawn)

    def _shifted(self, step: StepView, tensor: TensorView, drawn: DrawnSamples) -> Finding:
        size, count = len(tensor.value().ravel()), len(drawn.trained)
        return self.finding(
            step,
            tensor,
            f"{drawn.num_shifted} of {drawn.num_pairs} batches share samples with the batch before,"
            " in the same order at another place, as if each began one sample after another and not"
            f" {size}: {drawn.num_rows} rows up to step {step.train_step} are of {count} samples",
            value=float(count),
            threshold=float(drawn.num_rows),
            condition="overlapping",
            remedy="cut batches out side by side: indices[i * size : (i + 1) * size] for batch i",
        )

    def _few(self, step: StepView, tensor: TensorView, drawn: DrawnSamples) -> Finding:
        count, rows = len(drawn.trained), drawn.num_rows
        return self.finding(
            step,
            tensor,
            f"batches consist of {count} different samples, drawn again and again: all {rows} rows"
            f" at {drawn.looks} looks up to step {step.train_step} are bit for bit among these,"
            f" while {len(drawn.evaluated)} different samples were evaluated",
            value=float(count),
            threshold=rows / drawn.REPEATED,
            condition="few_samples",
            remedy="look at the sampler: a WeightedRandomSampler takes one weight for each sample"
            " of the data, not one for each class, as weights = class_weights[labels]; see which"
            " indices are drawn",
        )

    def _evaluate_labels(self, step: StepView, tensor: TensorView) -> Findings:
        """Judge batches by their least and largest label, known wherever a step is looked at."""
        loss = tensor.name.partition("/")[2]
        is_of_classes = tensor.info.function.startswith("cross_entropy")
        if is_of_classes and math.prod(tensor.info.shape[1:]) > 1:
            yield from self._evaluate_many(step, tensor)
        if not _are_classes(tensor) or (tensor.worker, loss) in self._sorted:
            return
        if tensor.info.function in BINARY and len([*step.tensors("labels")]) > 1:
            return  # a discriminator is given real samples and made ones
        found = self._of_one.setdefault((tensor.worker, loss), _BatchesOfOne())
        found.add(tensor.statistics.min, tensor.statistics.max)
        prediction = of_same_loss(step, tensor, "prediction")
        if prediction is not None and len(prediction.info.shape) == 2:
            found.num_classes = prediction.info.shape[1]
        if found.looks < self.looks or not found.are_sorted:
            return
        self._sorted.add((tensor.worker, loss))
        yield self.finding(
            step,
            tensor,
            f"the data are not shuffled: {found.count} of {found.looks} batches that were looked at"
            f" hold a single class each, of classes {listed([str(one) for one in found.classes])},"
            f" up to step {step.train_step}",
            value=found.count / found.looks,
            threshold=_BatchesOfOne.SHARE,
            condition=f"class_by_class {loss}",
            remedy=_SORTED,
        )

    def _evaluate_classes(self, step: StepView, tensor: TensorView, counts: Floats) -> Findings:
        batches = list(step.tensors("batches", worker=tensor.worker))
        samples = _samples(batches) if batches else _labelled(step, tensor)
        if len(counts) < 3 or not 0 < counts.sum() <= samples:
            return
        key = tensor.worker, tensor.name
        recent = self._counts.add(key, counts)
        total = self._totals[key] = self._totals.get(key, 0) + counts
        self._last_look[key] = step.train_step
        first = self._first_counts.setdefault(key, [])
        if len(first) < self.looks:
            first.append(counts)
        if len(recent) < self.looks:
            return
        table = np.array(recent)
        classes = np.flatnonzero(total)
        depends = dependence(table)
        if len(classes) == 1:
            condition, value, limit, remedy = "one_class", 1.0, 2.0, _ONE_CLASS
            text = f"all {number(total.sum())} labels so far are of class {classes[0]}"
            text += f", of {len(counts)} classes"
        elif depends > self.depends and len(classes) > 2:
            if (tensor.worker, tensor.name.partition("/")[2]) in self._sorted:
                return
            condition, value, limit, remedy = "class_by_class", depends, self.depends, _SORTED
            text = (
                "the data are not shuffled: a step holds"
                f" {number(float((table > 0).sum(1).mean()))} of {len(classes)} classes on average,"
                f" and others than the step before (dependence {number(depends)} >"
                f" {number(self.depends)}; 0 if shuffled, 1 if sorted)"
            )
        else:
            return
        yield self.finding(
            step,
            tensor,
            f"{text}, at {self.looks} looks up to step {step.train_step}",
            value=value,
            threshold=limit,
            condition=condition,
            remedy=remedy,
        )

    def _evaluate_many(self, step: StepView, tensor: TensorView) -> Findings:
        """Judge labels of which a sample has many, as of pixels, by the least and the largest."""
        key = tensor.worker, tensor.name
        low, high, samples = self._of_many.get(key, (math.inf, -math.inf, 0))
        low, high = min(low, tensor.statistics.min), max(high, tensor.statistics.max)
        samples += tensor.info.shape[0]
        self._of_many[key] = low, high, samples
        if low == high and low.is_integer() and samples >= MANY_SAMPLES:
            yield self.finding(
                step,
                tensor,
                f"all labels so far are {number(low)}, {math.prod(tensor.info.shape[1:])} in each"
                f" of {samples} samples, up to step {step.train_step}",
                value=1.0,
                threshold=2.0,
                condition="one_class",
                remedy=_ONE_CLASS,
            )


class _BatchesOfOne:
    """Counts batches all of whose labels are of one class.

    In shuffled data they are of the most frequent class, if there are any. Classes that are learnt
    one after the other do not come back, and nobody learns a class alone.
    """

    SHARE, CLASSES, SAMPLES = 0.5, 3, 8
    #: So many batches of one class follow each other, of two classes or more, and so many of all
    #: batches are of one.
    RUN, MOST = 8, 0.9
    #: Or, where a model tells more than two classes apart, so many were looked at: looks may always
    #: meet the same places of an epoch, and so the same two classes.
    LOOKS = 20

    def __init__(self) -> None:
        self.looks = self.count = 0
        #: How many classes the model tells apart, as far as known.
        self.num_classes = 0
        self._seen: dict[int, int] = {}
        self._last: int | None = None
        self._num_returns = self._length = 0
        self._in_runs: set[int] = set()

    def add(self, least: float, largest: float) -> None:
        """Add a batch of ``SAMPLES`` or more."""
        self.looks += 1
        if least != largest:
            return
        self.count, label = self.count + 1, int(least)
        self._num_returns += label != self._last and label in self._seen
        self._length = self._length + 1 if label == self._last else 1
        if self._length >= self.RUN:
            self._in_runs.add(label)
        self._seen[label], self._last = self._seen.get(label, 0) + 1, label

    @property
    def classes(self) -> list[int]:
        """Those that have batches of their own."""
        return sorted(self._seen)

    @property
    def are_sorted(self) -> bool:
        """Whether the data are in the order of their classes."""
        share = self.count / self.looks
        are_enough = self.looks >= self.LOOKS and self.num_classes >= self.CLASSES
        returns = are_enough and self._num_returns > 0
        if share >= self.MOST and (len(self._in_runs) > 1 or returns):
            return True
        return share >= self.SHARE and len(self._seen) >= self.CLASSES and self._num_returns >= 2


_ONE_CLASS = "look at the labels after all conversions: something makes them all the same"
_UNSEEN = (
    "shuffle the data before it is split, and split it class by class (stratify); Keras takes the"
    " last rows for validation_split, and so does train_test_split(shuffle=False)"
)
_SORTED = (
    "shuffle the samples, not the batches: DataLoader(..., shuffle=True), or in tf.data shuffle()"
    " before batch(), with a buffer as large as the data"
)


def _are_classes(tensor: TensorView) -> bool:
    """Return whether a tensor holds one class for each of some samples, as an integer."""
    shape = tensor.info.shape
    is_of_classes = tensor.info.function.startswith(("cross_entropy", "nll_loss", *BINARY))
    return (
        is_of_classes
        and len(shape) in (1, 2)
        and shape[0] >= _BatchesOfOne.SAMPLES
        and shape[1:] in ((), (1,))
    )


def _model(batches: Sequence[TensorView]) -> str:
    """Return the name of the model that is given batches, ``batch`` for the only one."""
    name = batches[0].name.rpartition("/")[0] if batches else ""
    return re.sub(r"^batch_\d+", "batch", name)  # which is called several times


def _width(batch: TensorView) -> int:
    """Return how many numbers the last axis of a batch has; 0 of whole numbers, such as tokens."""
    is_real = batch.info.dtype.startswith(("float", "bfloat"))
    return batch.info.shape[-1] if is_real and len(batch.info.shape) > 1 else 0


def _labelled(step: StepView, counts: TensorView) -> int:
    """Return how many samples have one label each, in the loss of which classes are counted."""
    label = of_same_loss(step, counts, "label")
    return label.info.shape[0] if label is not None and _are_classes(label) else 0


def _samples(batches: list[TensorView]) -> int:
    """Return how many samples models were called with, counting those of several inputs once."""
    calls: dict[str, int] = {}
    for batch in batches:
        if batch.info.shape:
            call = batch.name.rpartition("/")[0]
            calls[call] = max(calls.get(call, 0), batch.info.shape[0])
    return sum(calls.values())
