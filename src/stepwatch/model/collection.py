"""Collections: named sets of tensors that share a save policy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from ..errors import ConfigError, nearest
from .save_policy import EVERY_STEP, SavePolicy, Schedule

#: When tensors come to be in a training step. The weights of a step are those from before it.
STAGES = ("setting", "weight", "data", "output", "loss", "gradient", "update", "outcome")

_EVERYWHERE = SavePolicy()
_TENTH = SavePolicy(statistics=Schedule(every=10))
_WHOLE = SavePolicy(statistics=None, raw=EVERY_STEP)
# Summaries: a few numbers of each tensor, of which every one is wanted.
_SUMMARY = SavePolicy(statistics=None, raw=Schedule(every=10))
_ON_REQUEST = SavePolicy(statistics=None)
_FEW_RAW = SavePolicy(
    statistics=None, raw=Schedule(steps=frozenset((5, 9, 20, 100, 500, 2000, 10_000)))
)


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """What a built-in collection means; every tensor belongs to exactly one.

    Args:
        name: As in ``--save``, and as it is stored.
        stage: Of ``STAGES``, when its tensors come to be; ``""`` where that differs.
        diff_stage: The stage at which two runs part that differ in it, of ``diff.explain.STAGES``.
        prefixes: What the names of its tensors begin with, before the first slash.
        subject: What follows the prefix: ``parameter``, ``module``, or ``""`` for neither.
        policy: What is saved of it by default; ``_ON_REQUEST`` is for what costs a further pass.
        is_number: Each tensor is one number, and shown as a curve.
        models: ``every`` training should have some, only ``some`` models have it, or ``trees``
            have it and networks may, or ``trees only``.
    """

    name: str
    stage: str = ""
    diff_stage: str = "other"
    prefixes: tuple[str, ...] = ()
    subject: str = ""
    policy: SavePolicy = _EVERYWHERE
    is_number: bool = False
    models: str = "every"


# Name, stage, diff stage, prefixes and subject.
_SPECS = (
    CollectionSpec("weights", "weight", "weights"),
    CollectionSpec("buffers", "weight", "weights"),
    CollectionSpec(
        "gradients", "gradient", "gradients", ("gradient", "gradient_norm"), "parameter"
    ),
    CollectionSpec("outputs", "output", "outputs", ("output",), "module"),
    CollectionSpec("inputs", "data", "data", ("input",), "module"),
    CollectionSpec("losses", "loss", "losses", ("loss",), is_number=True, models="trees"),
    CollectionSpec(
        "learning_rates", "setting", "learning rate", ("learning_rate",), is_number=True
    ),
    CollectionSpec("optimizer", "setting", "optimizer", is_number=True),
    CollectionSpec(
        "optimizer_states", "setting", "optimizer", ("update_rms",), "parameter", policy=_TENTH
    ),
    CollectionSpec(
        "updates",
        "update",
        "optimizer",
        ("update_ratio", "lost_updates"),
        "parameter",
        policy=_TENTH,
        is_number=True,
    ),
    CollectionSpec(
        "attention", "output", "outputs", ("attention",), "module", policy=_TENTH, models="some"
    ),
    CollectionSpec("batches", "data", "data", ("batch",), policy=SavePolicy(digest=EVERY_STEP)),
    CollectionSpec("samples", "data", "data", ("sample",), policy=_WHOLE),
    CollectionSpec("channels", "data", "data", policy=_ON_REQUEST),
    CollectionSpec(
        "tokens", "data", "data", ("token", "token_count"), "module", policy=_ON_REQUEST
    ),
    CollectionSpec("predictions", "output", "outputs", ("prediction",), models="trees"),
    CollectionSpec("labels", "data", "data", ("label",), models="trees"),
    CollectionSpec("log_partition", "output", "losses", policy=_TENTH, models="some"),
    CollectionSpec(
        "classes", "data", "losses", ("confusion", "class_count", "spread"), policy=_SUMMARY
    ),
    CollectionSpec(
        "supervision",
        "data",
        "data",
        ("supervision", "micro_batches"),
        policy=_SUMMARY,
        models="some",
    ),
    CollectionSpec("policy", "loss", "losses", ("policy", "value"), models="some"),
    CollectionSpec("dependence", "output", "other", ("dependence",), policy=_FEW_RAW),
    CollectionSpec("derivatives", "output", policy=_ON_REQUEST),
    CollectionSpec(
        "activity", "output", "outputs", ("active", "inside"), "module", policy=_ON_REQUEST
    ),
    CollectionSpec(
        "quantiles", "gradient", "other", ("quantiles",), "parameter", policy=_ON_REQUEST
    ),
    CollectionSpec(
        "embeddings",
        "weight",
        "outputs",
        ("row_norms",),
        "parameter",
        policy=_SUMMARY,
        models="some",
    ),
    CollectionSpec(
        "routing", "output", "outputs", ("routing",), "module", policy=_SUMMARY, models="some"
    ),
    CollectionSpec("loop", "setting", "other", ("loop",)),
    CollectionSpec("evaluations", "setting", "other", ("evaluation",), models="some"),
    CollectionSpec(
        "checkpoints",
        "setting",
        "weights",
        ("checkpoint",),
        policy=SavePolicy(statistics=None, raw=EVERY_STEP),
        models="some",
    ),
    CollectionSpec(
        "setup",
        "setting",
        policy=SavePolicy(statistics=Schedule(every=10), raw=Schedule(every=10)),
        models="some",
    ),
    CollectionSpec("metrics", "loss", "other", ("metric",), is_number=True, models="trees"),
    CollectionSpec("boosting", "outcome", models="trees only"),
    CollectionSpec(
        "hyperparameters", "setting", policy=SavePolicy(raw=EVERY_STEP), models="trees only"
    ),
    CollectionSpec("feature_importance", "outcome", policy=_TENTH, models="trees only"),
    CollectionSpec("average_shap", "outcome", policy=_ON_REQUEST, models="trees only"),
    CollectionSpec("full_shap", "outcome", policy=_ON_REQUEST, models="trees only"),
    CollectionSpec("trees", "outcome", policy=_ON_REQUEST, models="trees only"),
    CollectionSpec("scalars", "loss", "other", ("scalar",), is_number=True, models="trees"),
    CollectionSpec("tensors", "", "other", ("tensor",), models="trees"),
)
#: All built-in collections by name.
SPECS: Mapping[str, CollectionSpec] = {spec.name: spec for spec in _SPECS}
BUILT_IN = tuple(SPECS)
_BY_PREFIX = {prefix: spec for spec in _SPECS for prefix in spec.prefixes}


def spec_of(tensor: str) -> CollectionSpec | None:
    """Return the collection that a tensor's name stands for; ``None`` if it stands for none."""
    prefix = tensor.partition("/")[0]
    return _BY_PREFIX.get(prefix) or SPECS.get(prefix)


def subject(tensor: str) -> str:
    """Return the parameter or module that a tensor's name says it is about; else the name.

    Example:
        >>> subject("gradient/fc.weight"), subject("active/relu")
        ('fc.weight', 'relu')
        >>> subject("loss/mse_loss")
        'loss/mse_loss'
    """
    spec = spec_of(tensor)
    rest = tensor.partition("/")[2]
    if spec is None or not spec.subject or not rest:
        return tensor
    return subject(rest) if spec.subject == "parameter" else rest.partition("/")[0]


def of_one_quantity(names: Iterable[str], collection: str) -> list[str]:
    """Return the tensors of a collection that are comparable: those of what it mostly holds.

    Args:
        names: Of tensors of the collection, in an order that is kept.
        collection: Its name. What else it holds is left out, unless there is nothing but that.

    Example:
        >>> of_one_quantity(["lost_updates/w", "update_ratio/w"], "updates")
        ['update_ratio/w']
        >>> of_one_quantity(["lost_updates/w"], "updates")
        ['lost_updates/w']
    """
    known = list(names)
    spec = SPECS.get(collection)
    others = () if spec is None else spec.prefixes[1:]
    main = [name for name in known if name.partition("/")[0] not in others]
    return main or known


_OF_LOSS = re.compile(
    r"(?:loss|prediction|label|log_partition|confusion|class_count|dependence|supervision)/([^/]+?)(?:_\d+)?(?:/|$)"
)
#: The function that does the work of a loss module, by the name of its class.
LOSS_FUNCTIONS = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "GaussianNLLLoss": "gaussian_nll_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "KLDivLoss": "kl_div",
    "CTCLoss": "ctc_loss",
    "SoftMarginLoss": "soft_margin_loss",
    "MultiMarginLoss": "multi_margin_loss",
    "MultiLabelMarginLoss": "multilabel_margin_loss",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss",
    "HingeEmbeddingLoss": "hinge_embedding_loss",
    "CosineEmbeddingLoss": "cosine_embedding_loss",
    "MarginRankingLoss": "margin_ranking_loss",
    "TripletMarginLoss": "triplet_margin_loss",
    "TripletMarginWithDistanceLoss": "triplet_margin_with_distance_loss",
}


def loss_function(tensor: str) -> str:
    """Return the loss function that a tensor's name says computed it, or was given it.

    Empty for what is of no loss, or of one that no known function computed. A module is known by
    the function that does its work.

    Example:
        >>> loss_function("loss/mse_loss"), loss_function("prediction/CrossEntropyLoss_1")
        ('mse_loss', 'cross_entropy')
        >>> loss_function("loss/backward"), loss_function("output/fc")
        ('', '')
    """
    found = _OF_LOSS.match(tensor)
    name = "" if found is None or found[1] == "backward" else found[1]
    return LOSS_FUNCTIONS.get(name, name)


def default_policy(name: str) -> SavePolicy:
    """Return what is saved of a built-in collection of which nothing was requested."""
    return SPECS[name].policy if name in SPECS else _EVERYWHERE


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of tensors with its save policy.

    Args:
        name: One of ``BUILT_IN``, or a name of your own, which then needs ``patterns``.
        patterns: Regular expressions, searched in the names of tensors.
        policy: What to save of the tensors, and when.

    Raises:
        ConfigError: An own name without patterns, or a pattern that does not compile.
    """

    name: str
    patterns: tuple[str, ...] = ()
    policy: SavePolicy = field(default_factory=SavePolicy)

    def __post_init__(self) -> None:
        if self.name not in BUILT_IN and not self.patterns:
            raise ConfigError(
                f"collection {self.name!r} is not built in, so it needs a pattern"
                f"{nearest(self.name, BUILT_IN)} (built in: {', '.join(BUILT_IN)})"
            )
        for pattern in self.patterns:
            compiled(pattern)

    def holds(self, tensor: str, kind: str) -> bool:
        """Return whether a tensor of this name and built-in kind belongs here."""
        return self.name == kind or any(re.search(pattern, tensor) for pattern in self.patterns)


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a regular expression, compiled; raise ConfigError if it is none."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"pattern {pattern!r} does not compile: {error}") from None


Policy = SavePolicy | Mapping[str, SavePolicy] | Sequence["Collection | str"] | str | None


def as_collections(policy: Policy) -> tuple[Collection, ...]:
    """Return what a ``policy`` argument asks for, as collections.

    Args:
        policy: One ``SavePolicy`` for everything; or one for each built-in collection, by name;
            or collections and ``--save`` texts; ``None`` for the defaults.
    """
    if policy is None:
        return ()
    if isinstance(policy, SavePolicy):
        return tuple(Collection(name, (), policy) for name in BUILT_IN)
    if isinstance(policy, Mapping):
        return tuple(Collection(name, (), one) for name, one in policy.items())
    texts = [policy] if isinstance(policy, str) else policy
    return tuple(parse_save(item) if isinstance(item, str) else item for item in texts)


def parse_save(text: str) -> Collection:
    """Read one ``--save`` argument.

    The form is ``COLLECTION[:WHAT][:every=N,first=N,last=N,steps=A+B+C]``, where COLLECTION is a
    built-in name or ``/regex/`` and WHAT is ``statistics``, ``raw``, ``digest`` or ``exponents``.
    Statistics replace what is saved by default, the others add to it, and ``COLLECTION:none``
    saves nothing of it.

    Raises:
        ConfigError: Anything that is not of this form; the message says what would be.

    Example:
        >>> parse_save("gradients:raw:every=100").policy.raw
        Schedule(every=100, first=0, last=None, steps=frozenset())
    """
    if text.startswith("/") and "/" in text[1:]:
        name, rest = text[: text.rindex("/") + 1], text[text.rindex("/") + 1 :]
        patterns: tuple[str, ...] = (name[1:-1],)
    else:
        name, _, rest = text.partition(":")
        patterns, rest = (), f":{rest}" if rest else ""
    _, what, *schedules = rest.split(":", 2) if rest else ("", "statistics")
    if what not in (*_SAVED, "none"):
        raise ConfigError(
            f"--save {text!r}: {what!r} is not {', '.join(_SAVED)} or none"
            "; for example gradients:raw:every=100"
        )
    schedule = _parse_schedule(text, schedules[0]) if schedules else Schedule()
    if what == "none":
        return Collection(name, patterns, SavePolicy(statistics=None))
    usual = SavePolicy() if what == "statistics" else default_policy(name)
    return Collection(name, patterns, replace(usual, **{what: schedule}))


# What can be saved of a tensor, as --save calls it.
_SAVED = tuple(one.name for one in fields(SavePolicy))


def _parse_schedule(text: str, fields: str) -> Schedule:
    values: dict[str, int] = {}
    steps: frozenset[int] = frozenset()
    for part in fields.split(","):
        key, _, value = part.partition("=")
        try:
            if key == "steps":
                steps = frozenset(int(step) for step in value.split("+"))
            elif key in ("every", "first", "last"):
                values[key] = int(value)
            else:
                raise ConfigError(
                    f"--save {text!r}: {part!r} is not every=N, first=N, last=N or steps=A+B+C"
                )
        except ValueError as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"--save {text!r}: {value!r} is not a whole number") from None
    return Schedule(steps=steps, **values)
