"""The rule on losses of policies and values, by what their graphs hold and no script logs."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, Rule
from ..judge.step_view import StepView, TensorView
from ..model.finding import Finding
from ..numerics.measures import number
from ..numerics.statistics import Statistics
from .shared import CROSS_ENTROPIES, in_a_row

#: Returns that grow by less than this from step to step are discounted the wrong way.
DISCOUNTED = 0.9995
#: A ratio is the same as 1 up to this, in float32.
EXACT = 1e-5
#: The root mean square distance of ratios from 1 that no update of a policy leaves throughout.
FAR = 0.3
#: Looks at ratios before all of them are judged; rollouts that must have been seen.
LOOKS, _FIRSTS = 50, 5
#: Looks at advantages that all have one sign; at values before they are judged.
ONE_SIGN, VALUES = 60, 100
#: How large a batch must be for its spread to tell.
LEAST_ROWS = 8
#: Values grew out of bounds: by this factor since they were small, and by the second in each of
#: some windows in a row.
GREW, GROWS = 1000.0, 1.5
_WINDOW, _WINDOWS = 20, 3
#: A target network that is never updated is known so after so many TRAIN steps; at the end of a
#: run, after so many.
FROZEN, FROZEN_AT_END = 20_000, 300
#: It is updated at each step if so many looks found no difference.
COPIED = 30

UPDATE_REMEDIES = {
    "wrong_direction": "the loss is minus the mean of the smaller of ratio * advantage and"
    " clip(ratio) * advantage, with ratio = exp(new - old) of log-probabilities",
    "stale_log_probs": "keep the log-probabilities with which the actions were drawn, of the same"
    " actions, in the same order, and without dropout",
    "never_off": "keep the log-probabilities of when the actions were drawn; do not compute them"
    " anew at each update",
    "clipped": "lower the learning rate, or update less often on what was collected once; see how"
    " the old log-probabilities are computed",
    "no_signal": "check the reward: within a group, or a batch, it must differ",
    "constant_advantage": "compute an advantage for each action, and see along which axis they"
    " are normalized",
    "reversed_returns": "put the returns back into the order of the actions: returns.insert(0, R),"
    " or reverse the list once it is complete",
    "past_rewards": "add up from the last step to the first: for r in reversed(rewards), and put"
    " the returns back into the order of the actions",
    "one_sign": "subtract what is usual: the value of the state, or the mean of the group",
    "through_target": "compute the target under torch.no_grad(), or detach() it",
    "frozen_target": "copy the weights into the target network every some hundred updates, or"
    " average them in at each",
    "copied_target": "copy the weights into the target network less often, or average them in:"
    " tau of 0.005",
    "same_states": "copy a state when it is stored, as by state.copy(), or let step() return a new"
    " array",
    "past_the_end": "leave the next value out where an episode has ended: target = reward + gamma *"
    " (1 - done) * next_value; of one that was cut off (truncated) keep it",
    "no_bootstrap": "see what the value of the next state is multiplied by: target = reward + gamma"
    " * (1 - done) * next_value, and a mask of 1 where the episode goes on",
    "one_transition": "see what is drawn from the replay buffer: its size, and the indices",
    "unbounded": "bootstrap from a target network, not past the end of an episode, and with a"
    " discount below 1; lower the learning rate",
    "unlearnt_value": "see whether the value loss reaches the optimizer, its weight, and the scale"
    " of the returns",
}


@dataclass(slots=True)
class _Loop:
    """What was seen of the updates of one worker."""

    offset: int = -1
    mode_step: int = -1
    num_looks: int = 0
    # Of steps that follow the last look: how often a model ran without gradients between.
    gaps: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=100))
    # Ratios' distances from 1, and whether actions were drawn since the look before.
    looks: deque[tuple[float, bool]] = field(default_factory=lambda: deque(maxlen=400))
    signal: bool = False
    samples: set[int] = field(default_factory=set)
    sampled_at: int = -1
    reused: int = 0


@dataclass(slots=True)
class _Values:
    """What was seen of values and their targets."""

    num_looks: int = 0
    first: list[float] = field(default_factory=list)
    window: list[float] = field(default_factory=list)
    medians: list[float] = field(default_factory=list)
    bias: list[tuple[float, float, float]] = field(default_factory=list)


@dataclass(slots=True)
class _Target:
    """What was seen of a target network."""

    since: int
    looks: int = 0
    moved: bool = False
    apart: bool = False
    distance: float = 0.0
    mode_step: int = 0
    step: int = 0


class RlUpdate(Rule):
    """Losses of policies and values that are put together wrongly.

    It judges what the graph of a loss shows, and nothing that is logged. Of the clipped objective
    of PPO and GRPO: ``wrong_direction``, where the larger of both is taken, or the sign of the loss
    is wrong; ``stale_log_probs``, where the ratio is far from 1 at the first update after actions
    were drawn, or at all; ``never_off``, where it is exactly 1 though samples are used repeatedly;
    ``clipped``, where nearly all are. Of advantages: ``no_signal``, where they were never other
    than 0; ``constant_advantage``; ``one_sign``. Of returns: ``reversed_returns``, which stand in
    the reverse order of the actions; ``past_rewards``, which add up what came before, as variables
    of the script show. Of values: ``unlearnt_value``, far from their
    targets for long; ``unbounded``, which grow without end. Of the values of actions:
    ``through_target``, whose target has a gradient, too; ``frozen_target`` and ``copied_target``,
    whose target network is never updated, or at each step; ``one_transition``, of a batch of one;
    ``same_states``, which are the same before and after the actions; ``past_the_end``, whose
    targets go on where an episode has ended, by their numbers, or as the function that forms them
    never reads the ends that it is given.
    """

    name = "rl_update"
    needs = ("policy",)
    training_only = True
    per_model = True
    sign = "loss_input"
    lacks = NotApplicable("no loss is one of a policy, or of the values of actions")

    consecutive: int = parameter(10, "Looks in a row.", at_least=2)
    max_clipped: float = parameter(0.8, "The largest share of clipped ratios.", between=(0, 1))
    max_distance: float = parameter(
        0.05,
        "Root mean square of ratio - 1 at the first update after actions were drawn.",
        above=0,
    )
    target_steps: int = parameter(
        FROZEN, "TRAIN steps within which a target network is to be updated.", at_least=1
    )

    def begin(self) -> None:
        self._loops: dict[str, _Loop] = {}
        self._values: dict[str, _Values] = {}
        self._targets: dict[tuple[str, str], _Target] = {}
        # By which evidence returns of a worker were found not to be those of their actions.
        self._told_order: dict[str, str] = {}

    def check(self, step: StepView) -> Findings:
        for worker in step.workers:
            seen = {tensor.name: tensor for tensor in step.tensors("policy", worker=worker)}
            loop = self._loops.setdefault(worker, _Loop())
            ratio, clipped = seen.get("policy/ratio"), seen.get("policy/clipped")
            if ratio is not None:
                self._evaluated = True
                yield from self._direction(step, seen.get("policy/is_minimized"))
                yield from self._ratio(step, ratio, loop)
                if clipped is not None:
                    yield from self._clipped(step, clipped)
            if "value/ignores_ends" in seen:
                yield from self._ends(step, seen["value/ignores_ends"])
            if "policy/return_growth" in seen:
                yield from self._order(step, seen["policy/return_growth"])
            advantage = seen.get("policy/advantage") or seen.get("policy/weight")
            if advantage is not None:
                yield from self._advantage(step, advantage, loop)
            if "value/target" in seen:
                yield from self._value(step, seen)
            for name, tensor in seen.items():
                if name.startswith("value/moved/"):
                    yield from self._target(step, name.removeprefix("value/moved/"), tensor)
                elif name == "value/bootstraps":
                    yield from self._bootstraps(step, tensor)
                elif name.startswith("value/same_states/"):
                    yield from self._states(step, tensor)
                elif name.startswith("value/unread_ends/"):
                    yield from self._left_out(step, tensor, _unread(*name.split("/")[-2:]))
                elif name.startswith("value/cut_offs/"):
                    yield from self._left_out(step, tensor, _cut_off(name.rpartition("/")[2]))
                elif name.startswith("value/unstored_ends/"):
                    yield from self._left_out(step, tensor, _unstored(name.rpartition("/")[2]))
                elif name.startswith("policy/sign/"):
                    yield from self._sign(step, tensor)
                elif name.startswith(("policy/forward_returns/", "policy/reversed_returns/")):
                    yield from self._script_returns(step, tensor)

    def finish(self) -> Findings:
        """Yield target networks that the run never updated."""
        for (worker, copy), target in self._targets.items():
            steps = target.mode_step - target.since
            if not target.moved and target.apart and FROZEN_AT_END <= steps < self.target_steps:
                yield self._frozen(target.step, worker, copy, target)

    # The policy

    def _direction(self, step: StepView, tensor: TensorView | None) -> Findings:
        if tensor is None:
            return
        key = tensor.worker, "wrong_direction"
        if self.persists(key, tensor.scalar == 0, 3):
            yield self._finding(
                step,
                tensor,
                "wrong_direction",
                "the loss falls where actions with a positive advantage become less likely, takes"
                " the larger of the clipped and the plain objective, or the ratio of old to new"
                " probabilities",
                severity="error",
            )

    def _states(self, step: StepView, tensor: TensorView) -> Findings:
        """Judge states before and after actions."""
        self._evaluated = True
        if self.persists((tensor.worker, "same_states"), tensor.scalar == 1):
            after, before = tensor.name.split("/")[-2:]
            yield self._finding(
                step,
                tensor,
                "same_states",
                f"{after}, the states after the actions, are bit for bit those of {before}, before"
                f" them, {in_a_row(self.consecutive, 'look')}: what is stored is one array that the"
                " environment changes",
            )

    def _ends(self, step: StepView, tensor: TensorView) -> Findings:
        """Judge targets of the actions that ended an episode."""
        self._evaluated = True
        if self.persists((tensor.worker, "past_the_end"), tensor.scalar == 1, 5):
            yield self._finding(
                step,
                tensor,
                "past_the_end",
                "where an episode has ended, targets of equal rewards differ, 5 looks in a row:"
                " they go on with the value of a next state that there is not",
            )

    def _bootstraps(self, step: StepView, tensor: TensorView) -> Findings:
        """Judge targets that are the rewards alone, though next states are there."""
        self._evaluated = True
        if self.persists((tensor.worker, "no_bootstrap"), tensor.scalar == 0):
            yield self._finding(
                step,
                tensor,
                "no_bootstrap",
                "the targets of all values are the rewards alone, bit for bit,"
                f" {in_a_row(self.consecutive, 'look')}: what comes next counts nothing, though the"
                " script has next states and a discount",
            )

    def _left_out(self, step: StepView, tensor: TensorView, said: str) -> Findings:
        """Judge a script that does not use which episodes have ended."""
        self._evaluated = True
        if self.persists((tensor.worker, tensor.name), True, 2):
            yield self._finding(step, tensor, "past_the_end", said)

    def _sign(self, step: StepView, tensor: TensorView) -> Findings:
        """Judge by which sign a loss holds log-probabilities times what is to be large."""
        name = tensor.name.rpartition("/")[2]
        self._evaluated = True
        if self.persists((tensor.worker, tensor.name), tensor.scalar > 0):
            yield self._finding(
                step,
                tensor,
                "wrong_direction",
                f"the loss is the log-probability of each action times {name}, and not minus that:"
                f" the lower it gets, the less likely are actions with a high {name},"
                f" {in_a_row(self.consecutive, 'look')}",
                value=1.0,
                remedy=f"minimize minus the mean of log-probability times {name}; if {name} holds"
                " costs, call it so",
            )

    def _order(self, step: StepView, tensor: TensorView) -> Findings:
        """Judge the order of returns; see ``hooks.torch.collectors.policy.growth_of_returns``."""
        self._evaluated = True
        growth = tensor.scalar
        is_wrong = self.persists((tensor.worker, "growth"), 0 < growth < DISCOUNTED, 5)
        if is_wrong and self._is_first_of_order(tensor, "growth"):
            yield self._finding(
                step,
                tensor,
                "reversed_returns",
                f"within an episode each return is {number(growth)} times the one before and a"
                " constant, at 5 looks in a row: in the order of the actions it would be times"
                " 1 / gamma, so the last action has the return of the first",
                value=growth,
                threshold=DISCOUNTED,
            )

    def _script_returns(self, step: StepView, tensor: TensorView) -> Findings:
        """Judge returns that the script adds up; see ``hooks.script.returns_of_script``."""
        self._evaluated = True
        kind, rewards, returns = tensor.name.split("/")[1:]
        condition, what = {
            "forward_returns": (
                "past_rewards",
                f"each element of {returns} is made of that of {rewards} and"
                f" {number(tensor.scalar)} times the one before it, 3 looks in a row: returns add"
                " up past rewards, and not those to come",
            ),
            "reversed_returns": (
                "reversed_returns",
                f"{returns} is made of {rewards} from the last step on, and stays in that order, 3"
                " looks in a row: the first action has the return of the last",
            ),
        }[kind]
        is_wrong = self.persists((tensor.worker, condition, kind), True, 3)
        if is_wrong and self._is_first_of_order(tensor, kind):
            yield self._finding(step, tensor, condition, what, value=tensor.scalar, threshold=0.0)

    def _is_first_of_order(self, tensor: TensorView, evidence: str) -> bool:
        """Return whether nothing else told of the order of returns, which all evidence is of."""
        return self._told_order.setdefault(tensor.worker, evidence) == evidence

    def _ratio(self, step: StepView, tensor: TensorView, loop: _Loop) -> Findings:
        distance = _distance_from(1.0, tensor.statistics)
        if not math.isfinite(distance):
            return
        is_first = self._add_look(step, loop, tensor.worker, distance)
        usual = min((gap for gap, _ in loop.gaps), default=0)
        firsts = [one for gap, one in loop.gaps if gap > usual]
        is_stale = len(firsts) >= _FIRSTS and float(np.median(firsts)) > self.max_distance
        if is_stale:
            if is_first:
                yield self._stale(step, tensor, firsts)
            return
        if len(loop.looks) < LOOKS:
            return
        distances = [one for one, _ in loop.looks]
        least, most = min(distances), max(distances[-LOOKS:])
        if least > FAR and sum(drawn for _, drawn in loop.looks) >= _FIRSTS:
            yield self._finding(
                step,
                tensor,
                "stale_log_probs",
                f"the ratio of new to old probabilities was off by at least {number(least)} at"
                f" each of {len(distances)} looks: the policy is never the one that acted",
                value=least,
                threshold=FAR,
            )
        if most < EXACT and loop.reused >= 3:
            yield self._finding(
                step,
                tensor,
                "never_off",
                f"the ratio of new to old probabilities is exactly 1 at {LOOKS} looks,"
                " though samples are used for several updates: nothing is ever clipped",
                value=most,
                threshold=EXACT,
            )

    def _add_look(self, step: StepView, loop: _Loop, worker: str, distance: float) -> bool:
        """Remember a look; return whether it is the first update since actions were drawn.

        Models that are asked at each update, such as one of reference, run without gradients as
        often between all of them.
        """
        offset = step.number - step.mode_step
        self._note_samples(step, loop, worker, offset)
        steps, ran = step.mode_step - loop.mode_step, offset - loop.offset
        is_new = loop.mode_step < 0
        loop.offset, loop.mode_step = offset, step.mode_step
        if is_new:
            return False
        usual = min((gap for gap, _ in loop.gaps), default=0)
        if steps == 1:
            loop.gaps.append((ran, distance))
        loop.looks.append((distance, ran > usual * steps))
        return steps == 1 and ran > usual

    def _stale(self, step: StepView, tensor: TensorView, firsts: list[float]) -> Finding:
        off = float(np.median(firsts))
        return self._finding(
            step,
            tensor,
            "stale_log_probs",
            f"the ratio of new to old probabilities is off by {number(off)} at the first update"
            f" after actions were drawn, on the median of {len(firsts)} of them: there both are of"
            " one policy",
            value=off,
            threshold=self.max_distance,
        )

    def _note_samples(self, step: StepView, loop: _Loop, worker: str, offset: int) -> None:
        """Note whether samples of a step were used before, since actions were drawn last."""
        digests: list[int] = []
        for tensor in step.tensors("samples", worker=worker):
            raw = tensor.record.raw.get(tensor.name)
            digests += [] if raw is None else raw.ravel().tolist()
        if not digests:
            return
        found = set(digests)
        if offset != loop.sampled_at:
            loop.samples, loop.sampled_at = set(), offset
        # states of which there are few come again by themselves
        if len(found) > 0.9 * len(digests) and len(digests) >= LEAST_ROWS:
            loop.reused += len(found & loop.samples) > 0.05 * len(found)
        loop.samples |= found

    def _clipped(self, step: StepView, tensor: TensorView) -> Findings:
        share = tensor.scalar
        if self.persists((tensor.worker, "clipped"), share > self.max_clipped):
            yield self._finding(
                step,
                tensor,
                "clipped",
                f"{share:.0%} of the ratios are clipped, {in_a_row(self.consecutive, 'look')}: the"
                " policy is far from the one that acted",
                value=share,
                threshold=self.max_clipped,
                # some trainings learn all the same
                severity="info",
            )

    def _advantage(self, step: StepView, tensor: TensorView, loop: _Loop) -> Findings:
        found, worker = tensor.statistics, tensor.worker
        loop.num_looks += 1
        of_ratio = tensor.name == "policy/advantage"
        size = max(abs(found.min), abs(found.max))
        loop.signal |= bool(size > 1e-6)
        if found.count < LEAST_ROWS:
            return
        self._evaluated |= of_ratio
        is_mask = not of_ratio and _has_cross_entropy(step, worker)
        if not loop.signal and loop.num_looks >= self.consecutive and not is_mask:
            yield self._finding(
                step,
                tensor,
                "no_signal",
                f"all advantages were 0 at each of {loop.num_looks} looks: no action is better"
                " than another, and nothing is learnt",
                value=0.0,
            )
        if not of_ratio:
            return
        is_constant = size > 0 and found.max - found.min <= 1e-6 * size
        if self.persists((worker, "constant_advantage"), is_constant):
            yield self._finding(
                step,
                tensor,
                "constant_advantage",
                f"all {found.count:.0f} advantages of a batch are {number(found.mean)},"
                f" {in_a_row(self.consecutive, 'look')}: no action is better than another",
                value=found.mean,
            )
        one_sign = not is_constant and (found.min > 0 or found.max < 0)
        if self.persists((worker, "one_sign"), one_sign, ONE_SIGN):
            side = "positive" if found.min > 0 else "negative"
            yield self._finding(
                step,
                tensor,
                "one_sign",
                f"all advantages are {side}, {ONE_SIGN} looks in a row: whatever is tried becomes"
                f" {'more' if found.min > 0 else 'less'} likely",
                value=found.mean,
            )

    # Values

    def _value(self, step: StepView, seen: Mapping[str, TensorView]) -> Findings:
        target, prediction = seen["value/target"], seen["value/prediction"]
        self._evaluated = True
        of_actions = target.info.function == "q"
        through = seen.get("value/through_target")
        if through is not None and of_actions:
            holds = through.scalar > 0
            if self.persists((target.worker, "through_target"), holds):
                yield self._finding(
                    step,
                    target,
                    "through_target",
                    "the target of the values is computed with gradients, so it moves towards the"
                    f" prediction, {in_a_row(self.consecutive, 'look')}",
                )
        found = prediction.statistics
        is_one = of_actions and found.count >= LEAST_ROWS and found.max == found.min
        same = is_one and target.statistics.max == target.statistics.min
        if self.persists((target.worker, "one_transition"), same):
            yield self._finding(
                step,
                prediction,
                "one_transition",
                f"all {found.count:.0f} values of a batch are the same, as are their targets,"
                f" {in_a_row(self.consecutive, 'look')}: it holds one transition, again and again",
                value=found.mean,
            )
        values = self._values.setdefault(target.worker, _Values())
        values.num_looks += 1
        yield from self._growth(step, target, values)
        yield from self._bias(step, target, seen["value/error"], values)

    def _growth(self, step: StepView, target: TensorView, values: _Values) -> Findings:
        found = target.statistics
        size = max(abs(found.min), abs(found.max))
        if not math.isfinite(size):
            return
        if len(values.first) < _WINDOW:
            values.first.append(size)
            return
        values.window.append(size)
        if len(values.window) < _WINDOW:
            return
        values.medians.append(float(np.median(values.window)))
        values.window = []
        first, last = max(values.first), values.medians[-_WINDOWS - 1 :]
        if len(last) <= _WINDOWS or not first:
            return
        grows = all(now > GROWS * before for before, now in pairwise(last))
        if grows and last[-1] > GREW * first:
            yield self._finding(
                step,
                target,
                "unbounded",
                f"the targets of the values grew from {number(first)} to {number(last[-1])}, and by"
                f" {number(last[-1] / last[-2])} times within {_WINDOW} looks: they follow"
                " themselves, and no reward",
                value=last[-1],
                threshold=GREW * first,
            )

    def _bias(
        self, step: StepView, target: TensorView, error: TensorView, values: _Values
    ) -> Findings:
        """Judge whether values stay away from their targets, while these stay where they are."""
        goal, off = target.statistics, error.statistics
        if target.info.function != "v" or goal.count < LEAST_ROWS:
            return
        values.bias.append((off.mean, goal.mean, goal.std))
        if values.num_looks < VALUES or len(values.bias) < VALUES:
            return
        values.bias = values.bias[-VALUES:]
        means = np.abs(np.array(values.bias))
        early, late = np.median(means[: VALUES // 2], 0), np.median(means[VALUES // 2 :], 0)
        stays = late[0] > 0.9 * early[0] and 0.8 < late[1] / max(early[1], 1e-12) < 1.25
        if stays and late[0] > 0.5 * late[1] and late[0] > 2 * late[2]:
            yield self._finding(
                step,
                target,
                "unlearnt_value",
                f"the values are off by {number(float(late[0]))} from returns of"
                f" {number(float(late[1]))} on the mean, and come no nearer in {VALUES} looks:"
                " advantages are as without them",
                value=float(late[0]),
                threshold=float(0.5 * late[1]),
            )

    def _target(self, step: StepView, copy: str, tensor: TensorView) -> Findings:
        key = tensor.worker, copy
        target = self._targets.setdefault(key, _Target(step.mode_step))
        distance = step.scalar(f"value/distance/{copy}", tensor.worker)
        target.looks += 1
        target.step, target.mode_step, target.distance = step.number, step.mode_step, distance
        target.moved |= tensor.scalar > 0
        target.apart |= distance > 1e-6
        num_steps = step.mode_step - target.since
        if not target.moved and target.apart and num_steps >= self.target_steps:
            yield self._frozen(step, tensor.worker, copy, target)
        if self.persists((*key, "copied"), tensor.scalar > 0 and distance == 0, COPIED):
            yield self._finding(
                step,
                tensor,
                "copied_target",
                f"{copy} is the network itself at each of {COPIED} looks: it is copied at each"
                " update, and values follow themselves",
                value=distance,
            )

    def _frozen(self, step: StepView | int, worker: str, copy: str, target: _Target) -> Finding:
        tensor = f"value/moved/{copy}"
        return self.finding(
            step,
            tensor,
            f"{copy}, of which targets of values are computed, did not change at {target.looks}"
            f" looks, while the network that it is a copy of moved away by"
            f" {number(target.distance)} of its norm",
            worker=worker,
            condition="frozen_target",
            mode="" if isinstance(step, StepView) else "TRAIN",
            value=target.distance,
            remedy=UPDATE_REMEDIES["frozen_target"],
            evidence={"cause": "frozen_target"},
        )

    def _finding(
        self,
        step: StepView,
        tensor: TensorView,
        cause: str,
        what: str,
        *,
        value: float | None = None,
        threshold: float | None = None,
        severity: str = "warning",
        remedy: str = "",
    ) -> Finding:
        return self.finding(
            step,
            tensor,
            f"{what}, up to step {step.train_step}",
            value=value,
            threshold=threshold,
            condition=cause,
            remedy=remedy or UPDATE_REMEDIES[cause],
            severity=severity,
            evidence={"cause": cause},
        )


def _distance_from(center: float, found: Statistics) -> float:
    """Return the root mean square distance of the elements of a tensor from a number."""
    return math.hypot(found.std, found.mean - center)


def _has_cross_entropy(step: StepView, worker: str) -> bool:
    """Return whether a step has a loss of classes beside one that is weighted sample by sample.

    The weights may be a mask then, as that of pseudo labels which are sure enough.
    """
    losses = step.tensors("losses", worker=worker)
    return any(loss.info.function in CROSS_ENTROPIES for loss in losses)


def _unread(function: str, flags: str) -> str:
    """Return what is wrong with a function that forms targets without ends."""
    return (
        f"{function} never reads {flags}, which says where episodes have ended: its"
        " targets, a reward and a discounted value of the next state, go on with the value"
        " of a next state that there is not, or that begins another episode"
    )


def _unstored(flags: str) -> str:
    """Return what is wrong where steps are stored without these flags."""
    return (
        f"steps are stored without {flags}, which says where an episode has ended: targets go on"
        " there with the value of a next state that there is not"
    )


def _cut_off(flags: str) -> str:
    """Return what is wrong where these flags are stored in place of ends."""
    return (
        f"with each transition {flags} is stored, which says where an episode was cut off,"
        " and nowhere whether it has ended: targets go on with the value of a next state"
        " that there is not"
    )
