"""What findings are signs of, and which may follow from which: data for ``chain``.

``late`` and ``reach`` are in steps. They come from how rules judge by default: one that waits for
ten steps in a row speaks up ten steps after it began.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..finding import Finding
from .places import Places, subject
from .profile import PROFILE_RULES

# A label ends so where one rule was asked for several times.
_NUMBER = re.compile(r"-\d+$")


@dataclass(frozen=True, slots=True)
class Sign:
    """Findings that say the same kind of thing.

    Args:
        rules: Rules, or rules with a pattern after a colon, of the condition of a finding or of the
            ``cause`` in its evidence.
        confirm: What would confirm that it is the cause, one line; with ``{run}``, ``{step}``,
            ``{mode_step}`` and ``{tensor}``.
        late: How many steps after it began it is told.
        reach: How many steps later something may follow from it; ``None`` as long as the run goes.
        stage: Of ``STAGES``, where that of the tensor is not what counts: ``outcome`` for what says
            that something is wrong and not where.
    """

    rules: tuple[str, ...]
    confirm: str
    late: int = 0
    reach: int | None = None
    stage: str = ""


Relation = Callable[[Finding, Finding, Places], bool]


def anywhere(cause: Finding, effect: Finding, places: Places) -> bool:  # noqa: ARG001
    """Hold wherever the two are."""
    return True


def same_step(cause: Finding, effect: Finding, places: Places) -> bool:  # noqa: ARG001
    """Hold where both were seen at one step."""
    return cause.step == effect.step


def same_tensor(cause: Finding, effect: Finding, places: Places) -> bool:  # noqa: ARG001
    """Hold where both are about one parameter or module."""
    return bool(_subjects(cause) & _subjects(effect))


def on_the_way_back(cause: Finding, effect: Finding, places: Places) -> bool:
    """Hold where the gradient passes the cause before the effect, as far as is known."""
    maker, reached = places.made_by(cause.tensor), places.made_by(effect.tensor)
    return maker is None or reached is None or reached <= maker


@dataclass(frozen=True, slots=True)
class Link:
    """One sign may bring about another.

    Args:
        cause: A key of ``SIGNS``.
        effect: Another, or the same.
        relation: Where the two must be.
        certain: Whether nothing else can be behind it.
    """

    cause: str
    effect: str
    relation: Relation = anywhere
    certain: bool = False


_SHOW = "stepwatch show {run} --tensor '{tensor}'"
_REPLAY = "run the step again: stepwatch replay {run} --step {step}"
_TENTH = "train once with a tenth of the learning rate"
_BATCH = (
    "save what the loss is given: stepwatch run --save predictions:raw:steps={mode_step}"
    " --save labels:raw:steps={mode_step}"
)

_BATCHES = (
    "look at the batches: stepwatch run --save inputs:raw:steps={mode_step}"
    " --save labels:raw:steps={mode_step}"
)

SIGNS = {
    "schedule": Sign(
        tuple(
            f"learning_rate_anomaly:{what}*"
            for what in (
                "ended",
                "zero",
                "turned",
                "short",
                "slow",
                "never_stepped",
                "too_often",
                "per_micro_batch",
            )
        ),
        f"look at the schedule: {_SHOW} --statistic mean",
        late=20,
    ),
    "rate": Sign(
        ("learning_rate_anomaly",), f"look at the schedule: {_SHOW} --statistic mean", late=10
    ),
    "mode": Sign(("training_mode",), f"see since when: {_SHOW} --statistic mean", late=10),
    "stale": Sign(
        ("stale_gradients", "untrained_parameter:zero_grad"),
        "train once with zero_grad() right before backward()",
        late=10,
    ),
    "scale": Sign(
        ("grad_accumulation_scale", "gradient_clipping"),
        f"look at the weight of the loss, or the norm: {_SHOW}",
        late=10,
    ),
    "unchanged": Sign(
        ("unchanged_tensor", "untrained_parameter:unchanged"),
        f"see since when: {_SHOW}",
        late=10,
        stage="weight",
    ),
    "untrained": Sign(
        ("untrained_parameter",), f"see whether it changes: {_SHOW}", late=10, stage="setting"
    ),
    "initialization": Sign(
        ("poor_weight_initialization", "initial_state"),
        f"look at how large it is at step 0: {_SHOW}",
        late=5,
        stage="setting",
    ),
    "state": Sign(("stale_optimizer_state",), _TENTH, late=30),
    "precision": Sign(("low_precision_loss",), "train once in float32", late=40, stage="setting"),
    "replicas": Sign(
        ("replica_divergence",),
        "compare the replicas: stepwatch run --save weights:digest --save batches:digest",
        late=5,
    ),
    "loss_input": Sign(("loss_input", "loss_direction", "dependence"), _BATCH, late=5),
    "data": Sign(
        (
            "class_imbalance",
            "nlp_sequence_ratio",
            "label_leak",
            "repeated_data",
        ),
        _BATCHES,
        late=50,
        stage="data",
    ),
    "inputs": Sign(
        ("input_drift", "input_scale", "check_input_images"), _BATCHES, late=10, stage="data"
    ),
    "inactive": Sign(
        ("dead_relu", "saturated_activation", "all_zero", "tensor_variance"),
        f"see since when: {_SHOW} --statistic zero_fraction",
        late=10,
    ),
    "drift": Sign(
        (
            "attention_instability",
            "activation_outlier",
            "output_logit_drift",
            "embedding_drift",
            "router_collapse",
        ),
        f"see how it grows: {_SHOW} --statistic abs_max",
        late=30,
    ),
    "pace": Sign(
        ("step_size:too_small",),
        "train once with ten times the learning rate",
        late=100,
        stage="update",
    ),
    "updates": Sign(("weight_update_ratio", "step_size"), _TENTH, stage="update"),
    "moved": Sign(("weights_moved",), f"see when it changed: {_SHOW} --statistic l2"),
    "vanishing": Sign(
        ("vanishing_gradient",), f"see where it fades: {_SHOW} --statistic abs_mean", late=10
    ),
    "spike": Sign(("loss_spike", "grad_norm_spike:spike"), _REPLAY, reach=20),
    "growth": Sign(("grad_norm_spike",), _TENTH, late=50),
    "bad_data": Sign(("non_finite_origin:data",), _REPLAY, reach=200),
    "non_finite": Sign(("non_finite_origin",), _REPLAY, reach=200),
    "exploded": Sign(("exploding_tensor",), _REPLAY, reach=200, stage="outcome"),
    "waiting": Sign(
        ("data_stall", "straggler", "stalled_training"),
        "time the data loader without the model, worker by worker",
    ),
    "machine": Sign(PROFILE_RULES, "see where the time goes: stepwatch profile {run}"),
    "memory": Sign(("memory_growth",), f"see how it grows: {_SHOW} --statistic mean", late=100),
    "outcome": Sign(
        (
            "loss_not_decreasing",
            "chance_level",
            "overfit",
            "overtraining",
            "confusion",
            "rl_collapse",
            "gan_collapse",
        ),
        "train once on a single small batch: its loss must go to zero",
        stage="outcome",
    ),
    "other": Sign(("*",), f"look at it: {_SHOW}"),
}

_LOST = ("waiting", "machine", "memory", "other")
_NOT_FINITE = ("bad_data", "non_finite", "exploded")
_DIVERGED = ("spike", "non_finite", "exploded")


def _links(causes: Iterable[str], effects: Iterable[str]) -> list[Link]:
    return [Link(cause, effect) for cause in causes for effect in effects]


LINKS = (
    # by definition
    Link("bad_data", "exploded", same_step, certain=True),
    Link("non_finite", "exploded", same_step, certain=True),
    Link("stale", "stale", same_tensor, certain=True),
    Link("untrained", "unchanged", same_tensor, certain=True),
    Link("inactive", "inactive", same_tensor, certain=True),
    # one rule that says the same of several tensors, or says more of it
    *(Link(sign, sign) for sign in ("schedule", "drift", "inactive", "updates", "waiting")),
    *_links(("waiting", "machine"), ("machine",)),
    Link("schedule", "rate"),
    # steps that are too large or too small, and what they end in
    *_links(
        ("schedule", "rate", "stale", "scale", "state", "precision", "inputs"),
        ("drift", "growth", "updates", "pace", *_DIVERGED),
    ),
    *_links(("initialization",), ("drift", "growth", "updates", "pace", "spike")),
    *_links(("untrained", "unchanged", "inactive", "vanishing"), ("updates", "pace")),
    *_links(("drift", "growth", "updates", "pace", "replicas", "moved"), _DIVERGED),
    *_links(("spike",), (*_DIVERGED, "inactive")),
    *_links(("loss_input", *_NOT_FINITE), ("exploded",)),
    Link("loss_input", "non_finite"),
    *_links(("bad_data", "non_finite"), ("spike",)),
    # gradients that do not arrive
    *_links(
        ("initialization", "schedule", "rate", "inputs"), ("inactive", "vanishing", "unchanged")
    ),
    *_links(("precision",), ("vanishing", "unchanged")),
    Link("inactive", "vanishing", on_the_way_back),
    Link("inactive", "unchanged", on_the_way_back),
    Link("vanishing", "unchanged", same_tensor),
    # what comes of it: nothing follows from time that is lost
    *_links((sign for sign in SIGNS if sign not in _LOST), ("outcome",)),
)


def sign_of(finding: Finding) -> str:
    """Return the key in ``SIGNS`` of what a finding is a sign of."""
    rule = _NUMBER.sub("", finding.rule)
    texts = [f"{rule}:{finding.condition}", f"{rule}:{finding.evidence.get('cause', '')}"]
    return next(
        name
        for name, sign in SIGNS.items()
        if any(_matches(text, pattern) for text in texts for pattern in sign.rules)
    )


def _matches(text: str, pattern: str) -> bool:
    return fnmatchcase(text, pattern if ":" in pattern else f"{pattern}:*")


def earlier_rules(sign: str) -> list[str]:
    """Return the rules that can name what a sign follows from, directly or over others."""
    found: set[str] = set()
    news = {sign}
    while news:
        news = {link.cause for link in LINKS if link.effect in news} - found
        found |= news
    causes = [SIGNS[name].rules for name in SIGNS if name in found - {sign}]
    rules = [rule.partition(":")[0] for of_cause in causes for rule in of_cause]
    return list(dict.fromkeys(rules))


def _subjects(finding: Finding) -> set[str]:
    names = [finding.tensor]
    for key in ("tensors", "parameters"):
        more = finding.evidence.get(key)
        names += [str(name) for name in more] if isinstance(more, (list, tuple)) else []
    return {subject(name) for name in names if name}
