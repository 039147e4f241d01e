"""What trainings by rewards log: the names of it, in one table, and the rule on what it shows."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..judge.declaration import compiled, parameter
from ..judge.rule import Findings, NotApplicable, Rule
from ..judge.step_view import StepView, TensorView
from ..model.finding import Finding
from ..numerics.measures import number
from .history import FirstValues, Series
from .shared import in_a_row


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that trainings by rewards log.

    Args:
        what: What it is.
        regex: Finds itself in its names; case does not matter.
        names: Such names: of TRL, verl, CleanRL and Stable-Baselines3.
        others: Names that are something else.
    """

    what: str
    regex: str
    names: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


#: All names that the rules know.
QUANTITIES: Mapping[str, Quantity] = {
    "entropy": Quantity(
        "The entropy of the policy.",
        r"(?<!cross_)(?<!attention_)entropy(?!.*(loss|coef|bonus))",
        ("entropy", "policy/entropy_avg", "objective/entropy", "actor/entropy", "losses/entropy"),
        ("train/entropy_loss", "ent_coef", "cross_entropy", "actor/entropy_coeff"),
    ),
    "reward": Quantity(
        "The mean reward.",
        r"(reward|return|ep_rew|(objective|critic)/scores?(/mean)?$)"
        r"(?!.*(std|var|max|min|margin|coef|scale|chosen|rejected|accurac|zero|_time))",
        ("reward", "objective/rlhf_reward", "objective/scores", "critic/score/mean",
         "critic/rewards/mean", "charts/episodic_return", "rollout/ep_rew_mean"),
        ("reward_std", "frac_reward_zero_std", "rewards/chosen", "rewards/margins",
         "critic/rewards/max"),
    ),
    "reward_std": Quantity(
        "Of the spread of rewards, within a group or a batch.",
        r"reward(?!.*zero).*(std|var)",
        ("reward_std", "rewards/correctness/std"),
        ("frac_reward_zero_std",),
    ),
    "zero_groups": Quantity(
        "The share of groups whose rewards are all the same.",
        r"(frac|share).*zero_std|zero_std_(frac|share|ratio)",
        ("frac_reward_zero_std",),
        ("reward_std",),
    ),
    "mismatch": Quantity(
        "The mismatch of trainer and rollout.",
        r"(^|[/_])k3(_kl)?($|[/_])|mismatch(?!.*logp)",
        ("rollout_corr/k3_kl", "k3", "mismatch_kl"),
        ("sampling/sampling_logp_difference/mean",),
    ),
    "logp_difference": Quantity(
        "The mean difference of their log-probabilities, in magnitude.",
        r"sampling_logp_difference/mean$|logp_(abs_)?diff(erence)?(_mean|/mean)?$",
        ("sampling/sampling_logp_difference/mean",),
        ("sampling/sampling_logp_difference/max",),
    ),
    "ratio": Quantity(
        "The mean ratio of the probabilities of trainer and rollout, or of new and old policy.",
        r"importance_sampling_ratio/mean$|rollout_is_mean$|(^|/)val/ratio$"
        r"|(^|[/_])(importance|is|prob)_ratio(_mean|/mean)?$",
        ("sampling/importance_sampling_ratio/mean", "rollout_corr/rollout_is_mean", "val/ratio"),
        ("sampling/importance_sampling_ratio/min", "clip_ratio/region_mean", "val/ratio_var"),
    ),
    "kl": Quantity(
        "The divergence from the policy before the update, or from that of reference.",
        r"(?<!k3_)(?<!mismatch_)(?<![a-z])(approx_?|ppo_|reference_|ref_)?kl"
        r"(_div(ergence)?)?(_avg|_mean|/mean|_v\d)?$",
        ("kl", "objective/kl", "policy/approxkl_avg", "actor/ppo_kl", "losses/approx_kl",
         "train/approx_kl"),
        ("kl_coef", "rollout_corr/k3_kl", "actor/kl_loss", "target_kl_coef"),
    ),
    "clipped": Quantity(
        "The share of ratios that are clipped.",
        r"(?<!vf_)(?<!val/)clip_?frac(tion)?(_avg|_mean)?$|(^|/)clip_ratio(/region_mean)?$",
        ("clip_ratio", "clip_ratio/region_mean", "policy/clipfrac_avg", "actor/pg_clipfrac",
         "losses/clipfrac", "train/clip_fraction"),
        ("clip_ratio/low_min", "val/clipfrac_avg", "completions/clipped_ratio",
         "critic/vf_clipfrac"),
    ),
    "explained_variance": Quantity(
        "The share of the returns' variance that the values explain.",
        r"explained_var",
        ("losses/explained_variance", "train/explained_variance", "critic/vf_explained_var"),
    ),
    "length": Quantity(
        "The mean length of episodes or completions.",
        r"completions?/mean_length$|completion_length(_mean)?$|response_length/mean$|ep_len_mean$"
        r"|episod(ic|e)_length$",
        ("completions/mean_length", "response_length/mean", "rollout/ep_len_mean",
         "charts/episodic_length"),
        ("completions/max_length", "response_length/clip_ratio"),
    ),
    "exploration": Quantity(
        "The share of actions that are drawn at random.",
        r"exploration_(rate|prob)|(^|[/_])epsilon$",
        ("rollout/exploration_rate", "charts/epsilon"),
        ("adam_epsilon_decay",),
    ),
}  # fmt: skip

#: The squares of log-probabilities' differences are twice the estimator k3, where they are small.
_K3_TO_DIFFERENCE = 2.0
#: A ratio of probabilities may be so far from 1 on the mean.
_MOST_RATIO = 0.3
#: Nats: the divergence of one update, or of all of them, beyond which it ran away if it jumped.
_LARGE_KL, _KL_JUMP = 1.0, 10.0
#: So many are clipped where the policy is not the one that acted.
_CLIPPED = 0.8
#: Of groups so many have no spread of rewards.
_ZERO_GROUPS = 0.99
#: What was gained is lost where no more than this share is left, for so many blocks of looks.
_LOST, _BLOCKS = 0.2, 4


class RlCollapse(Rule):
    """Reinforcement learning that has nothing left to learn from, or that runs away.

    It judges scalars that the script logs, by their name, and of ``entropy`` what its losses are
    made of. ``entropy``: the entropy of the policy fell below ``min_entropy`` of what it was at
    first; where a reward is logged, or returns are targets of a value function, only if these did
    not rise meanwhile, because a policy that has learnt what to do is sure of it. ``mismatch``: the
    mean of ``exp(d) - d - 1``, where d is the difference between the log-probabilities of trainer
    and rollout, is above ``max_mismatch`` (the estimator k3 of Schulman: Approximating KL
    divergence, 2020), or their ratio is far from 1. ``reward``: rewards no longer vary, so no
    action is better than another. ``kl``: the divergence jumped. ``clipped``: nearly all ratios
    are. ``fell``: the reward lost what it had gained. ``explained_variance``: values are worse than
    a constant. ``hacking``: the reward rises while entropy and length run away.
    """

    name = "rl_collapse"
    # of no collection: where nothing is logged the reason is that, and not a collection
    needs = ()
    training_only = True
    per_model = True
    sign = "outcome"
    lacks = NotApplicable("no entropy of a policy, mismatch or spread of rewards was logged")

    entropy_regex: str = parameter(
        QUANTITIES["entropy"].regex, "Finds itself in the name of the policy's entropy."
    )
    reward_regex: str = parameter(QUANTITIES["reward"].regex, "The mean reward.")
    reward_std_regex: str = parameter(
        QUANTITIES["reward_std"].regex, "Of the spread of rewards, within a group or a batch."
    )
    mismatch_regex: str = parameter(
        QUANTITIES["mismatch"].regex, "The mismatch. Case does not matter in all four."
    )
    min_entropy: float = parameter(0.2, "A fraction of the entropy at first.", between=(0, 1))
    max_mismatch: float = parameter(0.01, "The largest mismatch that is tolerated.", above=0)
    consecutive: int = parameter(10, "Looks in a row.", at_least=1)
    warmup: int = parameter(
        20, "Looks of which the median is what a number was at first.", at_least=1
    )
    only_with_reward: bool = parameter(
        False, "Judge nothing before a reward was logged: a classifier may have an entropy, too."
    )

    def begin(self) -> None:
        regexes = {name: one.regex for name, one in QUANTITIES.items()}
        regexes |= {
            "entropy": self.entropy_regex,
            "reward": self.reward_regex,
            "reward_std": self.reward_std_regex,
            "mismatch": self.mismatch_regex,
        }
        for what in ("entropy", "reward", "reward_std", "mismatch"):
            compiled(f"{what}_regex", regexes[what])
        self._regexes = {what: re.compile(one, re.IGNORECASE) for what, one in regexes.items()}
        self._kinds: dict[str, str] = {}
        self._first = FirstValues(self.warmup)
        self._rewards: dict[str, Trend] = {}
        self._returns: dict[str, Trend] = {}
        self._entropies: dict[str, Trend] = {}
        self._lengths: dict[str, Trend] = {}
        self._last_values: Series[tuple[str, str], float] = Series(3 * self.warmup)
        self._has_policy: set[str] = set()

    def concerns(self, step: StepView) -> bool:
        return any(True for _ in self._quantities(step)) or any(
            tensor.name in ("policy/entropy", "value/target") for tensor in step.tensors("policy")
        )

    def check(self, step: StepView) -> Findings:
        found = list(self._quantities(step))
        trends = {"reward": self._rewards, "length": self._lengths, "entropy": self._entropies}
        for what, tensor in found:
            if what in trends:
                known = trends[what].setdefault(tensor.worker, Trend(self.warmup))
                known.add(tensor.name, tensor.statistics.mean)
        yield from self._evaluate_policy(step)
        for what, tensor in found:
            if self._may_judge(tensor.worker):
                yield from self._evaluate(what, step, tensor)

    def _may_judge(self, worker: str) -> bool:
        return worker in self._rewards or not self.only_with_reward

    def _quantities(self, step: StepView) -> Iterator[tuple[str, TensorView]]:
        for tensor in step.tensors("scalars", "metrics"):
            what = self._kinds.get(tensor.name)
            if what is None:
                what = self._kinds[tensor.name] = self._kind(tensor.name)
            if what:
                yield what, tensor

    def _kind(self, name: str) -> str:
        """Return which quantity a name stands for; ``""`` for none."""
        logged = name.partition("/")[2] or name
        return next((what for what, regex in self._regexes.items() if regex.search(logged)), "")

    def _evaluate(self, what: str, step: StepView, tensor: TensorView) -> Findings:
        now, key = tensor.statistics.mean, (tensor.worker, tensor.name)
        is_known = tensor.worker in self._rewards
        if what == "entropy":
            yield from self._evaluate_entropy(step, tensor, self._rewards.get(tensor.worker))
        elif what == "mismatch":
            yield from self._evaluate_mismatch(step, tensor, self.max_mismatch)
        elif what == "logp_difference":
            limit = math.sqrt(_K3_TO_DIFFERENCE * self.max_mismatch)
            yield from self._evaluate_mismatch(step, tensor, limit)
        elif what == "ratio":
            yield from self._evaluate_ratio(step, tensor, now)
        elif what == "reward_std":
            yield from self._evaluate_spread(step, tensor)
        elif what == "zero_groups":
            yield from self._evaluate_zero_groups(step, tensor, now)
        elif what == "clipped" and is_known:
            yield from self._evaluate_clipped(step, tensor, now)
        elif what == "kl" and is_known:
            yield from self._evaluate_kl(step, tensor, now)
        elif what == "explained_variance":
            yield from self._evaluate_explained(step, tensor, now)
        elif what == "exploration" and is_known:
            self._evaluated = True
            last = self._last_values.add(key, now)
            stays = len(last) == last.maxlen and min(last) == max(last) and now >= 0.5
            if stays:
                yield self._finding(
                    step, tensor, (now, 0.5),
                    "the share of random actions does not fall: the policy hardly ever acts itself",
                    "let it decay: count the steps that the schedule is given",
                )  # fmt: skip
        elif what == "reward":
            yield from self._evaluate_reward(step, tensor)

    def _evaluate_policy(self, step: StepView) -> Findings:
        """Judge the entropy that losses show, by the returns that values are compared with."""
        for tensor in step.tensors("policy"):
            if tensor.name == "value/target":
                known = self._returns.setdefault(tensor.worker, Trend(self.warmup))
                known.add(tensor.name, tensor.statistics.mean)
            elif tensor.name == "policy/ratio":
                self._has_policy.add(tensor.worker)
        for tensor in step.tensors("policy"):
            earned = self._rewards.get(tensor.worker) or self._returns.get(tensor.worker)
            if tensor.name == "policy/entropy" and earned is not None:
                yield from self._evaluate_entropy(step, tensor, earned)

    def _evaluate_entropy(
        self, step: StepView, tensor: TensorView, rewards: Trend | None
    ) -> Findings:
        self._evaluated = True
        now, key = tensor.statistics.mean, (tensor.worker, tensor.name)
        first = self._first.of(key, now)
        earned = rewards is not None and rewards.rose()
        holds = first > 0 and now < self.min_entropy * first and not earned
        if self.persists(key, holds):
            yield self._finding(
                step,
                tensor,
                (now, self.min_entropy * first),
                f"the entropy of the policy is {number(now)}, less than {self.min_entropy:.0%} of"
                f" the {number(first)} at first, and the reward did not rise",
                "add an entropy bonus, lower the learning rate, or keep the policy near the one"
                " that it started from",
            )

    def _evaluate_mismatch(self, step: StepView, tensor: TensorView, limit: float) -> Findings:
        self._evaluated = True
        now = tensor.statistics.mean
        if self.persists((tensor.worker, tensor.name), now > limit):
            yield self._finding(
                step,
                tensor,
                (now, limit),
                f"the policy that acts is not the one that is trained: {number(now)}"
                f" (> {number(limit)})",
                "compute both in the same precision, weigh samples by the ratio of both, or"
                " synchronize weights more often",
            )

    def _evaluate_ratio(self, step: StepView, tensor: TensorView, now: float) -> Findings:
        self._evaluated = True
        if self.persists((tensor.worker, tensor.name), abs(now - 1) > _MOST_RATIO):
            yield self._finding(
                step,
                tensor,
                (now, 1 + math.copysign(_MOST_RATIO, now - 1)),
                f"the ratio of probabilities is {number(now)} on the mean, far from 1: the policy"
                " that acts is not the one that is trained",
                "see how the old log-probabilities are computed: the same tokens, mask,"
                " temperature and precision, and weights that are synchronized",
            )

    def _evaluate_spread(self, step: StepView, tensor: TensorView) -> Findings:
        self._evaluated = True
        now = tensor.statistics.mean
        key = (tensor.worker, tensor.name)
        limit = 1e-6 * self._first.of(key, now)
        if self.persists(key, now <= limit or now == 0):
            yield self._finding(
                step,
                tensor,
                (now, 0.0 if math.isnan(limit) else limit),
                "all rewards are the same, so no action is better than another",
                "check the reward; leave out what all samples of a group solve or none does",
            )

    def _evaluate_zero_groups(self, step: StepView, tensor: TensorView, now: float) -> Findings:
        self._evaluated = True
        if self.persists((tensor.worker, tensor.name), now >= _ZERO_GROUPS):
            yield self._finding(
                step,
                tensor,
                (now, _ZERO_GROUPS),
                f"in {now:.0%} of the groups all rewards are the same, so no action is better than"
                " another",
                "check the reward; leave out what all samples of a group solve or none does",
            )

    def _evaluate_clipped(self, step: StepView, tensor: TensorView, now: float) -> Findings:
        self._evaluated = True
        if self.persists((tensor.worker, tensor.name), now > _CLIPPED):
            yield self._finding(
                step,
                tensor,
                (now, _CLIPPED),
                f"{now:.0%} of the ratios are clipped, and teach nothing",
                "lower the learning rate, or update less often on what was collected once; see"
                " how the old log-probabilities are computed",
            )

    def _evaluate_kl(self, step: StepView, tensor: TensorView, now: float) -> Findings:
        self._evaluated = True
        key = (tensor.worker, tensor.name)
        before = list(self._last_values.get(key, ()))
        usual = float(np.median(np.abs(before))) if len(before) >= self.warmup else math.inf
        has_jumped = now > _LARGE_KL and now > _KL_JUMP * usual
        if not has_jumped:
            # what is a jump is compared with what was before it
            self._last_values.add(key, now)
        if self.persists(key, has_jumped, max(3, self.consecutive // 3)):
            yield self._finding(
                step,
                tensor,
                (now, max(_LARGE_KL, _KL_JUMP * usual)),
                f"the divergence is {number(now)} nats, {number(now / max(usual, 1e-9))} times the"
                f" {number(usual)} before",
                "lower the learning rate, stop an update at a largest divergence, or weigh the"
                " divergence from the reference more",
                looks=max(3, self.consecutive // 3),
            )

    def _evaluate_explained(self, step: StepView, tensor: TensorView, now: float) -> Findings:
        self._evaluated = True
        key = (tensor.worker, tensor.name)
        last = self._last_values.add(key, now)
        num_looks = self.streak((*key, "seen"), holds=True)
        is_long = num_looks >= 5 * self.warmup and len(last) == last.maxlen
        if is_long and max(last) <= 0 and float(np.median(last)) < -0.2:
            yield self._finding(
                step,
                tensor,
                (float(np.median(last)), 0.0),
                "the values explain none of the returns: they are worse than a constant",
                "see whether the value loss reaches the optimizer, and the scale of its targets",
                looks=len(last),
            )

    def _evaluate_reward(self, step: StepView, tensor: TensorView) -> Findings:
        trend = self._rewards[tensor.worker]
        if tensor.name != trend.name or not trend.is_new:
            return
        self._evaluated = True
        lost = trend.lost()
        if lost is not None:
            first, best, now = lost
            yield self._finding(
                step,
                tensor,
                (now, first + _LOST * (best - first)),
                f"the reward rose from {number(first)} to {number(best)} and fell back to"
                f" {number(now)}",
                "go back to a checkpoint from before; lower the learning rate, bound the size of"
                " an update",
                looks=_BLOCKS * self.warmup,
                condition="fell",
            )
        entropy, length = self._entropies.get(tensor.worker), self._lengths.get(tensor.worker)
        if entropy is None or length is None or not trend.rose():
            return
        if entropy.ratio() < 0.5 and not 0.5 < length.ratio() < 2:
            yield self._finding(
                step,
                tensor,
                (trend.last(), math.nan),
                f"the reward rose while the entropy became {number(entropy.ratio())} and the"
                f" length {number(length.ratio())} times what they were: it may be earned by what"
                " nobody meant",
                "read some samples of now and of the beginning",
                looks=self.warmup,
                condition="hacking",
                severity="info",
            )

    def _finding(
        self,
        step: StepView,
        tensor: TensorView,
        numbers: tuple[float, float],
        what: str,
        remedy: str,
        *,
        looks: int = 0,
        condition: str = "",
        severity: str = "warning",
    ) -> Finding:
        looks = looks or self.consecutive
        value, threshold = (None if math.isnan(one) else one for one in numbers)
        return self.finding(
            step,
            tensor,
            f"{tensor.name}: {what}, {in_a_row(looks, 'look')} up to step {step.train_step}",
            value=value,
            threshold=threshold,
            remedy=remedy,
            condition=f"{condition} {tensor.name}" if condition else "",
            severity=severity,
        )


class Trend:
    """How a number was at first, at its best, and is now, by means of blocks of looks.

    Args:
        size: Looks in a block.
    """

    def __init__(self, size: int) -> None:
        #: The first name that came is the one that is followed.
        self.name = ""
        #: Whether a block has just ended.
        self.is_new = False
        self._first: list[float] = []
        self._recent: deque[float] = deque(maxlen=size)
        self._block: list[float] = []
        self._means: deque[tuple[float, float]] = deque(maxlen=_BLOCKS)
        self._start: tuple[float, float] | None = None
        self._best: tuple[float, float] | None = None
        self._size = size

    def add(self, name: str, value: float) -> None:
        """Remember one more; of other names than the first, nothing."""
        self.name = self.name or name
        if name != self.name or not math.isfinite(value):
            return
        if len(self._first) < self._size:
            self._first.append(value)
        self._recent.append(value)
        self._block.append(value)
        self.is_new = len(self._block) == self._size
        if self.is_new:
            block, self._block = np.array(self._block), []
            self._end(float(block.mean()), float(block.std()) / math.sqrt(self._size))

    def _end(self, mean: float, error: float) -> None:
        self._start = self._start or (mean, error)
        if self._best is None or mean > self._best[0]:
            self._best = mean, error
        self._means.append((mean, error))

    def rose(self) -> bool:
        """Return whether the last values are above the first by more than their noise."""
        first, last = np.array(self._first), np.array(self._recent)
        error = math.sqrt((float(first.var()) + float(last.var())) / self._size)
        return float(last.mean() - first.mean()) > 3 * error

    def lost(self) -> tuple[float, float, float] | None:
        """Return the first, best and last mean if nothing is left of what was gained."""
        if self._start is None or self._best is None or len(self._means) < _BLOCKS:
            return None
        (first, error), (best, of_best) = self._start, self._best
        means = np.array(self._means)
        noise = max(error, of_best, float(means[:, 1].max()))
        has_risen = best - first > 6 * noise
        now = float(means[:, 0].max())
        falls = bool((np.diff(means[:, 0]) <= means[1:, 1]).all())
        if has_risen and falls and now < first + _LOST * (best - first):
            return first, best, float(means[-1, 0])
        return None

    def ratio(self) -> float:
        """Return the mean of the last values over that of the first; 1 if that is 0."""
        first = float(np.mean(self._first))
        return float(np.mean(self._recent)) / first if first else 1.0

    def last(self) -> float:
        """Return the mean of the last values."""
        return float(np.mean(self._recent))
