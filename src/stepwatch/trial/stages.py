"""The stages of a training step, and what it means when two runs part at one of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """Something that happens in every step.

    Args:
        name: What it is called.
        collections: The built-in collections that belong to it.
        meaning: Why two runs part here, if all that comes before it is the same.
        needs: Collections that come before it and must have been compared to say so.
    """

    name: str
    collections: tuple[str, ...]
    meaning: str
    needs: tuple[str, ...] = ()


STATE = Stage(
    "weights",
    ("weights", "buffers"),
    "other weights after the same step: the optimizer or its settings, or something that changed "
    "them between the steps",
    ("gradients", "learning_rates"),
)
#: What the state means where there is no step before.
INITIAL = (
    "other weights from the beginning: another seed, another initialization or another checkpoint"
)
STAGES = (
    STATE,
    Stage(
        "data",
        ("batches", "samples", "inputs", "labels", "tokens", "channels"),
        "other data: another seed or order of the loader, another dataset, or other augmentation",
    ),
    Stage(
        "outputs",
        ("outputs", "predictions", "attention", "activity", "embeddings", "routing"),
        "another output of the same weights and data: random numbers in the forward, such as "
        "dropout, a kernel that is not deterministic, or other code",
        ("weights", "batches"),
    ),
    Stage(
        "losses",
        ("losses", "log_partition", "classes"),
        "another loss of the same outputs: other targets, or another loss",
        ("outputs",),
    ),
    Stage(
        "gradients",
        ("gradients",),
        "other gradients of the same loss: a kernel of the backward that is not deterministic, "
        "other clipping or accumulation, or gradients of an earlier step",
        ("losses",),
    ),
    Stage(
        "learning rate",
        ("learning_rates",),
        "another learning rate: its schedule, or the settings of the optimizer",
    ),
    Stage(
        "optimizer",
        ("optimizer", "optimizer_states", "updates"),
        "another step of the optimizer from the same gradients: its settings, its state, or a "
        "kernel that is not deterministic",
        ("gradients",),
    ),
)
OTHER = Stage("other", (), "something that the script or the training loop counts or measures")


def stage_of(collection: str) -> Stage:
    """Return the stage to which tensors of a built-in collection belong."""
    return next((stage for stage in STAGES if collection in stage.collections), OTHER)
