"""Rules from what people write: a spec on the command line, or strings from a JSON file.

The grammar is that of ``specs``. The name is that of a rule in snake_case or CamelCase, or
``path/to/file.py:ClassName``.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence

from ..errors import ConfigError
from ..plugins import registry
from ..plugins.specs import (
    arguments,
    convert,
    load_file,
    names_file,
    read_spec,
    split_list,
    split_specs,
)
from .rule import Rule, Scope, Watched

__all__ = [
    "DEFAULT_RULES",
    "GROUP",
    "Spec",
    "build",
    "convert",
    "find_rule",
    "parse_rules",
    "rule_specs",
    "split_list",
]

GROUP = "stepwatch.rules"
Spec = str | Mapping[str, object] | Rule | Watched

#: What ``stepwatch run`` watches for unless other rules are requested, with thresholds at which a
#: healthy run, however small, stays silent; in the order in which they judge.
DEFAULT_RULES = (
    "vanishing_gradient:relative_to=largest,relative_threshold=1e-7,consecutive=10"
    # a shift before a normalization and the bias of attention's keys have no gradient by nature
    ",vectors=false,exclude_regex=bias",
    "zero_gradients",
    "grad_norm_spike:z=10,min_ratio=5,clip_share=0.99,clip_window=100,clip_ratio=100",
    "gradient_clipping",
    "exploding_tensor:amp_skips=10,allow_masks=true",
    "non_finite_origin:amp_skips=10",
    "all_zero:collection_names=outputs,start_step=10,consecutive=10",
    "untrained_parameter",
    "loss_not_decreasing:mode=TRAIN,num_steps=100,smooth=25,converged_ratio=0.9,plain_only=true",
    "loss_spike:over_window=3,min_rise=1,of_first=0.1",
    "overfit:patience=3,ratio_threshold=0.2,rising_by=0.3",
    "training_mode",
    "setup",
    "grad_accumulation_scale",
    "loss_input",
    "loss_direction",
    "chance_level",
    "step_size",
    "learning_rate_anomaly",
    "weights_moved",
    "stale_optimizer_state:max_rms=4",
    "low_precision_loss",
    "repeated_data",
    "input_drift",
    "input_scale",
    "label_leak",
    "attention_instability",
    "output_logit_drift",
    "embedding_drift:max_cosine=0.8",
    "router_collapse",
    "replica_divergence",
    "dependence",
    "supervision",
    "initial_state",
    "resume",
    "logged_metric",
    "memory_growth",
    "gan_collapse",
    "rl_collapse:only_with_reward=true",
    "rl_update",
    # to wait makes a training slow, and not wrong
    "data_stall:max_share=0.5,severity=info",
    "straggler:severity=info",
)

#: Under these keys a dict names its rule; the second is SageMaker's.
_NAME_KEYS = ("rule", "rule_to_invoke")


def rule_specs(texts: Sequence[str], default: Sequence[str]) -> list[str]:
    """Return the specs that ``--rules`` texts ask for, with ``default`` and ``none`` resolved.

    Args:
        texts: Each of one or more specs; none of them stands for the default set.
        default: The specs of the default set.

    Example:
        >>> rule_specs(["none"], ["overfit"]), rule_specs(["loss_spike; default"], ["overfit"])
        ([], ['loss_spike', 'overfit'])
    """
    if not texts:
        return list(default)
    specs: list[str] = []
    for spec in (spec for text in texts for spec in split_specs(text)):
        if spec == "default":
            specs.extend(default)
        elif spec != "none":
            specs.append(spec)
    return specs


def parse_rules(specs: str | Sequence[Spec]) -> list[Watched]:
    """Build rules from specs.

    Args:
        specs: One text, or several of: texts, of which ``default`` stands for the default set and
            ``none`` for no rule, dicts with the key ``rule`` and parameters as
            strings or as JSON's own types, and rules that are already built.

    Returns:
        In the order requested. A rule that is requested twice gets ``-2`` after its name.

    Raises:
        ConfigError: An unknown rule or parameter, or a value that does not fit; one line that
            names what would.
    """
    watched: list[Watched] = []
    for spec in [specs] if isinstance(specs, str) else specs:
        if isinstance(spec, str):
            watched += [_from_text(text) for text in rule_specs([spec], DEFAULT_RULES)]
        elif isinstance(spec, Watched):
            watched.append(spec)
        elif isinstance(spec, Mapping):
            watched.append(_from_mapping(spec))
        else:
            watched.append(Watched(spec))
    return _with_labels(watched)


def build(name: str, parameters: Mapping[str, object]) -> Watched:
    """Build one rule from its name and its parameters.

    Args:
        name: As in a spec.
        parameters: Strings are converted by the type hints of the rule's constructor; values of
            the right type are taken as they are. Those that the rule does not have itself go to
            its ``Scope``.
    """
    kind = find_rule(name)
    if parameters.get("profile") == "compat":
        parameters = {"on_fire": "stop", **getattr(kind, "compat", {}), **parameters}
    for_rule, for_scope = arguments(kind.name, kind, Scope, parameters, noun="rule")
    try:
        return Watched(kind(**for_rule), Scope(**for_scope))
    except ConfigError as error:
        raise ConfigError(f"{kind.name}: {error}") from None


def find_rule(name: str) -> type[Rule]:
    """Return the class of a rule by its name in any case, or by ``path/to/file.py:ClassName``."""
    if names_file(name):
        return _from_file(*name.rsplit(":", 1))
    found = registry.load(GROUP, name)
    return typing.cast("type[Rule]", found)  # the registry does not know what plug-ins are


def _from_text(text: str) -> Watched:
    return build(*read_spec(text, kind="rule", example="loss_spike:window=64,k=8"))


def _from_mapping(spec: Mapping[str, object]) -> Watched:
    names = [spec[key] for key in _NAME_KEYS if key in spec]
    if len(names) != 1:
        raise ConfigError(
            f"a rule given as a dict needs the key 'rule' with its name, got keys {list(spec)}"
        )
    parameters = {key: value for key, value in spec.items() if key not in _NAME_KEYS}
    return build(str(names[0]), parameters)


def _with_labels(watched: list[Watched]) -> list[Watched]:
    counts: dict[str, int] = {}
    labelled = []
    for one in watched:
        count = counts[one.name] = counts.get(one.name, 0) + 1
        label = f"{one.name}-{count}" if count > 1 else one.label
        labelled.append(Watched(one.rule, one.scope, label))
    return labelled


def _from_file(path: str, class_name: str) -> type[Rule]:
    module = load_file(path, kind="rule")
    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and hasattr(found, "check") and hasattr(found, "name")):
        rules = [n for n, kind in vars(module).items() if hasattr(kind, "check") and n != "Rule"]
        raise ConfigError(
            f"{path} has no rule {class_name}; a rule is a class with name, needs and check"
            f" (there are {', '.join(rules) or 'none'})"
        )
    return found
