"""The rule on images that a model is given as they come, not normalized."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from .checks import number
from .rule import Findings, Rule
from .scope import Selection, above, at_least
from .step_view import StepView
from .units import raw_values

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[np.generic]

MEAN, STD, IMAGES = "channel_mean", "channel_std", "channel_images"
#: Means beyond this are those of bytes, not of numbers from 0 to 1.
_OF_BYTES = 2.0

# of each channel: number of images, their mean, and the mean of their squares
Moments = tuple[float, Floats, Floats]


class CheckInputImages(Rule):
    """Images whose channels have a mean far from 0, over all that were seen.

    The hook measures the images that a model is given; inputs that are saved in full and match
    ``regex`` are taken where it did not.

    Args:
        threshold_mean: The magnitude of the mean of a channel is too large above this.
        threshold_samples: Judge when so many images were seen.
        regex: Images, where they are saved in full.
        channel: The axis of the channels of images with four axes; those with three have one.
        threshold_std: The standard deviation of a channel is too far from 1 above this distance;
            ``None`` for any.
    """

    name = "check_input_images"
    evidence = ("channels:raw:every=10",)

    def __init__(
        self,
        threshold_mean: float = 0.2,
        threshold_samples: int = 500,
        regex: str = ".*hybridsequential0_input_0",
        channel: int = 1,
        threshold_std: float | None = None,
    ) -> None:
        at_least("threshold_mean", threshold_mean, 0)
        at_least("threshold_samples", threshold_samples, 1)
        at_least("channel", channel, 0)
        above("threshold_std", 1 if threshold_std is None else threshold_std, 0)
        self.threshold_mean, self.threshold_samples = threshold_mean, threshold_samples
        self.threshold_std = threshold_std
        self.channel = channel
        self._images = Selection((), (regex,), keep=lambda _, info: info.collection != "channels")
        self._seen: dict[str, Moments] = {}
        self._why_not = ""

    def check(self, step: StepView) -> Findings:
        for name, (images, mean, squares) in self._moments(step):
            before = self._seen.get(name)
            if before is not None and before[1].shape == mean.shape:
                total = before[0] + images
                mean = (before[0] * before[1] + images * mean) / total
                squares = (before[0] * before[2] + images * squares) / total
                images = total
            self._seen[name] = images, mean, squares
            if images >= self.threshold_samples:
                yield from self._judge(step, name)

    def unevaluated(self) -> str | None:
        most = max((images for images, _, _ in self._seen.values()), default=0)
        if most >= self.threshold_samples:
            return None
        if most:
            return f"{most:.0f} images were seen, {self.threshold_samples} are needed"
        measured = "no image was measured, and "
        return self._why_not or measured + (self._images.missing() or "no value was saved in full")

    def _moments(self, step: StepView) -> Iterator[tuple[str, Moments]]:
        """Yield what one step adds, by input; full values first."""
        full = list(raw_values(step, self._images))
        for _, name, value in full:
            axis = self.channel if value.ndim == 4 else None
            if value.ndim not in (3, 4) or not value.size or (axis or 0) >= value.ndim:
                self._why_not = f"{name} has {value.ndim} axes, which are no images"
            else:
                yield name, _of_images(value, axis)
        for record in () if full else step.records:
            for name in record.raw or ():
                if name.startswith(MEAN):
                    path = name.removeprefix(MEAN)
                    count = step.tensor(IMAGES + path, record.worker)
                    mean, std = (record.raw.get(what + path) for what in (MEAN, STD))
                    if count is not None and mean is not None and std is not None:
                        means = mean.astype(np.float64)
                        squares = std.astype(np.float64) ** 2 + means**2
                        yield f"images{path}", (count.statistics.mean, means, squares)

    def _judge(self, step: StepView, name: str) -> Findings:
        _, mean, squares = self._seen[name]
        std = np.sqrt(np.maximum(squares - mean**2, 0.0))
        worst = int(np.nanargmax(np.append(np.abs(mean), -1.0)))
        if worst < len(mean) and abs(mean[worst]) > self.threshold_mean:
            yield self._finding(step, name, worst, ("mean", float(mean[worst])))
        if self.threshold_std is not None:
            worst = int(np.nanargmax(np.append(np.abs(std - 1), -1.0)))
            if worst < len(std) and abs(std[worst] - 1) > self.threshold_std:
                yield self._finding(step, name, worst, ("standard deviation", float(std[worst])))

    def _finding(
        self, step: StepView, name: str, channel: int, measured: tuple[str, float]
    ) -> Finding:
        images, mean, _ = self._seen[name]
        what, value = measured
        is_mean = what == "mean"
        limit = self.threshold_mean if is_mean else self.threshold_std
        wanted = "0" if is_mean else "1"
        bytes_ = "; values span far more than 0 to 1: inputs are not scaled"
        return Finding(
            self.name,
            step.number,
            name,
            f"{name}: the {what} of channel {channel} is {number(value)} over {images:.0f} images,"
            f" further than {limit} from {wanted}, up to step {step.number}"
            + (bytes_ if np.nanmax(np.abs(mean)) > _OF_BYTES else ""),
            value=value,
            threshold=limit,
            condition=f"{name} {what}",
            remedy="subtract the mean of the data set and divide by its standard deviation",
            evidence={"channel": channel, "images": images},
        )


def _of_images(value: Array, axis: int | None) -> Moments:
    """Return the moments of each channel over its finite pixels; of one without an axis."""
    values = value.astype(np.float64)
    channels = values.reshape(1, -1) if axis is None else np.moveaxis(values, axis, 0)
    channels = channels.reshape(len(channels), -1)
    finite = np.isfinite(channels)
    count = np.maximum(finite.sum(axis=1), 1)
    kept = np.where(finite, channels, 0.0)
    return float(len(value)), kept.sum(axis=1) / count, (kept**2).sum(axis=1) / count
