"""What a script has put together by mistake: layers, momentum, weights of classes, metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, Rule
from ..judge.step_view import StepNumber, StepView
from ..model.finding import Finding
from ..model.record import StepRecord
from ..numerics.measures import Floats, listed, number
from .boosting import Boosting
from .mistakes import CONFUSED, HELPERS, LAYERS, LOOKED_AT_BEFORE, METRICS, REPEATS, SIGNS
from .posterior import Posteriors
from .shared import direction, in_a_row, prefixed, summaries

_PREFIX = "setup/"
#: A class with fewer labels says nothing; the classes must differ so much in them, and in weight.
MIN_LABELS, UNEVEN, WEIGHTED = 10, 2.0, 1.2
#: Weights of three or more classes follow the counts with such a correlation and exponent at least;
#: of two, where any two numbers do, with an exponent near 1.
FOLLOWS, EXPONENT, NEAR_ONE = 0.95, 0.3, (0.6, 1.6)

#: Statistics are slow if less than this share of a batch is new, and useless if so much of what
#: they were at first is left at the end, after so many steps.
SLOW, KEPT, MIN_STEPS = 0.01, 0.3, 100
_MOMENTUM = (
    "take momentum=0.1 in PyTorch, which is the share that is new, and 0.99 in Keras, which is the"
    " share that is kept"
)

_SCALE = "hyperparameters/scale_pos_weight"
_READAPTED = "evaluation/readapted/"
_PART = "evaluation/part_of_data/"
#: A trainer takes a part of its data for all if it is at most this, by which option it does, and
#: takes it for so many epochs.
MOST_PART, PART_EPOCHS = {"overfit_batches": 0.5, "limit_train_batches": 0.1}, 3
_RECODED, _RECODED_BEFORE, _RECODED_NOW = (
    f"evaluation/recoded{what}/" for what in ("", "_before", "_now")
)
_RESCALED, _RESCALED_RATIO = "evaluation/rescaled/", "evaluation/rescaled_ratio/"
_SECOND = f"{_PREFIX}second_derivative/"
_REMADE = f"{_PREFIX}remade/"
_ENDS, _TOTAL, _LEFT = (f"{_PREFIX}schedule_{what}/" for what in ("ends", "total", "left"))


class Setup(Rule):
    """A part of the training that was put together so that it cannot do what it is for.

    ``repeated``: one layer stands at several places of a container, as by ``[layer] * 4``, so that
    there is only one of it. ``linear``: no activation stands between two layers. ``over_samples``:
    a softmax, or a norm, is taken over the batch. ``padding_only``: attention is given a mask that
    leaves padding and hides all else. ``pads_tokens``: the id of padding is that of a token as
    well. ``pads_targets``: most targets that count are of padding. ``blank_targets``: targets of a
    CTC loss are of the class that stands for no label. ``cut_off``: every example of a trainer is
    cut off before it ends. ``no_end``: no target is the end of a sample. ``ignored_ends``: the
    labels cover the beginning of each text and ignore its end. ``one_unit``: a softmax of Keras is
    taken over one unit. ``unfrozen``: a layer of a Keras model was unfrozen and the model not
    compiled again. ``all_frozen``: a Keras model is trained that has no layer that learns.
    ``trained_before``: what validates a Keras model was trained on by it in an earlier ``fit``.
    ``reshaped``: predictions, or what a layer is given, are reshaped and not transposed.
    ``torn_classes``: scores of classes are reshaped to rows and their classes are not moved last.
    ``torn_edges``, ``torn_pairs``: edges of a graph are a list of pairs that was reshaped and not
    transposed. ``crossed_rows``: two tensors were flattened in the order of different axes.
    ``no_offset``: edges of several graphs are put into a batch as if each were alone. ``across``: a
    recurrent layer reads text across the samples. ``sample_positions``: positions are added along
    the axis of the samples. ``drops_most``: dropout of four fifths or more. ``ignores_training``: a
    layer of a Keras model draws whether it trains or not. ``detached_state``: a recurrent cell is
    given its state without a graph at each step. ``sees_next``: a Keras model of next tokens has
    layers that look ahead. ``momentum``: batch normalization takes nothing, or nearly all, of each
    batch into its running statistics, or so little that they are not there when training ends.
    ``class_weights``: the weights of classes rise with how often they occur. ``second_derivative``:
    derivatives of derivatives are zero, as activations have corners and no curve. ``uncalled``: a
    layer of a Keras model is never called. ``monitor``: a callback is told that less is better of
    what ought to rise, or the other way round. ``schedule``: one of Keras is over long before the
    steps that ``fit`` is asked for. ``same_key``, ``same_state``: a function of JAX is given the
    same random key, or state of an optimizer, at each step. ``remade``: in each epoch the optimizer
    of JAX or Keras is made anew, for weights that are trained on. ``reseeded``: each step of
    PyTorch draws the same. ``same_views``: a contrastive loss of PyTorch compares each sample with
    itself. ``unpaired``: or pairs each with another one. ``same_noise``: a layer of Keras, or a
    function of JAX, draws the same at each step. ``unused_penalty``: a regularizer of Keras is in
    no loss. ``untracked``: a layer runs within a model of Keras that does not know it.
    ``raw_variable``: one of its layers holds a variable that Keras does not know.
    ``trained_teacher``: a model of Keras that is asked what another one is to say is trained with
    it. ``masks_nothing``: padding has not the value that is masked. ``moved_inputs``: pictures are
    flipped or moved within a model, and their targets are not. ``first_weights``: a moving average
    of weights ends as what they began with. ``metric``: a metric counts what its labels are not.
    ``unsplit``: no tree of boosting has a split. ``uphill``: gradients of an objective that a
    script brings along have the wrong sign. ``without_sigmoid``: or it takes margins for
    probabilities. ``early_stopping``: the metric that ends boosting early gets worse from the first
    round on by what it is told, and better by its name, or while training makes it so.
    ``stops_on_trained``: that metric is of the data that are trained on, though others are
    evaluated. ``few_rounds``: boosting ends while it still improves as it did, and its learning
    rate times its rounds are too little. ``idle_rounds``: a split must gain so much that most
    rounds leave the loss as it is. ``few_leaves``: its leaves must hold so many rows that a tree
    has room for next to none. ``uncensored``: of times of events (survival) each is that of one
    that was seen. ``ungrouped``: rows that are ranked were shuffled apart from the groups that they
    belong to. ``risk_set``: a likelihood of survival compares with those who are gone already.
    ``other_range``: ids of an embedding are drawn from the range of another one. ``other_ids``: an
    embedding is looked up by the ids of another one. ``masked_extreme``: what a mask leaves out is
    taken for the smallest. ``dampened``: steps of SGD take next to nothing of a gradient.
    ``unscaled_loss``: gradients are divided by a scale that no loss was given. ``stale_variables``:
    a model of Keras is evaluated by the variables of before its training. ``turned_quantile``: the
    pinball loss of a script is that of the opposite quantile. ``turned``: a loss of triplets or
    pairs pulls together what is unlike, and pushes apart what is alike. ``constant_penalty``: one
    on gradients has no graph. ``other_noise``: a diffusion model is not given the noise that it is
    to predict. ``swapped_noise``: one is given noise in place of samples, and samples in place of
    noise. ``uniform_noise``: the noise that one is to predict has a mean of 1/2.
    ``not_cumulative``: one is given noise by what one step keeps, and not by the product of all
    until then. ``constrained``: monotone constraints go against the data. ``posterior``: the code
    of a variational autoencoder says nothing of a sample. ``temperature``: logits are cosines times
    so small a number that cross-entropy stays near that of a guess. ``recoded``: categories have
    other numbers in training than in the data that are evaluated, as the script numbered them once
    more. ``unfitted``: a normalization of what is evaluated has seen no data. ``split_edges``: one
    direction of an edge is evaluated, and the other is trained on. ``reshuffled``: predictions and
    labels are of two passes over data that are shuffled anew at each. ``split_anew``: a shuffle
    before the split makes another one in each epoch. ``frozen_number``: the script sets a number
    anew that compiled code keeps as it was. ``other_order``: what was computed of each batch is
    read by the number of the batch, which is another one in each epoch. ``changed_by_reading``: a
    data set changes a sample as it gives it. ``rescaled``: a scaler is fitted to the data that are
    trained on, and again to those that are evaluated. ``readapted``: a model of Keras is evaluated
    on the ids of a vocabulary that was adapted anew. ``part_of_data``: a trainer takes the same few
    batches in each epoch, as its options for trying out ask, and other data are tested.
    """

    name = "setup"
    needs = ("setup", "classes", "losses", "boosting", "hyperparameters", "evaluations")
    per_model = True
    sign: ClassVar[Mapping[str, str]] = SIGNS
    lacks = NotApplicable("nothing was set up in a way that may be a mistake")

    looks: int = parameter(2, "Looks in a row, at every 10th step.", at_least=1)
    labels: int = parameter(100, "Judge weights of classes by so many labels.", at_least=1)
    rounds: int = parameter(10, "Judge boosting without a split after so many rounds.", at_least=1)

    def begin(self) -> None:
        self._counts: dict[tuple[str, str], npt.NDArray[np.int64]] = {}
        # Of normalizations whose statistics hardly move: the share that is new, by worker and name.
        self._slow: dict[tuple[str, str], float] = {}
        self._first_step = self._last_step = -1
        self._boosting = Boosting(self, self.rounds)
        self._posteriors = Posteriors(self)

    def check(self, step: StepView) -> Findings:
        yield from self._readapted(step)
        yield from self._recoded(step)
        yield from self._rescaled(step)
        yield from self._part_of_data(step)
        yield from self._helpers(step)
        if not step.trains:
            return
        self._last_step = step.mode_step
        if self._first_step < 0:
            self._first_step = step.mode_step
        held = [record.layout.rows_of for record in step.records]
        has_setup = any("setup" in one for one in held)
        self._evaluated |= has_setup
        if has_setup:
            yield from self._objects(step)
        yield from self._posteriors.check(step)
        if has_setup or any("classes" in one for one in held):
            yield from self._class_weights(step)
        if any("boosting" in one for one in held):
            yield from self._scaled_positives(step)
            yield from self._boosting.check(step)
            self._evaluated |= self._boosting.is_judged

    def _objects(self, step: StepView) -> Findings:
        yield from self._repeated(step)
        yield from self._unseparated(step)
        yield from self._layers(step)
        yield from self._confused(step)
        yield from self._cold(step)
        yield from self._flat(step)
        yield from self._momentum(step)
        yield from self._uncalled(step)
        yield from self._monitored(step)
        yield from self._scheduled(step)
        yield from self._repeats(step)
        yield from self._remade(step)
        yield from self._metrics(step)

    def _repeated(self, step: StepView) -> Findings:
        for group in prefixed(step, "setup", f"{_PREFIX}repeated/"):
            names = [name.removeprefix(f"{_PREFIX}repeated/") for name in group.names]
            places = group.quantity("mean")
            yield self.finding(
                step,
                group[0],
                f"one layer stands at {number(places[0])} places of {names[0]}"
                + (f", and so in {listed(names[1:])}" if names[1:] else "")
                + ": there is only one of it, with one set of weights",
                condition="repeated",
                value=float(places[0]),
                threshold=1.0,
                worker=group.record.worker,
                remedy="make each layer anew: ModuleList([make() for _ in range(n)]), or"
                " copy.deepcopy(layer); if the weights are shared on purpose, call it in a loop",
            )

    def _unseparated(self, step: StepView) -> Findings:
        """Judge what has no activation between it: it is odd (1) or may be meant (0.5)."""
        for group in prefixed(step, "setup", f"{_PREFIX}linear/"):
            worker, odd = group.record.worker, group.quantity("mean")
            for is_odd in (True, False):
                chosen = np.flatnonzero((odd == 1) == is_odd).tolist()
                if not self.persists(("linear", worker, is_odd), len(chosen), self.looks):
                    continue
                pairs = [group.names[one].removeprefix(f"{_PREFIX}linear/") for one in chosen]
                between = listed([" and ".join(pair.split(">")) for pair in pairs])
                yield self.finding(
                    step,
                    group.where(chosen)[0],
                    f"no activation between {between}: two linear layers in a row can do no more"
                    " than one",
                    condition="linear" if is_odd else "linear pair",
                    value=float(len(pairs)),
                    threshold=0.0,
                    worker=worker,
                    severity="warning" if is_odd else "info",
                    remedy="put an activation such as ReLU between them, or make them one layer",
                )

    def _layers(self, step: StepView) -> Findings:
        for condition, (what, remedy) in LAYERS.items():
            prefix = f"{_PREFIX}{condition}/"
            for group in prefixed(step, "setup", prefix):
                names = [name.removeprefix(prefix) for name in group.names]
                looks = 1 if condition in LOOKED_AT_BEFORE else self.looks
                if self.persists((condition, group.record.worker), True, looks):
                    yield self.finding(
                        step,
                        group[0],
                        f"{listed(names)}: {what}",
                        condition=condition,
                        value=float(len(names)),
                        threshold=0.0,
                        worker=group.record.worker,
                        remedy=remedy,
                    )

    def _confused(self, step: StepView) -> Findings:
        """Judge what was taken in place of something else, by the names of both."""
        for condition, (what, remedy) in CONFUSED.items():
            prefix = f"{_PREFIX}{condition}/"
            for group in prefixed(step, "setup", prefix):
                # It was looked at many steps before it is said.
                if not self.persists((condition, group.record.worker), True, 1):
                    continue
                pairs = [name.removeprefix(prefix).split(">") for name in group.names]
                tables = list(dict.fromkeys(table for table, _ in pairs))
                rows = float(group.quantity("mean")[0])
                yield self.finding(
                    step,
                    group[0],
                    what.format(listed(tables), pairs[0][1], rows=number(rows)),
                    condition=condition,
                    value=rows,
                    worker=group.record.worker,
                    remedy=remedy,
                )

    def _cold(self, step: StepView) -> Findings:
        """Judge logits that are cosines times a number, by the least loss that they allow."""
        prefix = f"{_PREFIX}temperature/"
        for group in prefixed(step, "setup", prefix):
            if not self.persists(("temperature", group.record.worker), True, self.looks):
                continue
            classes, _, scale = group.names[0].removeprefix(prefix).partition(">")
            share = float(group.quantity("mean")[0])
            guess = math.log(int(classes))
            yield self.finding(
                step,
                group[0],
                f"logits are cosines times {scale}, and so lie between -{scale} and {scale}:"
                f" whatever is learnt, the cross-entropy over {classes} cannot fall below"
                f" {number(share * guess)}, and a guess has ln({classes}) = {number(guess)}",
                condition="temperature",
                value=share,
                worker=group.record.worker,
                remedy="divide cosine similarities by the temperature, as by 0.07, and do not"
                " multiply by it; or learn a scale that begins at 10 to 20",
            )

    def _flat(self, step: StepView) -> Findings:
        """Judge second derivatives, of which it is known how many elements are not zero."""
        for group in prefixed(step, "setup", _SECOND):
            worker, tensor = group.record.worker, group[0]
            counts = group.quantity("mean")
            if self.persists(("second_derivative", worker), (counts == 0).all(), self.looks):
                kinds = tensor.name.removeprefix(_SECOND).replace("+", " and ")
                yield self.finding(
                    step,
                    tensor,
                    "second derivatives are exactly zero in all elements,"
                    f" {in_a_row(self.looks, 'look')} up to step {step.train_step}: {kinds} is"
                    " piecewise linear, and the derivative of its derivative is zero everywhere, so"
                    " that a loss of them, as the residual of a differential equation, teaches the"
                    " model nothing",
                    condition="second_derivative",
                    value=0.0,
                    worker=worker,
                    remedy="take a smooth activation, such as Tanh, SiLU, GELU, Softplus or a sine",
                )

    def _momentum(self, step: StepView) -> Findings:
        for group in prefixed(step, "setup", f"{_PREFIX}momentum/"):
            worker, found = group.record.worker, group.quantity("mean")
            names = [name.removeprefix(f"{_PREFIX}momentum/") for name in group.names]
            is_slow = (found > 0) & (found < SLOW)
            for index in np.flatnonzero(is_slow).tolist():
                self._slow[worker, names[index]] = float(found[index])
            for is_none in (True, False):
                chosen = np.flatnonzero(((found == 0) == is_none) & ~is_slow)
                if not self.persists(("momentum", worker, is_none), len(chosen), self.looks):
                    continue
                some = group.where(chosen.tolist())
                share = float(found[chosen[0]])
                what = (
                    "nothing of a batch, so that they stay what they were at first"
                    if is_none
                    else f"{number(100 * share)}% of each batch, so that they are those of the last"
                )
                yield self.finding(
                    step,
                    some[0],
                    f"the running statistics of {listed([names[one] for one in chosen])} take"
                    f" {what}: the model is evaluated with them",
                    condition=f"momentum {'none' if is_none else 'all'}",
                    value=share,
                    worker=worker,
                    severity="info" if share == 1 else "warning",
                    remedy=_MOMENTUM,
                )

    def finish(self) -> Findings:
        yield from self._boosting.finish()
        yield from self._posteriors.finish()
        steps = self._last_step - self._first_step + 1
        by_worker: dict[str, list[str]] = {}
        for (worker, name), share in self._slow.items():
            if steps >= MIN_STEPS and (1 - share) ** steps > KEPT:
                by_worker.setdefault(worker, []).append(name)
        for worker, names in by_worker.items():
            share = self._slow[worker, names[0]]
            kept = (1 - share) ** steps
            yield self.finding(
                self._last_step,
                f"{_PREFIX}momentum/{names[0]}",
                f"the running statistics of {listed(names)} take {number(100 * share)}% of each"
                f" batch: after {steps} TRAIN steps {kept:.0%} of them is still what a new layer"
                " has, and the model is evaluated with them",
                condition="momentum slow",
                mode="TRAIN",
                worker=worker,
                value=kept,
                threshold=KEPT,
                remedy=_MOMENTUM,
            )

    def _uncalled(self, step: StepView) -> Findings:
        for group in prefixed(step, "setup", f"{_PREFIX}uncalled/"):
            names = [name.removeprefix(f"{_PREFIX}uncalled/") for name in group.names]
            if self.persists(("uncalled", group.record.worker), True, self.looks):
                are, they = ("is", "it has") if len(names) == 1 else ("are", "they have")
                yield self.finding(
                    step,
                    group[0],
                    f"{listed(names)} {are} part of the model and never called, so that {they} no"
                    f" weights, up to step {step.train_step}",
                    condition="uncalled",
                    worker=group.record.worker,
                    value=float(len(names)),
                    threshold=0.0,
                    remedy="call it in the call() of the model, on the way to the loss, or take it"
                    " away",
                )

    def _readapted(self, step: StepView) -> Findings:
        for group in prefixed(step, "evaluations", _READAPTED):
            for tensor in group:
                now, before = tensor.name.removeprefix(_READAPTED).split("/")
                self._evaluated = True
                yield self.finding(
                    step,
                    tensor,
                    f"the model was trained on ids by {before} and is given those by {now}, which"
                    f" was adapted on other data: {tensor.scalar:.0%} of the words that both know"
                    " have another id there",
                    condition=f"readapted {now}",
                    value=tensor.scalar,
                    remedy="adapt one layer, on the training data, and call the same one on all"
                    " that the model is given, or put it into the model",
                )

    def _recoded(self, step: StepView) -> Findings:
        """Judge categories that the script numbered once more for what it evaluates."""
        for group in prefixed(step, "evaluations", _RECODED):
            worker = group.record.worker
            rest = [name.removeprefix(_RECODED) for name in group.names]
            column, example = rest[0].split("/")
            before, now = step.scalars(
                (f"{_RECODED_BEFORE}{rest[0]}", f"{_RECODED_NOW}{rest[0]}"), worker
            )
            self._evaluated = True
            yield self.finding(
                step,
                group[0],
                f"the categories of {listed([one.partition('/')[0] for one in rest])} were given"
                " codes for training, and anew for the data that are evaluated: of"
                f" {column} {example!r} is {number(before)} in training and {number(now)} in"
                f" evaluation, and {group[0].scalar:.0%} of the categories that both have changed"
                " their code",
                condition=f"recoded {column}",
                value=group[0].scalar,
                worker=worker,
                remedy="make the codes once, on the training data, and look up those of all other"
                " data in them: encoder.fit(train) and then encoder.transform(test), or"
                " pd.Categorical(test, categories=categories_of_train).codes",
            )

    def _rescaled(self, step: StepView) -> Findings:
        """Judge scalers that the script fitted once more to what it evaluates."""
        for group in prefixed(step, "evaluations", _RESCALED):
            for tensor in group:
                rest = tensor.name.removeprefix(_RESCALED)
                scaler, feature = rest.split("/")
                ratio = step.scalar(f"{_RESCALED_RATIO}{rest}", tensor.worker)
                self._evaluated = True
                yield self.finding(
                    step,
                    tensor,
                    f"a {scaler} was fitted to the training data, and one again to the data that"
                    f" are evaluated: the center of feature {feature} is"
                    f" {number(tensor.scalar)} of its scales in training away, and its scale is"
                    f" {number(ratio)} times as large, so that one value is two numbers",
                    condition=f"rescaled {scaler}",
                    value=tensor.scalar,
                    remedy="fit it once, to the training data, and give all other data to"
                    " transform(): scaler.fit_transform(train), then scaler.transform(test)",
                )

    def _helpers(self, step: StepView) -> Findings:
        """Judge helpers of other packages that prepare data otherwise than these are."""
        for condition, (what, remedy) in HELPERS.items():
            for group in prefixed(step, "evaluations", f"evaluation/{condition}/"):
                self._evaluated = True
                yield self.finding(
                    step,
                    group[0],
                    what.format(group.names[0].rpartition("/")[2]),
                    condition=condition,
                    remedy=remedy,
                )

    def _part_of_data(self, step: StepView) -> Findings:
        """Judge a trainer that took the same few batches for all data, for a model that is used."""
        for group in prefixed(step, "evaluations", _PART):
            given = {one.name.removeprefix(_PART): one.scalar for one in group}
            option = group.names[0].removeprefix(_PART).partition("/")[0]
            used, all_, epochs = (
                given.get(f"{option}/{name}", math.nan)
                for name in ("num_batches", "num_all", "num_epochs")
            )
            self._evaluated = True
            if not (used <= MOST_PART[option] * all_ and epochs >= PART_EPOCHS):
                continue
            yield self.finding(
                step,
                group[0],
                f"{option} of the Trainer let it take {number(used)} of {number(all_)} batches of"
                f" its training data, the same in all of {number(epochs)} epochs, and the model is"
                " evaluated on other data then: it learnt these few by heart",
                condition="part_of_data",
                value=used / all_,
                threshold=MOST_PART[option],
                remedy=f"take {option} away, which is for trying out whether a model can learn",
            )

    def _monitored(self, step: StepView) -> Findings:
        for group in prefixed(step, "setup", f"{_PREFIX}monitor/"):
            for tensor in group:
                callback, _, monitored = tensor.name.removeprefix(f"{_PREFIX}monitor/").partition(
                    "/"
                )
                ought = direction(monitored)
                if not ought or tensor.scalar * ought > 0:
                    continue
                mode, way = ("mode='min'", "rise") if ought > 0 else ("mode='max'", "fall")
                right = f"mode='{'max' if ought > 0 else 'min'}'"
                if callback == "TrainingArguments":
                    mode, right = (f"greater_is_better={one}" for one in (ought < 0, ought > 0))
                yield self.finding(
                    step,
                    tensor,
                    f"{callback} takes {'less' if ought > 0 else 'more'} of {monitored} for better"
                    f" ({mode}), which ought to {way}: the worst is kept for the best",
                    condition=f"monitor {callback}",
                    value=tensor.scalar,
                    threshold=float(ought),
                    remedy=f"give {callback} {right}",
                )

    def _repeats(self, step: StepView) -> Findings:
        """Judge functions of JAX that were given the same again and again."""
        for condition, (given, what, remedy) in REPEATS.items():
            prefix = f"{_PREFIX}{condition}/"
            for group in prefixed(step, "setup", prefix):
                name, count = group.names[0].removeprefix(prefix), int(group[0].scalar)
                began = (max(0, at - count + 1) for at in step.at)
                yield self.finding(
                    step,
                    group[0],
                    f"function {name} was given the same {given}, {in_a_row(count, 'step')}, up to"
                    f" step {step.train_step}: {what}",
                    condition=f"{condition} {name}",
                    onset=StepNumber(*began),
                    value=float(count),
                    threshold=1.0,
                    worker=group.record.worker,
                    remedy=remedy,
                )

    def _remade(self, step: StepView) -> Findings:
        """Judge optimizers that begin anew in each epoch, for weights that are trained on."""
        for group in prefixed(step, "setup", _REMADE):
            for tensor in group:
                count = int(tensor.scalar)
                if not self.persists((tensor.name, tensor.worker), True, 1):
                    continue
                yield self.finding(
                    step,
                    tensor,
                    f"the optimizer was made anew in {count} epochs in a row, up to step"
                    f" {step.train_step}, for weights that {tensor.name.removeprefix(_REMADE)}"
                    " trains on: its moments begin at zero each time, and so does the count of a"
                    " schedule, so that a warm-up begins again",
                    condition="remade",
                    value=float(count),
                    threshold=1.0,
                    remedy="make the optimizer once, before the loop over epochs, and pass it on"
                    " with what it keeps: in JAX return opt_state with the parameters, in Keras"
                    " call compile() once",
                )

    def _scheduled(self, step: StepView) -> Findings:
        """Judge schedules of which it is known before when they are over."""
        for group in prefixed(step, "setup", _ENDS):
            for tensor in group:
                name, worker = tensor.name.removeprefix(_ENDS), tensor.worker
                total, left = step.scalars((f"{_TOTAL}{name}", f"{_LEFT}{name}"), worker)
                yield self.finding(
                    step,
                    tensor,
                    f"{name} comes to its end within {number(tensor.scalar)} of {number(total)}"
                    f" steps: from there on the learning rate is {number(left)} of what it is at"
                    " first",
                    condition=f"schedule {name}",
                    value=tensor.scalar / total,
                    threshold=1.0,
                    worker=worker,
                    remedy="schedules count steps of the optimizer, not epochs: multiply boundaries"
                    " and decay_steps by the steps of an epoch",
                )

    def _metrics(self, step: StepView) -> Findings:
        for group in prefixed(step, "setup", f"{_PREFIX}metric/"):
            for tensor in group:
                kind, _, metric = tensor.name.removeprefix(f"{_PREFIX}metric/").partition("/")
                share = tensor.scalar
                fits = kind not in METRICS or not share < 0.5
                if not self.persists((tensor.name, group.record.worker), not fits, self.looks):
                    continue
                why, remedy = METRICS[kind]
                yield self.finding(
                    step,
                    tensor,
                    f"the metric {metric} {why}",
                    condition=f"metric {metric}",
                    value=share,
                    threshold=0.5,
                    severity="info" if kind == "rows" else "warning",
                    remedy=remedy,
                )

    def _class_weights(self, step: StepView) -> Findings:
        for record, loss in summaries(step, "class_count/"):
            key, counts = (record.worker, loss), record.raw[f"class_count/{loss}"].astype(np.int64)
            known = self._counts.get(key)
            same = known is not None and known.shape == counts.shape
            self._counts[key] = counts + known if same and known is not None else counts
        for record, loss in summaries(step, f"{_PREFIX}class_weight/"):
            weights = record.raw[f"{_PREFIX}class_weight/{loss}"].astype(np.float64)
            total = self._counts.get((record.worker, loss))
            if total is None or total.shape != weights.shape or total.sum() < self.labels:
                continue
            if follows_counts(weights, total):
                yield self._weights_found(step, record, loss, weights, total)

    def _scaled_positives(self, step: StepView) -> Findings:
        """Judge what boosting weighs the second of two classes by, where its training begins."""
        for record, data in summaries(step, "class_count/"):
            counts = record.raw[f"class_count/{data}"].astype(np.int64)
            (weight,) = step.scalars((_SCALE,), record.worker)
            weights = np.array([1.0, weight])
            if counts.shape != weights.shape or not follows_counts(weights, counts):
                continue
            which, way = ("rarer", "down") if weight < 1 else ("more frequent", "up")
            yield self.finding(
                step,
                _SCALE,
                f"scale_pos_weight={number(weight)} weighs class 1 {way}, which is the {which} one:"
                f" of {counts.sum()} labels of {data} it has {counts[1]}, and class 0 {counts[0]}",
                condition="class_weights scale_pos_weight",
                worker=record.worker,
                value=weight,
                threshold=1.0,
                remedy="take negatives / positives, here"
                f" {number(counts[0] / counts[1])}, or leave it at 1",
            )

    def _weights_found(
        self,
        step: StepView,
        record: StepRecord,
        loss: str,
        weights: Floats,
        counts: npt.NDArray[np.int64],
    ) -> Finding:
        most = int(counts.argmax())
        judged = np.where((counts >= MIN_LABELS) & (weights > 0), counts, counts[most])
        least = int(judged.argmin())
        return self.finding(
            step,
            f"{_PREFIX}class_weight/{loss}",
            f"the weights of classes of {loss} rise with how often these occur: class {most}, with"
            f" {counts[most]} labels, weighs {number(weights[most])}, and class {least}, with"
            f" {counts[least]}, {number(weights[least])}",
            condition=f"class_weights {loss}",
            worker=record.worker,
            value=float(weights[most] / weights[least]),
            threshold=1.0,
            remedy="weigh classes by the inverse of how often they occur:"
            " samples / (classes * count)",
        )


def follows_counts(weights: Floats, counts: npt.NDArray[np.int64]) -> bool:
    """Return whether weights of classes rise with how often these occur.

    Args:
        weights: Shape ``[classes]``.
        counts: Labels of each, of the same shape.
    """
    chosen = (counts >= MIN_LABELS) & (weights > 0) & np.isfinite(weights)
    if chosen.sum() < 2:
        return False
    x, y = np.log(counts[chosen].astype(np.float64)), np.log(weights[chosen])
    if np.ptp(x) < np.log(UNEVEN) or np.ptp(y) < np.log(WEIGHTED):
        return False
    exponent = float(np.cov(x, y, bias=True)[0, 1] / x.var())
    if len(x) == 2:
        return NEAR_ONE[0] <= exponent <= NEAR_ONE[1]
    return exponent >= EXPONENT and float(np.corrcoef(x, y)[0, 1]) >= FOLLOWS
