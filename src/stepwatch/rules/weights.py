"""The rule on parameters that do not train."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import ClassVar
from weakref import WeakKeyDictionary

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, Rule, Selection
from ..judge.step_view import StepNumber, StepView, TensorGroup
from ..model.finding import Finding
from ..model.record import Layout, TensorInfo
from ..numerics.measures import listed, number
from .left_out import LeftOut, LeftOutVariables
from .shared import in_a_row, is_scalar, is_skipped, losses_of
from .untrained import (
    FOREIGN,
    OF_KERAS,
    SIGNATURE,
    Adapters,
    Training,
    are_as_drawn,
    are_copies,
    frozen_as_drawn,
    is_as_drawn,
    is_large_matrix,
    trains_head,
)
from .waiting import Waiting, WaitingOptimizers

#: A loss that ends at this much of what it was first has hardly fallen.
STUCK = 0.5
_NARROW = ("bfloat16", "float16")

#: The sentence and the remedy for each way of not being trained.
CAUSES = {
    "no_gradient": (
        "wanted a gradient and never got one in {k} steps or more",
        "use it in the loss, take away what cuts it off (detach(), no_grad(), stop_gradient;"
        " with reentrant checkpoints of a frozen model enable_input_require_grads() is missing), or"
        " freeze it on purpose",
    ),
    "zeroed": (
        "wanted a gradient and had none when the optimizer stepped, in {k} steps or more: it was"
        " set to zero after backward()",
        "call zero_grad() before backward(), or after the optimizer's step, and not between them",
    ),
    "not_returned": (
        "never got a gradient in {k} steps or more: training_step returned no loss (None) for any"
        " batch, so Lightning skips backward() and nothing is trained",
        "return the loss at the end of training_step, alone or as the 'loss' of a dict; self.log()"
        " does not train on it",
    ),
    "not_in_optimizer": (
        "are in no optimizer and never change, at {k} steps in a row",
        "create the optimizer after the last change to the model, from all its parameters; those of"
        " layers in a plain list are not among them (in PyTorch take an nn.ModuleList); or freeze"
        " it on purpose",
    ),
    "thawed": (
        "were frozen before and are let train since, but are in no optimizer and never change, at"
        " {k} steps in a row",
        "give layers that are thawed to the optimizer, as by optimizer.add_param_group(), or make"
        " it from all parameters of the model: one that was made from those with requires_grad"
        " does not hold what was frozen then",
    ),
    "nothing_trained": (
        "had gradients and are in no optimizer, and {held}, at {k} steps in a row: nothing is"
        " trained",
        "make the optimizer after the last change to the model, such as a new head, and from the"
        " parameters of the model that is trained, as by Adam(model.parameters())",
    ),
    "all_frozen": (
        "are frozen, at {k} steps in a row: nothing is trained",
        "let what is to be trained train (trainable = True in Keras, before compile();"
        " requires_grad_(True) in PyTorch)",
    ),
    "in_two_groups": (
        "were held by more than one parameter group at {k} steps in a row, so each step moves"
        " them more than once",
        "give each parameter to one optimizer and one group",
    ),
    "not_in_model": (
        "of an optimizer belong to no model that ran and never got a gradient in {k} steps or more",
        "a layer was replaced after the optimizer was created; create the optimizer after it",
    ),
    "unchanged": (
        "got gradients at {k} steps or more and are bit for bit what they were at first",
        "check that their learning rate is not 0, that the model that is trained is not a copy, and"
        " that their gradients are not too small to change them",
    ),
    "rounded_away": (
        "got gradients at {k} steps or more and are bit for bit what they were at first: in 16"
        " bits an update that is small beside a weight is rounded away",
        "keep the weights in float32 and compute under autocast, or raise the learning rate",
    ),
    "adapter_frozen": (
        "are halves of adapters, zero and frozen at {k} steps in a row while the other halves"
        " train: the product of both is zero, and nothing is learnt",
        "let both matrices of each adapter train, as by requires_grad_(True)",
    ),
    "adapters_frozen": (
        "are all matrices of the adapters, frozen at {k} steps in a row while other parameters of"
        " the model train: the adapters stay as they were loaded",
        "load them to be trained, PeftModel.from_pretrained(..., is_trainable=True); or, if they"
        " are to stay as they are, merge them into the model (merge_and_unload())",
    ),
    "adapter_zero": (
        "are halves of adapters that stayed zero, with gradients of exact zeros, at {k} steps in a"
        " row: these adapters add nothing",
        "see that the other matrix does not begin at zero as well, that lora_alpha is not 0, that"
        " their dropout is below 1, and that what they add is used",
    ),
    "adapter_head": (
        "are the last layer, frozen as it was initialized at {k} steps in a row, while adapters"
        " before it train",
        "name it in modules_to_save of the LoraConfig, or give that the task_type, such as"
        " TaskType.SEQ_CLS",
    ),
    "frozen_as_drawn": (
        "are frozen at values like those of a new layer, at {k} steps in a row, while"
        " others train: they were never trained",
        "load trained weights before they are frozen (in Keras weights='imagenet' or"
        " load_weights()), or let them train",
    ),
    "frozen_anew": (
        "are frozen at values like those of a new layer, at {k} steps in a row, while"
        " others train, and weights of the same shapes were trained before: what was learnt there"
        " has not come here",
        "copy the trained weights before they are frozen (set_weights(), load_state_dict()), or"
        " take the trained layers themselves, not ones that are made anew",
    ),
    "frozen_again": (
        "were trained at first and have been frozen at {k} steps in a row, though an optimizer"
        " holds them",
        "look for what freezes it, such as requires_grad_(False), in what runs beside training, and"
        " undo it afterwards",
    ),
    "frozen_inside": (
        "are of a block that was frozen at {k} steps in a row while blocks like it before it, and"
        " layers after it, train",
        "let the block train, as by requires_grad_(True); if it is frozen on purpose, do not give"
        " it to the optimizer",
    ),
}

#: Where optimizers are not known, they may be functions that return new parameters.
_NOT_KEPT = (
    "keep what the update returns, in JAX by params = optax.apply_updates(params, updates), and"
    " pass it on to the next step; check that the learning rate is not 0, and that the model that"
    " is trained is not a copy"
)


def _total(names: Sequence[str], members: Sequence[str]) -> int:
    """Return how many parameters models have; or all where members are of an optimizer alone."""
    if members[0].startswith(FOREIGN):
        return len(names)
    return sum(not name.startswith(FOREIGN) for name in names)


def _what_is_held(group: TensorGroup) -> str:
    """Return what optimizers hold, of which nothing is trained."""
    held = [info for info in group.infos if info.optimizer_groups]
    if not held:
        return "no optimizer holds any"
    num_foreign = sum(info.name.startswith(FOREIGN) for info in held)
    why = ["belong to no model that ran"] * (num_foreign > 0)
    why += ["are frozen or got no gradient"] * (num_foreign < len(held))
    return f"the {len(held)} that the optimizer holds {' or '.join(why)}"


def _why_without(step: StepView, group: TensorGroup, members: Sequence[str]) -> str:
    """Return the cause, of those in ``CAUSES``, for which parameters never had a gradient."""
    if len(members) == sum(bool(info.trainable) for info in group.infos):
        worker = group.record.worker
        if step.scalar("loop/backwards_lost", worker) >= 1:
            return "zeroed"
        if step.scalar("loop/batches_without_loss", worker) >= 1:
            return "not_returned"
    return "no_gradient"


_OBSERVED = "weights", "gradients", "optimizer"


#: Steps in a row at which gradients hold what another optimizer's backward pass left.
LEFT_STEPS = 5


class UntrainedParameter(Rule):
    """Parameters that training leaves as they are, or trains wrongly, from the first step on.

    What is found, each after ``k`` TRAIN steps: parameters that never got a gradient, and why where
    that is known: gradients are set to zero before the optimizer steps (``zeroed``), or the
    ``training_step`` of Lightning returns no loss (``not_returned``); that no optimizer holds, from
    the first step on or since they were thawed (``thawed``), or that no gradient of a tape is taken
    by since then; that several groups hold; that an optimizer holds but no model has; that get
    gradients and never change; and gradients that are not set to zero between steps, or hold what
    the backward pass for another optimizer left (``left_over``, after ``LEFT_STEPS``). Parameters
    that are frozen are left out of this. They are found if an optimizer holds them and they were
    trained at first (``frozen_again``), or are one of several blocks that are built the same way,
    one before it trains, and so does what comes after it (``frozen_inside``). Of low-rank adapters
    also the matrix that begins at zero, if it stays so: because it is frozen while the other one
    trains (``adapter_frozen``), or gets a gradient of exact zeros (``adapter_zero``); or no adapter
    of a model that trains else is (``adapters_frozen``); or the last layer of the model is frozen
    as it was initialized (``adapter_head``). And, at the end, an optimizer that never stepped while
    another one did (``never_stepped``), and variables that lie before what a gradient tape trains
    and that no gradient was taken by (``not_differentiated``).
    """

    name = "untrained_parameter"
    # Between full steps learning rates tell that training goes on.
    needs = (*_OBSERVED, "learning_rates")
    training_only = True
    sign: ClassVar[Mapping[str, str]] = {
        "zero_grad": "stale",
        "left_over": "stale",
        "unchanged": "unchanged",
        "rounded_away": "precision",
        "*": "untrained",
    }
    view: ClassVar[Mapping[str, EvidenceView]] = {
        "zero_grad": EvidenceView("gradients", "l2"),
        "left_over": EvidenceView("gradients", "l2"),
        "*": EvidenceView("updates"),
    }

    k: int = parameter(10, "So many TRAIN steps.", at_least=1)

    _has_optimizer = False

    def begin(self) -> None:
        self._weights = Selection(("weights",))
        self._training: dict[str, Training] = {}
        self._adapters: dict[str, Adapters] = {}
        self._rates: dict[tuple[str, str], float] = {}
        # Of each worker whose training returns no loss: the last step, and what is to be told.
        self._not_returned: dict[str, tuple[StepNumber, list[str], int]] = {}
        # Of each worker: the frozen weights of which no more is asked, and the shapes of those that
        # were trained.
        self._not_drawn: dict[str, set[str]] = {}
        self._trained: dict[str, dict[str, tuple[int, ...]]] = {}
        self._last_steps: deque[StepNumber] = deque(maxlen=self.k + 1)
        self._frozen: WeakKeyDictionary[Layout, dict[str, tuple[int, ...]]] = WeakKeyDictionary()
        # Of each layout the trained matrices that are as drawn still, and of each worker the names
        # of those that were not when they were trained.
        self._as_new: WeakKeyDictionary[Layout, list[tuple[int, TensorInfo]]] = WeakKeyDictionary()
        self._changed: dict[str, set[str]] = {}
        # Of each worker of which they are as drawn: since when, which, and of how many. And of each
        # loss: the first values and the last ones.
        self._as_drawn: dict[str, tuple[StepNumber, dict[str, tuple[int, ...]], int]] = {}
        self._losses = Selection(("losses",), keep=is_scalar)
        self._fell: dict[str, tuple[list[float], deque[float]]] = {}
        self._waiting, self._left_out = WaitingOptimizers(), LeftOutVariables()

    def check(self, step: StepView) -> Findings:
        self._waiting.add(step)
        self._left_out.add(step, SIGNATURE)
        if not any(one.layout.rows_of.keys() & _OBSERVED for one in step.records):
            return
        self._steps += 1
        self._last_steps.append(step.at)
        for name, loss in losses_of(step, self._losses).items():
            first, last = self._fell.setdefault(name, ([], deque(maxlen=self.k)))
            (first if len(first) < self.k else last).append(loss)
        warming_up = self._warming_up(step)
        for group, names in self._weights.groups(step):
            worker = group.record.worker
            training = self._training.setdefault(worker, Training(self.k))
            skipped = is_skipped(step, worker) or worker in warming_up
            adapters = self._adapters.setdefault(worker, Adapters(self.k))
            for cause, members in (
                *training.add(
                    group,
                    names,
                    step.mode_step,
                    skipped=skipped,
                    is_new_part=step.scalar("optimizer/begins", worker) > 0,
                ),
                *adapters.add(group, skipped=skipped),
            ):
                if cause == "unchanged":
                    yield from self._unchanged(step, group, members)
                    continue
                if cause == "no_gradient":
                    cause = _why_without(step, group, members)
                if cause == "not_returned":
                    self._not_returned[worker] = step.at, members, len(names)
                    continue
                # What was never trained is no base to train a head on.
                is_head = cause == "not_in_optimizer" and (
                    trains_head(group, members) or all(OF_KERAS in one for one in members)
                )
                # And what was trained as another model is a teacher of this one.
                shapes = {info.name: info.shape for info in group.infos}
                is_teacher = cause == "no_gradient" and self._has_trained(worker, shapes, members)
                is_meant = (is_head or is_teacher) and not are_as_drawn(
                    group, members, or_normal=is_head
                )
                is_meant |= cause == "no_gradient" and are_copies(group, members)
                severity = "info" if is_meant else "warning"
                held = _what_is_held(group) if cause == "nothing_trained" else ""
                total = _total(names, members)
                yield self._finding(step, worker, cause, members, total, severity, held=held)
            yield from self._drawn(step, group)
        yield from self._zero_grad(step)
        yield from self._left_over(step)
        yield from self._without_loss(step)

    def _has_trained(
        self, worker: str, shapes: Mapping[str, tuple[int, ...]], members: Sequence[str]
    ) -> bool:
        """Return whether weights of the shapes of these members were trained under other names.

        Args:
            worker: Who trained them.
            shapes: By name: what has one of these names counts for no other weights.
            members: Some of these names.
        """
        trained = self._trained.get(worker, {})
        before = Counter(shape for name, shape in trained.items() if name not in shapes)
        return Counter(shapes[name] for name in members) <= before

    def _without_loss(self, step: StepView) -> Findings:
        """Find trainings that return no loss; without one there may be nothing to train on yet."""
        for worker, (_, members, total) in tuple(self._not_returned.items()):
            self._not_returned[worker] = step.at, members, total
            is_returned = not step.scalar("loop/batches_without_loss", worker) >= 1
            has_loss = any(True for _ in step.tensors("losses", worker=worker))
            if is_returned or has_loss:
                del self._not_returned[worker]
            if has_loss and not is_returned:
                yield self._finding(step.at, worker, "not_returned", members, total)

    def finish(self) -> Findings:
        for worker, (at, members, total) in self._not_returned.items():
            yield self._finding(at, worker, "not_returned", members, total)
        # What is drawn at random may do, where something else has learnt from it; or it was what
        # weights of its shapes, that were trained later, are to be held against.
        for worker, (onset, shapes, total) in self._as_drawn.items() if self._is_stuck() else ():
            if not self._has_trained(worker, shapes, [*shapes]):
                at = self._last_steps[-1]
                yield self._finding(at, worker, "frozen_as_drawn", [*shapes], total, onset=onset)
        # Until the end an optimizer may be meant to begin later.
        for one in self._waiting.never_stepped(self.k):
            yield self._never_stepped(one, self._waiting.last)
        last = self._waiting.last
        for worker, variables in self._left_out.left_out(self.k, last).items():
            for is_thawed in (True, False):
                some = [one for one in variables if one.is_thawed == is_thawed]
                if some:
                    yield self._not_differentiated(worker, some, last)

    def _not_differentiated(
        self, worker: str, variables: Sequence[LeftOut], last: StepNumber
    ) -> Finding:
        large = [one for one in variables if is_large_matrix(one.info)]
        is_drawn = bool(large) and all(is_as_drawn(one.first, one.info) for one in large)
        names, onset = [one.name for one in variables], variables[0].onset
        is_thawed = variables[0].is_thawed
        what = f"{len(names)} trainable {'variables' if len(names) > 1 else 'variable'}"
        are = "are" if len(names) > 1 else "is"
        return self.finding(
            last,
            names[0],
            f"{listed(names)}: {what} of layers before those that are trained {are} given to no"
            f" gradient() of a tape, in {last.train_step + 1 - onset.train_step} TRAIN steps up to"
            f" step {last.train_step}, and never change"
            + (", though they were frozen before and are not any more" if is_thawed else "")
            + (": they are as drawn for new layers" if is_drawn and not is_thawed else ""),
            worker=worker,
            mode="TRAIN",
            severity="warning" if is_drawn or is_thawed else "info",
            value=float(len(names)),
            threshold=0.0,
            onset=onset,
            condition="thawed" if is_thawed else "not_differentiated",
            remedy="ask the model for its trainable_variables anew after trainable = True is set:"
            " a list that was made before holds only what was not frozen then"
            if is_thawed
            else "take gradients by the variables of all models that are to be trained, and apply"
            " them, as encoder.trainable_variables + decoder.trainable_variables; what is meant to"
            " stay is frozen by trainable = False",
            evidence={
                "cause": "thawed" if is_thawed else "not_differentiated",
                "parameters": names[:20],
            },
        )

    def _never_stepped(self, waiting: Waiting, last: StepNumber) -> Finding:
        num_steps = last.train_step + 1 - waiting.onset.train_step
        first, count = waiting.parameter, waiting.count
        parameters = f"{count} {'parameter' if count == 1 else 'parameters'}"
        names = f" ({first}{f' and {count - 1} more' if count > 1 else ''})" if first else ""
        of_it = "computed, and set to zero by it" if waiting.is_zeroed else "computed"
        return self.finding(
            last,
            first,
            f"{waiting.optimizer} never stepped in {num_steps} TRAIN steps up to step"
            f" {last.train_step}, while another optimizer did: gradients of {parameters} that it"
            f" holds{names} are {of_it}, and what is trained with them stays as it was",
            worker=waiting.worker,
            mode="TRAIN",
            severity="warning" if waiting.is_zeroed else "info",
            value=float(count),
            threshold=0.0,
            onset=waiting.onset,
            condition=f"never_stepped {waiting.what}",
            remedy="call step() of this optimizer after the backward() of its loss; if it is not"
            " meant to train them, freeze them with requires_grad_(False)",
            evidence={"cause": "never_stepped", "optimizer": waiting.optimizer},
        )

    def _since(self, streak: int) -> StepNumber:
        """Return the first of so many last steps."""
        return [*self._last_steps][-streak:][0]

    def _is_stuck(self) -> bool:
        """Return whether no loss has fallen by much, though there was time."""
        falls = [
            fmean(last) / fmean(first)
            for first, last in self._fell.values()
            if last and fmean(first) > 0
        ]
        is_long = bool(self._last_steps) and self._last_steps[-1].train_step >= 10 * self.k
        return is_long and min(falls, default=0.0) >= STUCK

    def _drawn(self, step: StepView, group: TensorGroup) -> Findings:
        """Judge frozen weights, once for each model: those of another one may be others."""
        worker = group.record.worker
        known = self._not_drawn.setdefault(worker, set())
        trained = self._trained.setdefault(worker, {})
        layout = group.record.layout
        frozen = self._frozen.get(layout)
        if frozen is None:
            of = {info.name: info for info in group.infos}
            frozen = self._frozen[layout] = {
                name: info.shape for name, info in of.items() if info.trainable is False
            }
            trained.update((name, info.shape) for name, info in of.items() if info.trainable)
            rows = zip(group.rows.tolist(), group.infos, strict=True)
            self._as_new[layout] = [
                one for one in rows if one[1].trainable and is_large_matrix(one[1])
            ]
        changed = self._changed.setdefault(worker, set())
        as_new, statistics = self._as_new[layout], group.record.statistics
        if as_new:
            left = [one for one in as_new if is_as_drawn(statistics[one[0]], one[1])]
            changed.update({info.name for _, info in as_new} - {info.name for _, info in left})
            self._as_new[layout] = left
        if known.issuperset(frozen):
            return
        members = frozen_as_drawn(group)
        if not members:
            known.update(frozen)
        if self.persists((worker, "drawn"), bool(members), self.k):
            known.update(frozen)
            is_anew = changed.issuperset(members) or self._has_trained(worker, frozen, members)
            cause, severity = ("frozen_anew", "warning") if is_anew else ("frozen_as_drawn", "info")
            if not is_anew:
                shapes = {name: frozen[name] for name in members}
                self._as_drawn[worker] = self._since(self.k), shapes, len(group.infos)
            yield self._finding(step, worker, cause, members, len(group.infos), severity)

    def _unchanged(self, step: StepView, group: TensorGroup, members: list[str]) -> Findings:
        """Find parameters that stand still, those apart whose updates 16 bits cannot hold."""
        infos = {info.name: info for info in group.infos}
        sizes = {info.name: math.prod(info.shape) for info in group.infos if info.trainable}
        own = group.record.worker
        is_moved = any(rate for (worker, _), rate in self._rates.items() if worker == own)
        narrow = [name for name in members if is_moved and infos[name].dtype in _NARROW]
        wide = [name for name in members if name not in narrow]
        if wide:
            # Where optimizers are not known, as in JAX, some may be frozen by a mask of updates.
            is_known = any(infos[name].optimizer_groups is not None for name in wide)
            is_all = is_known or len(wide) == len(sizes)
            severity = "warning" if is_all else "info"
            total = _total([*infos], wide)
            finding = self._finding(step, own, "unchanged", wide, total, severity)
            yield finding if is_known else replace(finding, remedy=_NOT_KEPT)
        if narrow:
            # Gains of one, as of normalizations, stand still where the others move.
            still = sum(sizes.get(name, 0) for name in narrow)
            severity = "warning" if 2 * still >= sum(sizes.values()) else "info"
            yield self._finding(
                step, own, "rounded_away", narrow, _total([*infos], narrow), severity
            )

    def _warming_up(self, step: StepView) -> set[str]:
        """Return the workers of which a rate rose: it may have been too small to change all yet."""
        rates = {(one.worker, one.name): one.scalar for one in step.tensors("learning_rates")}
        before, self._rates = self._rates, rates
        return {key[0] for key, rate in rates.items() if rate > before.get(key, rate)}

    def unevaluated(self) -> str | None:
        if not self._training and not self._has_optimizer:
            return "no parameter was seen at a TRAIN step"
        if self._steps >= self.k:
            return None
        return f"{self._steps} TRAIN steps were observed in full, {self.k} are needed"

    def _zero_grad(self, step: StepView) -> Findings:
        for worker in step.workers:
            tensor = step.tensor("optimizer/stale_gradients", worker)
            if tensor is None:
                continue
            stale = tensor.scalar
            self._has_optimizer = True
            if self.persists(worker, stale > 0, self.k):
                yield self.finding(
                    step,
                    tensor.name,
                    f"the gradients of {number(stale)} parameters were not set to zero between"
                    f" optimizer steps, for "
                    f"{in_a_row(self.k, 'step')} up to step {step.train_step}: each"
                    " step adds to all gradients before it",
                    worker=worker,
                    value=stale,
                    threshold=0.0,
                    onset=self._last_steps[0],  # whose gradients were the first that stayed
                    condition="zero_grad",
                    remedy="call zero_grad() once for each optimizer step",
                )

    def _left_over(self, step: StepView) -> Findings:
        """Judge gradients that hold what the backward pass for another optimizer left."""
        for worker in step.workers:
            tensor = step.tensor("optimizer/left_gradients", worker)
            if tensor is None:
                continue
            left = tensor.scalar
            # Of what is never set to zero more is said.
            is_left = left > 0 and not step.scalar("optimizer/stale_gradients", worker) > 0
            if self.persists((worker, "left_over"), is_left, LEFT_STEPS):
                yield self.finding(
                    step,
                    tensor.name,
                    f"the gradients of {number(left)} parameters hold those of a loss by which"
                    " another optimizer updated other parameters, and were not set to zero before"
                    f" backward(), {in_a_row(LEFT_STEPS, 'step')} up to step {step.train_step}:"
                    " they are updated by the loss of the opponent, too, as a discriminator by that"
                    " of the generator, or a generator whose samples were not detached",
                    worker=worker,
                    value=left,
                    threshold=0.0,
                    condition="left_over",
                    remedy="call zero_grad() of each network, or of its optimizer, right before"
                    " backward() of its own loss; detach() what the other's loss is given",
                )

    def _finding(
        self,
        step: StepView | StepNumber,
        worker: str,
        cause: str,
        members: list[str],
        total: int,
        severity: str = "warning",
        *,
        held: str = "",
        onset: StepNumber | None = None,
    ) -> Finding:
        what, remedy = CAUSES[cause]
        what = what if len(members) > 1 else _of_one(what)
        # To see that a weight stays as it is takes one step more.
        streak = self.k + (cause in ("unchanged", "rounded_away"))
        return self.finding(
            step,
            members[0],
            f"{len(members)} of {total} {'parameter' if total == 1 else 'parameters'}"
            f" {what.format(k=self.k, held=held)}, up to step {step.train_step}: {listed(members)}",
            worker=worker,
            value=float(len(members)),
            threshold=0.0,
            severity=severity,
            onset=onset or self._since(streak),
            mode="TRAIN" if isinstance(step, StepNumber) else "",
            condition=cause,
            remedy=remedy,
            evidence={"cause": cause, "parameters": members[:20]},
        )


_ONE = {
    "are": "is",
    "they were": "it was",
    "were": "was",
    "never change": "never changes",
    "have been": "has been",
}


def _of_one(what: str) -> str:
    """Return what is said of several parameters as it is said of one.

    Example:
        >>> _of_one("are in no optimizer and never change")
        'is in no optimizer and never changes'
    """
    head, colon, rest = what.partition(":")
    for several, one in _ONE.items():
        head = re.sub(rf"\b{several}\b", one, head)
    return head + colon + rest
