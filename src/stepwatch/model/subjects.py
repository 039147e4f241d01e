"""What a finding is about, as people call it: a layer, a loss, a metric, not what is noted of it.

Some tensors are notes for rules: a flag, a count, a digest. Their figures would tell nothing, and
their names are ours.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from .collection import spec_of

#: Collections whose tensors are notes for rules.
NOTES = (
    *("checkpoints", "classes", "dependence", "derivatives", "hyperparameters"),
    *("loop", "optimizer", "samples", "setup", "supervision"),
)
# Of what begins so, what is named by the part after it, or by the last.
_OF_SETUP = {
    "class_weight": "loss",
    "linear": "layer",
    "metric": "metric",
    "momentum": "layer",
    "monitor": "callback",
    "over_samples": "layer",
    "padding_only": "layer",
    "repeated": "layer",
    "same_key": "function",
    "same_state": "function",
    "schedule_ends": "schedule",
    "uncalled": "layer",
    "weighted": "loss",
}
_OF_LOSSES = ("classes", "dependence", "supervision")
_OTHERS = {
    "checkpoints": "the checkpoint",
    "loop": "the training loop",
    "optimizer": "the optimizer",
    "samples": "the batches",
}
# Of the parts of a name, those that name it.
_PART = {"metric": slice(-1, None), "callback": slice(1)}
# Of the loop, what is a curve that people read.
_MEASURED = ("_bytes", "_seconds", "graphs")
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
        >>> subject_of("setup/padding_only/enc.0", {"output/enc.0"})
        Subject(words='layer enc.0', tensor='output/enc.0')
        >>> subject_of("setup/same_state/train_step", ()).words, subject_of("loop/backwards").words
        ('function train_step', 'the training loop')
        >>> subject_of("fc.weight")
        Subject(words='fc.weight', tensor='fc.weight')
    """
    spec = spec_of(tensor)
    if spec is None or spec.name not in NOTES:
        return Subject(tensor, tensor)
    kind, name = "", ""
    _, what, *rest = [*tensor.split("/"), ""]
    parts = [one for one in rest if one]
    if spec.name == "loop" and what.endswith(_MEASURED):
        return Subject(what.replace("_", " "), tensor)
    if spec.name == "setup" and what in _OF_SETUP:
        kind = _OF_SETUP[what]
        name = "/".join(parts[_PART.get(kind, slice(None))])
    elif spec.name in _OF_LOSSES:
        kind, name = "loss", what
    if not name:
        return Subject(_OTHERS.get(spec.name, ""), "")
    shown = _SHOWN_BY.get(kind, "").format(name)
    words = f"{kind} {name.replace('>', ' and ')}"
    return Subject(words, shown if shown and (known is None or shown in known) else "")
