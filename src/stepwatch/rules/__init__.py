"""Rules look at steps and yield findings; a watch shows them the steps.

The names below are all that a rule of your own, or a program around rules, needs.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ..judge.declaration import parameter
from ..judge.engine import RuleStatus, Watch, watch
from ..judge.parameters import build, parse_rules
from ..judge.rule import Findings, Rule, Scope, Selection, View, Watched
from ..judge.step_view import StepView, TensorGroup, TensorView
from ..model.finding import SEVERITIES, Finding

#: Rules of the default set in the order in which they judge; those that are not named come last.
_ORDER = (
    "vanishing_gradient", "grad_norm_spike", "gradient_clipping", "exploding_tensor",
    "non_finite_origin", "all_zero", "untrained_parameter", "loss_not_decreasing", "loss_spike",
    "overfit", "training_mode", "grad_accumulation_scale", "loss_input", "loss_direction",
    "chance_level", "step_size", "learning_rate_anomaly", "weights_moved",
    "stale_optimizer_state", "low_precision_loss", "repeated_data", "input_drift", "input_scale",
    "label_leak", "attention_instability", "output_logit_drift", "embedding_drift",
    "router_collapse", "replica_divergence", "dependence", "initial_state", "memory_growth",
    "gan_collapse", "rl_collapse", "data_stall", "straggler",
)  # fmt: skip

DEFAULT_RULES: tuple[str, ...]


@cache
def default_rules() -> tuple[str, ...]:
    """Return the specs of what ``stepwatch run`` watches for unless other rules are requested.

    They are all built-in rules with a ``default_spec``, with thresholds at which a healthy run,
    however small, stays silent. ``DEFAULT_RULES`` is the same.
    """
    modules = [import_module(f"{__name__}.{one.name}") for one in iter_modules(__path__)]
    kinds = {
        kind.name: kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Rule) and kind.default_spec is not None
    }
    names = sorted(kinds, key=lambda name: (name not in _ORDER, [*_ORDER, name].index(name)))
    return tuple(f"{name}:{kinds[name].default_spec}".rstrip(":") for name in names)


def __getattr__(name: str) -> object:
    if name == "DEFAULT_RULES":  # it takes all rules to know it
        return default_rules()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "DEFAULT_RULES",
    "SEVERITIES",
    "Finding",
    "Findings",
    "Rule",
    "RuleStatus",
    "Scope",
    "Selection",
    "StepView",
    "TensorGroup",
    "TensorView",
    "View",
    "Watch",
    "Watched",
    "build",
    "default_rules",
    "parameter",
    "parse_rules",
    "watch",
]
