"""Rules evaluate steps and yield findings; a ``Watch`` gives them the steps.

The names below are all that a rule of your own, or a program around rules, needs.
"""

from __future__ import annotations

from ..judge.declaration import parameter
from ..judge.engine import RuleStatus, Watch, watch
from ..judge.parameters import build, parse_rules
from ..judge.rule import Findings, Rule, Scope, Selection, Watched
from ..judge.step_view import StepView, TensorGroup, TensorView
from ..model.finding import SEVERITIES, Finding

#: What ``stepwatch run`` watches for unless other rules are requested, with thresholds at which a
#: healthy run, however small, stays silent; in the order in which they judge.
DEFAULT_RULES = (
    "vanishing_gradient:relative_to=largest,relative_threshold=1e-7,consecutive=10"
    # the bias before a normalization and that of attention's keys have no gradient by nature
    ",exclude_regex=bias",
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
    # to evaluate on what was trained on is common, and no leak
    "label_leak:max_overlap=1",
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
    "Watch",
    "Watched",
    "build",
    "parameter",
    "parse_rules",
    "watch",
]
