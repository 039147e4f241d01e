"""Trainings that go on from a checkpoint, and not with all that was in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..formats.saved_weights import FIRST_BATCHES, batch_digest
from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, Rule
from ..judge.step_view import StepView, TensorView
from ..model.finding import Finding
from ..model.json_text import parse_json
from ..numerics.measures import listed, number

#: Learning rates so near each other are the same.
SAME_RATE = 1.01
#: Of a model so much is loaded from a file where a training goes on.
WHOLE = 0.9
#: So many of the weights that are compared, and at least so many, differ where they were made anew.
RESET_SHARE, MIN_COMPARED = 0.75, 2

#: Before the class of a model that was given its own parameters, after so many TRAIN steps; or the
#: same ones again, so often.
_LIVE, _AGAIN = "checkpoint/live/", "checkpoint/again/"

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Found:
    """What is wrong with what was loaded.

    Args:
        condition: The condition, before a space.
        message: A sentence with the numbers.
        remedy: What to do.
        severity: That of the finding.
        value: What was measured.
        threshold: What it was compared with.
    """

    condition: str
    message: str
    remedy: str
    severity: str = "warning"
    value: float | None = None
    threshold: float | None = None


@dataclass
class _Replay:
    """The batches of a training that goes on, beside the first ones of that which it goes on from.

    Args:
        facts: What is known of that.
        batches: Digests of the first batches there, as text.
        seen: Those here so far.
        mode_step: The TRAIN step that comes next.
    """

    facts: Facts
    batches: Sequence[str]
    mode_step: int
    seen: list[str] = field(default_factory=list)


class Resume(Rule):
    """A training that loads a checkpoint and does not go on from it.

    What a script loads is observed when it does, and in the first TRAIN step after that. Of weights
    that a run in the same folder saved it is known which step they are of, and by which digests.

    ``names``: the names in the file are not those in the model, so that with ``strict=False`` next
    to nothing was loaded. ``replaced``: the optimizer holds the parameters from before they were
    loaded. ``other_module``: they were loaded into a module that neither runs nor is trained, while
    one like it is trained from its initialization. ``reset``: they were made anew afterwards.
    ``new_frozen``: what was not in the file of transformers, such as a new head, is frozen.
    ``untied``: weights were one before they were loaded and are two. ``fresh_optimizer``: the file
    holds the state of an optimizer, and the one that trains these weights begins without.
    ``schedule``: the learning rate is not the one that was loaded, because of a schedule that was
    made anew, or the schedule in the file was not loaded. ``data_replayed``: the weights are of the
    middle of an epoch, and the first batches are those with which their run began.

    ``live``, also after training: a model is given its own parameters, as those of the best epoch
    that were kept without a copy. ``again``: a model that is trained is given the same weights
    again and again, as where a target network is copied the wrong way.
    """

    name = "resume"
    needs = ("checkpoints", "batches")
    sign = "loaded"
    lacks = NotApplicable("no weights were loaded from a file and then trained")

    min_share: float = parameter(
        0.2, "Of the elements of a model that have another name in the file.", above=0, at_most=1
    )
    rate_ratio: float = parameter(
        1.5, "By this factor a learning rate is another than that which was loaded.", above=1
    )

    def begin(self) -> None:
        self._replays: dict[str, _Replay] = {}

    def check(self, step: StepView) -> Findings:
        for tensor in step.tensors("checkpoints"):
            if (found := _given(tensor)) is not None:
                self._evaluated = True
                yield self._finding(step, tensor, found)
                continue
            document = _document(tensor)
            if document is None:
                continue
            self._evaluated = True
            for found in self._judge(document):
                yield self._finding(step, tensor, found)
            self._replays.pop(tensor.worker, None)
            for one in document["weights"]:
                saved = one["saved"]
                enough = _goes_on(saved) and len(set(saved["batches"])) == FIRST_BATCHES
                if enough and saved["mid_epoch"] and saved["step"] > FIRST_BATCHES:
                    replay = _Replay(one, saved["batches"], step.mode_step)
                    self._replays[tensor.worker] = replay
        if step.trains:
            yield from self._compare_batches(step)

    def _finding(self, step: StepView, tensor: TensorView, found: _Found) -> Finding:
        return self.finding(
            step,
            tensor,
            found.message,
            condition=found.condition,
            severity=found.severity,
            value=found.value,
            threshold=found.threshold,
            remedy=found.remedy,
            evidence={"cause": found.condition.partition(" ")[0]},
        )

    def _judge(self, document: Facts) -> Iterator[_Found]:
        for one in document["weights"]:
            yield from self._judge_names(one)
            yield from self._judge_place(one)
        whole = [one for one in document["weights"] if _is_whole(one)]
        if whole:
            yield from self._judge_optimizers(document, whole)
        yield from self._judge_rates(document)

    def _judge_names(self, one: Facts) -> Iterator[_Found]:
        share = one["renamed"] / max(1, one["elements"])
        if share < self.min_share or one["renamed"] < 0.5 * one["missing"]:
            return
        names = f"{_few(one['missing_names'])} not in the file, {_few(one['unexpected_names'])} not"
        yield _Found(
            f"names {one['class']}",
            f"{number(100 * share)}% of {one['class']} was not loaded from {_file(one)}: its"
            f" weights have other names there ({names} in the model)",
            "make the names the same, as by taking away a prefix such as module., and load with"
            " strict=True",
            severity="warning" if one["is_any_loaded"] else "error",
            value=share,
            threshold=self.min_share,
        )

    def _judge_place(self, one: Facts) -> Iterator[_Found]:
        kind, file = one["class"], _file(one)
        if one["replaced"]:
            yield _Found(
                f"replaced {kind}",
                f"loading {file} put other parameters into {kind}, and {one['replaced']} of those"
                " before are held by the optimizer, which trains what is no longer in the model",
                "load before the optimizer is made, or without assign=True",
                severity="error",
                value=one["replaced"],
            )
        elif not one["trained"] and one["twin"] and not one["has_run"]:
            gone = " and is gone" if one["is_gone"] else ""
            yield _Found(
                f"other_module {kind}",
                f"{file} was loaded into a {kind} that did not run{gone}, and another {one['twin']}"
                " with the same parameters is trained from its initialization",
                "load into the model that is trained, after it was made for the last time",
            )
        reset = one["other"] / max(1, one["compared"])
        if one["trained"] and one["compared"] >= MIN_COMPARED and reset >= RESET_SHARE:
            yield _Found(
                f"reset {kind}",
                f"{one['other']} of {one['compared']} weights of {kind} are no longer those that"
                f" were loaded from {file} when its training begins",
                "initialize before loading, not after it",
                value=reset,
                threshold=RESET_SHARE,
            )
        # What encodes a whole sentence may be there and not be used.
        new = [name for name in one.get("new_frozen", ()) if "pooler" not in name]
        if new and one["trained"] and one["has_run"]:
            yield _Found(
                f"new_frozen {kind}",
                f"{listed(new)} of {kind} {'is' if len(new) == 1 else 'are'} not in {file}, so as"
                " initialized, and frozen while other parts of it train",
                "let it train; with peft name it in modules_to_save of the LoraConfig, or give that"
                " the task_type, such as TaskType.SEQ_CLS",
                value=float(len(new)),
            )
        for names in one["untied"] if one["trained"] else ():
            yield _Found(
                f"untied {names[0]}",
                f"{' and '.join(names)} were one parameter and are {len(names)} since {file} was"
                " loaded",
                "tie them again after loading, or load without assign=True",
            )

    def _judge_optimizers(self, document: Facts, whole: Sequence[Facts]) -> Iterator[_Found]:
        held, optimizers = document["held"], document["optimizers"]
        fresh = [one for one in optimizers if one["fresh"] and not one["loaded"]]
        if not held["optimizers"] or not fresh:
            return
        rates = [rate for one in fresh for rate in one["rates"]]
        same = _are_same(rates, held["rates"])
        if not (same or _are_same(rates, held["initial_rates"])):
            return  # trained with another learning rate: what begins is another training
        decayed = same and held["initial_rates"] and not _are_same(rates, held["initial_rates"])
        others = any(one["loaded"] for one in optimizers) or document["schedules"]["loaded"]
        known = next((one["saved"] for one in whole if _goes_on(one["saved"])), None)
        severity = "warning" if known or others or decayed else "info"
        if severity == "info" and not same:
            return  # nor is this the learning rate at which it was saved
        of = f", saved after {known['step']} TRAIN steps of {known['run']}," if known else ""
        also = " Nor was its schedule." if _lost_schedule(document) else ""
        yield _Found(
            "fresh_optimizer",
            f"the weights were loaded from {_file(whole[0])}{of} and the state of the optimizer in"
            f" it was not: {fresh[0]['class']} begins anew.{also}",
            "give it to optimizer.load_state_dict, and that of the schedule to the schedule",
            severity=severity,
        )

    def _judge_rates(self, document: Facts) -> Iterator[_Found]:
        schedules = document["schedules"]
        loaded = [one for one in document["optimizers"] if one["rates_loaded"]]
        if schedules["stepped_since"]:
            return
        for one in loaded:
            ratio = _largest_ratio(one["rates"], one["rates_loaded"])
            if ratio > self.rate_ratio and schedules["made_since"]:
                # Else it may be meant for another stage of the training.
                goes_on = document["held"]["schedules"] or max(schedules["steps"], default=0) > 0
                yield _Found(
                    "schedule",
                    f"{one['class']} trains with a learning rate of {_rates(one['rates'])} where"
                    f" that in the checkpoint is {_rates(one['rates_loaded'])}: a schedule that was"
                    " made after it was loaded set it anew",
                    "make the schedule before the optimizer is loaded, then load both",
                    severity="warning" if goes_on else "info",
                    value=ratio,
                    threshold=self.rate_ratio,
                )
                return
        if loaded and _lost_schedule(document):
            steps = max(one["steps"] for one in document["held"]["schedules"])
            yield _Found(
                "schedule",
                f"the optimizer was loaded and its schedule was not: it begins"
                f" at {max(schedules['steps'])} where that in the checkpoint stepped {steps} times",
                "give the state of the schedule to scheduler.load_state_dict",
                value=float(max(schedules["steps"])),
                threshold=float(steps),
            )

    def _compare_batches(self, step: StepView) -> Findings:
        for record in step.records:
            replay = self._replays.get(record.worker)
            if replay is None:
                continue
            found = batch_digest(record.digests)
            if found is None or step.mode_step != replay.mode_step:
                del self._replays[record.worker]
                continue
            replay.seen.append(f"{found:016x}")
            replay.mode_step += 1
            if replay.seen != list(replay.batches[: len(replay.seen)]):
                del self._replays[record.worker]
            elif len(replay.seen) == FIRST_BATCHES:
                del self._replays[record.worker]
                saved = replay.facts["saved"]
                yield self.finding(
                    step,
                    "batch",
                    f"the weights were saved after {saved['step']} TRAIN steps of {saved['run']},"
                    f" in the middle of an epoch, and the first {FIRST_BATCHES} batches are those"
                    " with which that run began: the same data come again and the rest of the"
                    " epoch is left out",
                    condition="data_replayed",
                    remedy="save the state of the loader or skip the batches that were used; give"
                    " the sampler another seed for each epoch",
                    worker=record.worker,
                    evidence={"cause": "data_replayed"},
                )


def _given(tensor: TensorView) -> _Found | None:
    """Return what is wrong with what a model was given while it trains, if that is what it is."""
    if tensor.name.startswith(_LIVE):
        name = tensor.name.removeprefix(_LIVE)
        return _Found(
            f"live {name}",
            f"{name} was given its own parameters by load_state_dict() after"
            f" {tensor.scalar:.0f} TRAIN steps, which changes nothing: what was kept of it is no"
            " copy, and went on training with it",
            "keep a copy, such as copy.deepcopy(model.state_dict()): a state_dict() holds the"
            " parameters themselves",
            value=tensor.scalar,
        )
    if tensor.name.startswith(_AGAIN):
        name = tensor.name.removeprefix(_AGAIN)
        return _Found(
            f"again {name}",
            f"{name}, which is trained, was given the same weights by load_state_dict()"
            f" {tensor.scalar:.0f} times, each after TRAIN steps of one optimizer: what is learnt"
            " is overwritten",
            "see which of two models is copied into which: a target network is given the weights of"
            " the one that is trained, target.load_state_dict(policy.state_dict())",
            value=tensor.scalar,
        )
    return None


def _document(tensor: TensorView) -> Facts | None:
    """Return what was observed of loading; ``None`` where that was not saved."""
    raw = tensor.record.raw.get(tensor.name)
    if raw is None or raw.dtype != np.uint8:
        return None
    try:
        found = parse_json(raw.tobytes())
    except ValueError:
        return None
    return found if isinstance(found, dict) and "weights" in found else None


def _is_whole(one: Facts) -> bool:
    """Return whether a model was loaded nearly as a whole, and is trained on."""
    is_loaded = one["missing"] <= (1 - WHOLE) * one["elements"]
    return bool(is_loaded and one["trained"] >= WHOLE)


def _goes_on(saved: Facts | None) -> bool:
    """Return whether weights are those of an earlier run of this very script."""
    if not saved or saved["same_process"] or not saved["step"]:
        return False
    return bool(saved["same_script"] or saved["same_run"])


def _lost_schedule(document: Facts) -> bool:
    """Return whether a schedule in the file had stepped on, and the used one begins anew."""
    held, used = document["held"]["schedules"], document["schedules"]
    steps = max((one["steps"] for one in held), default=0)
    if steps <= 1 or used["loaded"] or not used["steps"]:
        return False
    return bool(max(used["steps"]) < 0.5 * steps)


def _largest_ratio(rates: Sequence[float], others: Sequence[float]) -> float:
    """Return by which factor two lists of learning rates differ at most; 1 if not comparable."""
    if len(rates) != len(others):
        return 1.0
    pairs = [(one, other) for one, other in zip(rates, others, strict=True) if one or other]
    found = [max(pair) / min(pair) if min(pair) > 0 else math.inf for pair in pairs]
    return max(found, default=1.0)


def _are_same(rates: Sequence[float], others: Sequence[float]) -> bool:
    return bool(rates) and len(rates) == len(others) and _largest_ratio(rates, others) <= SAME_RATE


def _few(names: Sequence[str]) -> str:
    return f"{names[0]}, …" if len(names) > 1 else "".join(names[:1])


def _file(one: Facts) -> str:
    return str(one["file"] or "a file")


def _rates(rates: Sequence[float]) -> str:
    return ", ".join(number(rate) for rate in rates[:3])
