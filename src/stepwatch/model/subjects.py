"""What a finding is about, as people call it: a layer, a loss, a metric, not what is noted of it.

Some tensors are notes for rules: a flag, a count, a digest. Their figures would tell nothing, and
their names are ours.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import groupby
from typing import NamedTuple

from .collection import CollectionSpec, spec_of

#: Collections whose tensors are notes for rules.
NOTES = (
    *("checkpoints", "classes", "dependence", "derivatives", "evaluations"),
    *("hyperparameters", "loop", "optimizer", "samples", "setup", "supervision"),
)
# Of what begins so, what is named by the part after it, or by the last.
_OF_SETUP = {
    "all_frozen": "model",
    "blank_targets": "loss",
    "class_weight": "loss",
    "constant_penalty": "function",
    "cut_off": "loss",
    "dampened": "optimizer",
    "unscaled_loss": "optimizer",
    "frozen_number": "number",
    "ignored_ends": "loss",
    "linear": "layer",
    "metric": "metric",
    "momentum": "layer",
    "monitor": "callback",
    "no_end": "loss",
    "other_ids": "layer",
    "other_noise": "loss",
    "other_range": "layer",
    "over_samples": "layer",
    "padding_only": "layer",
    "pads_targets": "loss",
    "repeated": "layer",
    "detached_state": "layer",
    "drops_most": "layer",
    "ignores_training": "layer",
    "sample_positions": "layer",
    "same_key": "function",
    "same_noise": "layer",
    "same_state": "function",
    "schedule_ends": "schedule",
    "trained_before": "model",
    "turned": "layer",
    "sine_spread": "layer",
    "uncalled": "layer",
    "unfrozen": "layer",
    "weighted": "loss",
}
_OF_LOSSES = ("classes", "dependence", "supervision")
_OTHERS = {
    "checkpoints": "the checkpoint",
    "evaluations": "the evaluation",
    "loop": "the training loop",
    "optimizer": "the optimizer",
    "samples": "the batches",
}
# Of the parts of a name, those that name it.
_PART = {"metric": slice(-1, None), "callback": slice(1)}
# Notes among tensors of losses of policies.
_OF_POLICIES = ("is_minimized", "sign", "forward_returns", "reversed_returns")
# What is a curve that people read, by the end of its name.
_MEASURED = {"loop": ("_bytes", "_seconds", "graphs"), "optimizer": ("_clipping", "loss_scale")}
# How people call what is no parameter: its name in ours stands for no more than where it is kept.
_CALLED = {
    "activity": "units of {}",
    "batches": "batch {}",
    "buffers": "{}",
    "gradients": "gradient of {}",
    "inputs": "input of {}",
    "labels": "target of loss {}",
    "learning_rates": "learning rate {}",
    "losses": "loss {}",
    "metrics": "metric {}",
    "outputs": "output of {}",
    "predictions": "prediction of loss {}",
    "scalars": "{}",
    "updates": "updates of {}",
}
# What shows something of a kind.
_SHOWN_BY = {"layer": "output/{}", "loss": "loss/{}", "metric": "metric/{}"}


class Subject(NamedTuple):
    """What a finding is about.

    Fields:
        words: What it is called, ``layer enc.0``; the name of a tensor that is no note.
        tensor: The tensor whose figure shows something of it; ``""`` for none.
    """

    words: str
    tensor: str


def subject_of(tensor: str, known: Container[str] | None = None) -> Subject:
    """Return what a finding on a tensor is about.

    Args:
        tensor: The tensor of the finding; ``""`` for none.
        known: The tensors of the run, of which one may show it; ``None`` for any.

    Example:
        >>> subject_of("output/fc").words, subject_of("prediction/loss").words
        ('output of fc', 'prediction of loss')
        >>> subject_of("setup/padding_only/enc.0", {"output/enc.0"})
        Subject(words='layer enc.0', tensor='output/enc.0')
        >>> subject_of("setup/same_state/train_step", ()).words, subject_of("loop/backwards").words
        ('function train_step', 'the training loop')
        >>> subject_of("fc.weight")
        Subject(words='fc.weight', tensor='fc.weight')
        >>> subject_of("policy/sign/returns").words, subject_of("policy/advantage").words
        ('the loss of the policy', 'policy/advantage')
    """
    spec = spec_of(tensor)
    kind, name = "", ""
    _, what, *rest = [*tensor.split("/"), ""]
    if spec is not None and spec.name == "policy" and what in _OF_POLICIES:
        return Subject("the loss of the policy", "")
    if spec is None or spec.name not in NOTES:
        return Subject(_called(tensor, spec), tensor)
    parts = [one for one in rest if one]
    if what.endswith(_MEASURED.get(spec.name, ())):
        return Subject(what.replace("_", " "), tensor)
    if spec.name == "setup" and what in _OF_SETUP:
        kind = _OF_SETUP[what]
        name = "/".join(parts[_PART.get(kind, slice(None))])
    elif spec.name in _OF_LOSSES:
        kind, name = "loss", what
    if not name:
        return Subject(_OTHERS.get(spec.name, ""), "")
    shown = _SHOWN_BY.get(kind, "").format(name)
    words = _once(f"{kind} {name.replace('>', ' and ')}")
    return Subject(words, shown if shown and (known is None or shown in known) else "")


def shown_name(tensor: str) -> str:
    """Return the name of a tensor; of a note what it is about, as its name is ours.

    Example:
        >>> shown_name("output/fc"), shown_name("loop/modules_in_eval"), shown_name("")
        ('output/fc', 'the training loop', '')
    """
    about = subject_of(tensor)
    return tensor if about.tensor == tensor else about.words


def _called(tensor: str, spec: CollectionSpec | None) -> str:
    rest = tensor.partition("/")[2]
    words = _CALLED.get(spec.name, "") if spec is not None and rest else ""
    return _once(words.format(rest)) if words else tensor


def _once(words: str) -> str:
    """Return words without one that is said twice in a row.

    Example:
        >>> _once("loss loss"), _once("loss mse")
        ('loss', 'loss mse')
    """
    return " ".join(one for one, _ in groupby(words.split(" ")))
