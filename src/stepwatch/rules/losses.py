"""Rules on losses: one that does not fall, and one that jumps; Overfit is next door."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from ..finding import Finding
from ..steps import Mode
from .checks import loss_fall_percent, loss_verdict, number, robust_log_z, robust_z
from .loss_memory import Recent, Series, Spike, is_loss, is_scalar, losses_of
from .objectives import Objectives
from .overfit import Overfit
from .rule import Findings, Rule
from .scope import Selection, above, at_least, one_of
from .step_view import StepView

__all__ = ["LossNotDecreasing", "LossSpike", "Overfit"]


class LossNotDecreasing(Rule):
    """A loss that, over ``num_steps`` steps, hardly falls or clearly rises.

    A rise within ``increase_threshold_percent`` is noise; a fall below ``diff_percent`` is a
    plateau. A loss that goes on not falling is reported when it starts to.

    Args:
        collection_names: Judge the scalars of these collections.
        tensor_regex: And scalars in whose name one of these finds itself.
        use_losses_collection: And those of the collection ``losses``.
        num_steps: Steps between the losses that are compared, counted within their mode.
        diff_percent: The least fall that counts as one.
        increase_threshold_percent: The largest rise that is tolerated.
        mode: Losses of this mode; by default those of EVAL from when there are some, else those
            of TRAIN. ``GLOBAL`` takes all steps together.
        variant: ``strict`` tolerates no rise.
        smooth: Compare medians of so many losses.
        converged_loss: Silent below this loss.
        converged_ratio: Silent while the loss is at most this fraction of the first.
        plain_only: Judge no loss that may be right not to fall: that of a training in which
            several optimizers work against each other, one that was ever negative, as that of a
            policy gradient, or one that is a tenth of another or less.
    """

    name = "loss_not_decreasing"
    per_model = True

    def __init__(
        self,
        collection_names: Sequence[str] = (),
        tensor_regex: Sequence[str] = (),
        use_losses_collection: bool = True,
        num_steps: int = 10,
        diff_percent: float = 0.1,
        increase_threshold_percent: float = 5.0,
        mode: Literal["TRAIN", "EVAL", "PREDICT", "GLOBAL"] | None = None,
        variant: Literal["tolerant", "strict"] = "tolerant",
        smooth: int = 1,
        converged_loss: float | None = None,
        converged_ratio: float | None = None,
        plain_only: bool = False,
    ) -> None:
        at_least("num_steps", num_steps, 1)
        at_least("diff_percent", diff_percent, 0)
        above("increase_threshold_percent", increase_threshold_percent, 0, up_to=100)
        one_of("mode", mode, [mode.value for mode in Mode])
        one_of("variant", variant, ("tolerant", "strict"))
        at_least("smooth", smooth, 1)
        above("converged_ratio", 1 if converged_ratio is None else converged_ratio, 0)
        self.tensor_regex = tuple(tensor_regex)
        self.num_steps = num_steps
        self.diff_percent = diff_percent
        self.increase_percent = increase_threshold_percent
        self.mode = mode
        self.strict = variant == "strict"
        self.smooth = smooth
        self.converged_loss = converged_loss
        self.converged_ratio = converged_ratio
        collections = (*collection_names, *(("losses",) if use_losses_collection else ()))
        self._losses = Selection(collections, tensor_regex, keep=is_loss)
        self._series: dict[tuple[str, str], Series] = {}
        self._eval_seen = False
        self._objectives = Objectives() if plain_only else None

    def check(self, step: StepView) -> Findings:
        if not step.is_of(self.mode):
            return
        mode = step.mode.value
        losses = losses_of(step, self._losses)
        if self._objectives is not None:
            losses = self._objectives.plain(step, losses)
        self._eval_seen |= bool(losses) and step.mode is Mode.EVAL
        if self.mode is None and self._eval_seen and step.mode is not Mode.EVAL:
            return
        everything = self.mode == Mode.GLOBAL.value
        at = step.number if everything else step.mode_step
        for name, loss in losses.items():
            key = (name, "" if everything else mode)
            series = self._series.get(key)
            if series is None:
                rise = self.increase_percent / 100
                series = self._series[key] = Series(self.num_steps, self.smooth, rise)
            pair = series.add(at, step.number, loss)
            if pair is not None:
                yield from self._judge(name, step, series, pair)

    def unevaluated(self) -> str | None:
        if any(series.judged for series in self._series.values()):
            return None
        longest = max((len(series.losses) for series in self._series.values()), default=0)
        mode = f" of mode {self.mode}" if self.mode else ""
        few = f"no loss{mode} spans {self.num_steps} steps; the longest has {longest} values"
        why = self._objectives.why if self._objectives else ""
        return self._losses.missing() or why or few

    def _judge(
        self, name: str, step: StepView, series: Series, pair: tuple[int, float, float]
    ) -> Findings:
        then_step, then, now = pair
        verdict = loss_verdict(
            then,
            now,
            diff_percent=self.diff_percent,
            increase_percent=self.increase_percent,
            strict=self.strict,
        )
        if self._is_converged(now, series.first):
            verdict = ""
        elif verdict != "not finite" and abs(now - then) < series.noise():
            # No rise, and no end of a plateau: the losses of single batches scatter as much.
            verdict = "plateau" if series.bad or verdict == "plateau" else ""
        started, series.bad = bool(verdict) and not series.bad, bool(verdict)
        if started:
            yield self._finding(name, step, verdict, (then_step, then, now))

    def _is_converged(self, now: float, first: float) -> bool:
        if self.converged_loss is not None and now < self.converged_loss:
            return True
        ratio = self.converged_ratio
        return ratio is not None and first > 0 and now <= ratio * first

    def _finding(
        self, name: str, step: StepView, verdict: str, pair: tuple[int, float, float]
    ) -> Finding:
        then_step, then, now = pair
        fall = loss_fall_percent(then, now)
        limit = self.diff_percent if verdict == "plateau" else self.increase_percent
        what = {
            "plateau": f"it fell by {number(fall)}%, less than {number(limit)}%",
            "rose": f"it rose by {number(-fall)}%, more than"
            f" {number(0 if self.strict else limit)}%",
            "not finite": "it is no longer finite",
        }[verdict]
        median = f" (medians of {self.smooth})" if self.smooth > 1 else ""
        return Finding(
            self.name,
            step.number,
            name,
            f"{name}: {number(then)} at step {then_step}, {number(now)} at step"
            f" {step.number}{median}: {what}",
            value=-fall if verdict == "rose" else fall,
            threshold=limit,
            remedy="check learning rate, labels and data order; on a plateau, lower the learning"
            " rate or stop",
            evidence={"verdict": verdict, "since_step": then_step, "then": then, "now": now},
        )


class LossSpike(Rule):
    """A training loss that jumps far out of its recent range.

    A loss that is always positive must be far out on a logarithmic scale, too: the batches of one
    near zero differ by orders of magnitude, and that is no spike.

    ``horizon_steps`` later it says whether the loss stayed up or went on rising; a loss that
    came back gives no further finding.

    Args:
        window: The recent losses it is compared with.
        k: So many robust standard deviations above their median,
        min_rise: and by this fraction of the median,
        over_window: and so many times as far above it as the largest of the window, is a spike.
        warmup_steps: Losses before the first judgement, in which a loss may do what it likes.
        horizon_steps: Losses until the spike is looked at again.
        tensor_regex: Judge also scalars in whose name one of these finds itself.
    """

    name = "loss_spike"
    per_model = True

    def __init__(
        self,
        window: int = 64,
        k: float = 8.0,
        min_rise: float = 0.1,
        over_window: float = 1.0,
        warmup_steps: int = 200,
        horizon_steps: int = 200,
        tensor_regex: Sequence[str] = (),
    ) -> None:
        at_least("window", window, 4)
        above("k", k, 0)
        at_least("min_rise", min_rise, 0)
        at_least("over_window", over_window, 0)
        at_least("warmup_steps", warmup_steps, 0)
        at_least("horizon_steps", horizon_steps, 1)
        self.window, self.k, self.min_rise = window, k, min_rise
        self.over_window = over_window
        self.warmup_steps = max(warmup_steps, window)
        self.horizon_steps = horizon_steps
        self.tensor_regex = tuple(tensor_regex)
        self._losses = Selection(("losses",), tensor_regex, keep=is_scalar)
        self._recent: dict[str, Recent] = {}

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for name, loss in losses_of(step, self._losses).items():
            recent = self._recent.setdefault(name, Recent(self.window))
            if recent.spike is not None and recent.count - recent.spike.at >= self.horizon_steps:
                yield from self._aftermath(name, step, recent)
            if recent.count >= self.warmup_steps:
                yield from self._judge(name, step, recent, loss)
            recent.add(loss)

    def unevaluated(self) -> str | None:
        most = max((recent.count for recent in self._recent.values()), default=0)
        if most > self.warmup_steps:
            return None
        few = f"{most} TRAIN steps had a loss; the first {self.warmup_steps} are warm-up"
        return self._losses.missing() or few

    def _judge(self, name: str, step: StepView, recent: Recent, loss: float) -> Findings:
        largest = recent.largest()
        if not math.isfinite(loss) or (self.over_window >= 1 and loss <= largest):
            return
        score, median = robust_z(loss, recent.losses)
        rise = loss - median
        far = rise > max(self.over_window * (largest - median), self.min_rise * abs(median))
        if far and min(score, robust_log_z(loss, recent.losses)) > self.k:
            if recent.spike is None:
                recent.spike = Spike(step.number, recent.count, median, loss)
            yield Finding(
                self.name,
                step.number,
                name,
                f"{name}: {number(loss)} at step {step.number} is {number(score)} robust standard"
                f" deviations above the median {number(median)} of the {self.window} before"
                f" (> {number(self.k)})",
                value=score,
                threshold=self.k,
                remedy="look at the batches of this step and the one before; restart before it"
                " and skip them, or lower the learning rate",
                evidence={"loss": loss, "median": median},
            )

    def _aftermath(self, name: str, step: StepView, recent: Recent) -> Findings:
        spike, recent.spike = recent.spike, None
        after = recent.median(self.horizon_steps)
        if spike is None or after - spike.median <= self.min_rise * abs(spike.median):
            return
        diverged = not after < spike.loss
        what = "diverged" if diverged else "stayed up"
        yield Finding(
            self.name,
            step.number,
            name,
            f"{name}: {self.horizon_steps} steps after the spike at step {spike.step} its median is"
            f" {number(after)}, before it was {number(spike.median)}: training {what}",
            value=after,
            threshold=spike.median * (1 + self.min_rise),
            severity="error" if diverged else "warning",
            condition=f"{name} {what}",
            remedy=f"restart from a checkpoint before step {spike.step}",
        )
