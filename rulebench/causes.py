"""What can be wrong, and which findings name it: decided before anything is scored.

A finding names a cause by its rule and condition. ``rule`` is any condition of it,
``rule:text*`` those that match the pattern. Rules stand here that are not built yet, so that a
fault counts as missed until they are. What ``stepwatch prove`` may say of a fault stands here for
the groups of which proofs are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from stepwatch.model.finding import Finding


@dataclass(frozen=True)
class Cause:
    """A kind of fault.

    Args:
        what: It in words.
        named_by: Rules, or rules with a pattern of conditions, whose finding names it.
    """

    what: str
    named_by: tuple[str, ...]

    @property
    def rules(self) -> frozenset[str]:
        """The rules that can name it."""
        return frozenset(pattern.partition(":")[0] for pattern in self.named_by)

    def is_named_by(self, finding: Finding) -> bool:
        """Return whether a finding points at this cause."""
        text = f"{finding.rule}:{finding.condition}"
        return any(
            fnmatchcase(text, pattern if ":" in pattern else f"{pattern}:*")
            for pattern in self.named_by
        )


def _cause(what: str, *named_by: str) -> Cause:
    return Cause(what, named_by)


_SPIKES = ("loss_spike", "grad_norm_spike:spike", "grad_norm_spike:growth")
_NOT_FINITE = ("non_finite_origin", "exploding_tensor")

CAUSES = {
    # the loop
    "no_zero_grad": _cause(
        "gradients are never set to zero", "stale_gradients", "untrained_parameter:zero_grad"
    ),
    "eval_mode_in_training": _cause("trained in eval mode", "training_mode"),
    "train_mode_in_evaluation": _cause("evaluated in training mode", "training_mode"),
    "parameter_not_in_optimizer": _cause(
        "the optimizer does not hold what is trained",
        "untrained_parameter:not_in_optimizer",
        "untrained_parameter:not_in_model",
    ),
    "layer_not_registered": _cause("layers in a plain list", "untrained_parameter"),
    "frozen_by_accident": _cause("layers left frozen", "untrained_parameter:frozen*"),
    "detached_graph": _cause(
        "the graph is cut before parameters", "untrained_parameter:no_gradient"
    ),
    "zeroed_before_step": _cause(
        "gradients are zeroed between backward and step",
        "untrained_parameter",
        "stale_gradients",
        "all_zero",
    ),
    "in_two_optimizers": _cause("held by two optimizers", "untrained_parameter:in_two_groups"),
    "accumulation_scale": _cause("accumulated, not averaged", "grad_accumulation_scale"),
    "accumulation_lost": _cause(
        "zeroed between micro-batches", "grad_accumulation_scale", "stale_gradients"
    ),
    "token_weight": _cause(
        "means of unequal micro-batches count alike", "grad_accumulation_scale:token_weight"
    ),
    "graph_kept": _cause("graphs of all steps are kept", "memory_growth"),
    "optimizer_state_reset": _cause("the optimizer forgets its state", "stale_optimizer_state"),
    "ema_swapped": _cause("averaged weights replace those in training", "weights_moved"),
    # the learning rate
    "scheduler_too_often": _cause("the schedule runs too fast", "learning_rate_anomaly"),
    "scheduler_never_stepped": _cause("the schedule stands still", "learning_rate_anomaly"),
    "schedule_too_short": _cause("the schedule turns around", "learning_rate_anomaly"),
    "learning_rate_jump": _cause("the learning rate jumps", "learning_rate_anomaly"),
    "learning_rate_zero": _cause(
        "a learning rate of zero",
        "learning_rate_anomaly",
        "untrained_parameter:unchanged",
        "step_size:too_small",
    ),
    "learning_rate_too_high": _cause(
        "steps too large",
        "weight_update_ratio",
        "learning_rate_anomaly",
        "chance_level",
        "loss_not_decreasing",
        *_SPIKES,
        *_NOT_FINITE,
        "step_size:too_large",
        "step_size:diverged",
    ),
    "learning_rate_too_low": _cause(
        "steps too small",
        "weight_update_ratio",
        "learning_rate_anomaly",
        "loss_not_decreasing",
        "untrained_parameter:unchanged",
        "step_size:too_small",
    ),
    "clip_too_tight": _cause(
        "clipping sets the step size", "grad_norm_spike:clip*", "step_size:too_small"
    ),
    "momentum_too_high": _cause(
        "momentum overshoots",
        "weight_update_ratio",
        "loss_not_decreasing",
        *_SPIKES,
        "step_size:too_large",
        "step_size:diverged",
    ),
    "weight_decay_too_high": _cause(
        "decay outweighs the loss",
        "weight_update_ratio",
        "weight_decay",
        "chance_level",
        "step_size:decay",
    ),
    "adam_epsilon": _cause(
        "epsilon outweighs the second moment",
        "weight_update_ratio",
        "stale_optimizer_state",
        "step_size:too_small",
    ),
    "second_moment_lags": _cause(
        "the second moment is too old", "stale_optimizer_state", "loss_spike"
    ),
    # the loss
    "softmax_wrong_axis": _cause(
        "probabilities over the wrong axis", "loss_input", "chance_level", "dependence:samples"
    ),
    "probabilities_as_logits": _cause("probabilities given as logits", "loss_input"),
    "logits_as_log_probabilities": _cause("logits given as log-probabilities", "loss_input"),
    "relu_on_logits": _cause("logits cut at zero", "loss_input", "dead_relu", "all_zero"),
    "target_broadcast": _cause("targets broadcast against outputs", "loss_input"),
    "loss_sign": _cause(
        "the loss is maximized",
        "chance_level",
        "loss_not_decreasing",
        "loss_input",
        "loss_direction",
    ),
    "loss_reduction": _cause(
        "a sum where the mean was meant",
        "loss_input",
        "chance_level",
        "grad_accumulation_scale",
        "step_size:too_large",
        "step_size:diverged",
    ),
    "wrong_loss": _cause("a loss that does not fit the targets", "loss_input"),
    "output_range": _cause(
        "outputs cannot reach the targets", "loss_input", "saturated_activation"
    ),
    "wrong_dim_mean": _cause(
        "averaged over the batch", "loss_input", "chance_level", "dependence:samples"
    ),
    # the data
    "labels_wrong": _cause(
        "labels belong to other samples",
        "chance_level",
        "confusion",
        "dependence:order",
        "dependence:ahead",
        "supervision:shifted_by*",
    ),
    "labels_constant": _cause(
        "one label for all", "class_imbalance", "label_leak", "repeated_data:one_class"
    ),
    "class_imbalance": _cause("nearly all of one class", "class_imbalance", "confusion"),
    "data_corrupted": _cause("samples change from epoch to epoch", "input_drift"),
    "same_batch": _cause("the same batch every time", "repeated_data", "overfit"),
    "sorted_data": _cause(
        "classes one after the other",
        "class_imbalance",
        "confusion",
        "repeated_data:class_by_class",
    ),
    "bad_batch": _cause("one batch is broken", *_SPIKES),
    "not_normalized": _cause(
        "inputs far from unit size",
        "check_input_images",
        "input_scale",
        "poor_weight_initialization",
    ),
    "label_leak": _cause(
        "the answer is among the inputs", "label_leak", "supervision:copies_input*"
    ),
    "overfit": _cause("training data learnt by heart", "overfit", "overtraining"),
    "data_stall": _cause("waits for data", "data_stall"),
    # numbers
    "non_finite": _cause("nan or infinity is made", *_NOT_FINITE),
    "low_precision": _cause(
        "too few bits",
        "low_precision_loss",
        "untrained_parameter:unchanged",
        "untrained_parameter:rounded_away",
        *_NOT_FINITE,
    ),
    "scaler_skips": _cause("every step is skipped", "low_precision_loss", *_NOT_FINITE),
    "bit_flip": _cause(
        "a bit flipped in memory", "weights_moved", "stale_optimizer_state", *_SPIKES, *_NOT_FINITE
    ),
    # layers
    "bad_initialization": _cause(
        "weights start at a bad size",
        "poor_weight_initialization",
        "tensor_variance",
        "all_zero",
        "chance_level",
        "vanishing_gradient",
        "initial_state",
    ),
    "dead_relu": _cause(
        "units that never fire", "dead_relu", "all_zero:*relu*", "all_zero:output*"
    ),
    "saturated": _cause(
        "activations at their ends",
        "saturated_activation",
        "vanishing_gradient",
        "initial_state:saturated*",
    ),
    "vanishing_gradient": _cause("gradients fade on the way", "vanishing_gradient"),
    "exploding_gradient": _cause(
        "gradients grow on the way", "grad_norm_spike", "weight_update_ratio", *_NOT_FINITE
    ),
    "batch_norm_batch": _cause("statistics of too few samples", "overfit", "training_mode"),
    "dropout_too_high": _cause("too much is dropped", "all_zero", "dead_relu", "training_mode"),
    # transformers
    "future_seen": _cause(
        "the model sees what it is to predict", "label_leak", "dependence:future"
    ),
    "attention_logits": _cause("attention too sharp", "attention_instability"),
    "attention_wrong": _cause(
        "attention mixes what it should not",
        "attention_instability",
        "dependence:samples",
        "dependence:future",
        "dependence:blind",
    ),
    "no_positions": _cause(
        "no positions", "untrained_parameter:no_gradient", "embedding_drift:one_row*"
    ),
    "normalization_wrong": _cause(
        "layers are not normalized", "activation_outlier", "vanishing_gradient", *_SPIKES
    ),
    "residual_missing": _cause("no residual connection", "vanishing_gradient"),
    "tie_broken": _cause("tied weights are copies", "untrained_parameter", "initial_state:copied*"),
    "evaluation_shifted": _cause("evaluated otherwise than trained", "overfit", "training_mode"),
    "embedding_drift": _cause(
        "embeddings run away", "embedding_drift", "weight_update_ratio", "learning_rate_anomaly"
    ),
    "router_collapse": _cause("experts that nobody asks", "router_collapse"),
    "logit_drift": _cause("logits drift away", "output_logit_drift"),
    # other trainings
    "gan_collapse": _cause("the discriminator wins", "vanishing_gradient", "gan_collapse"),
    "rl_collapse": _cause(
        "nothing left to learn from", "rl_collapse", "rl_update:no_signal", "zero_gradients"
    ),
    "policy_objective": _cause("the objective of a policy is turned", "rl_update:wrong_direction"),
    "old_log_probs": _cause(
        "old log-probabilities are of another policy or action",
        "rl_update:stale_log_probs",
        "rl_update:never_off",
        "rl_update:clipped",
    ),
    "advantages_wrong": _cause(
        "advantages belong to nothing, or are not centred",
        "rl_update:constant_advantage",
        "rl_update:one_sign",
        "rl_update:no_signal",
    ),
    "value_unused": _cause(
        "values are not trained", "rl_update:unlearnt_value", "untrained_parameter", "chance_level"
    ),
    "too_many_updates": _cause(
        "too many updates by what was collected once", "rl_update:clipped", "rl_collapse"
    ),
    "target_network": _cause(
        "the target network does not follow, or is the network",
        "rl_update:frozen_target",
        "rl_update:copied_target",
        "rl_update:through_target",
    ),
    "one_transition": _cause(
        "one transition again and again", "rl_update:one_transition", "repeated_data"
    ),
    "values_grow": _cause(
        "values follow themselves", "rl_update:unbounded", *_NOT_FINITE, "step_size:diverged"
    ),
    "posterior_collapse": _cause("the code says nothing", "posterior_collapse"),
    # several processes
    "unsynced_replicas": _cause("replicas differ", "replica_divergence"),
    "same_data": _cause("all replicas see the same data", "replica_divergence"),
    "rank_corrupted": _cause("one replica is corrupted", "replica_divergence"),
    "straggler": _cause("one process is slow", "straggler", "data_stall"),
}


# What is too large or too small is shown so by less or more of it. Where numbers leave their range,
# the values that do so, or a wider range, are what is wrong.
_VALUES = ("rows", "batch", "inputs", "precision")

#: Which causes of ``formats.proofs.Proof`` are right for which fault; any other is a wrong proof,
#: and so is any of a fault that does not stand here.
PROVED_BY: dict[str, tuple[str, ...]] = {
    # the learning rate
    "scheduler_too_often": ("schedule", "pace"),
    "scheduler_never_stepped": ("schedule", "pace"),
    "schedule_too_short": ("schedule", "pace"),
    "learning_rate_jump": ("schedule", "rate"),
    "learning_rate_zero": ("no_rate",),
    "learning_rate_too_high": ("rate",),
    "learning_rate_too_low": ("pace",),
    "clip_too_tight": ("clipping",),
    "momentum_too_high": ("momentum", "rate"),  # it multiplies the rate, which is too high as well
    "weight_decay_too_high": ("weight_decay",),
    "adam_epsilon": ("epsilon",),
    "second_moment_lags": ("rate", "gradients", "batches"),
    # the data
    "labels_wrong": ("pairing", "data"),
    "labels_constant": ("data",),
    "class_imbalance": ("data",),
    "sorted_data": ("order",),
    "same_batch": ("few_rows",),
    "overfit": ("few_rows", "data"),  # of labels without a rule
    "label_leak": ("column", "data", "shared"),
    "data_corrupted": ("batches", "inputs", "rows", "batch", "data"),
    "bad_batch": ("rows", "batch", "inputs"),
    "not_normalized": ("inputs",),
    # numbers
    "non_finite": (*_VALUES, "domain"),
    "low_precision": ("precision",),
    "scaler_skips": _VALUES,
    # one number in memory, also where it is seen as a gradient
    "bit_flip": ("memory",),
}
