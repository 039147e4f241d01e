"""Mean and standard deviation of each channel of the images that a model is given."""

from __future__ import annotations

import torch

from ...capture.open_step import OpenStep
from .arrays import tensors_in, unsupported
from .evidence import keywords_given
from .names import Names, unwrap
from .observe import Observer
from .sampling import thinned
from .summaries import Summaries
from .unnoticed import unnoticed

#: Above so many elements a sample of them is looked at.
MOST_ELEMENTS = 1 << 22


def channel_moments(images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return mean and standard deviation of each channel.

    Args:
        images: Shape ``[batch, channels, height, width]``, or ``[batch, height, width]`` of one
            channel; any real dtype, at least one element.

    Returns:
        Two of shape ``[channels]``, float32, in the units of the images; nan where one of the
        channel is. The standard deviation is that of the population.
    """
    with_channel = images.unsqueeze(1) if images.dim() == 3 else images
    values = thinned(with_channel, 1, MOST_ELEMENTS).to(torch.float32)
    variance, mean = torch.var_mean(values, (0, 2, 3), correction=0)
    return mean, variance.sqrt()


class Channels:
    """Observes the images that models are given, where that is asked for.

    Args:
        names: Of the models.
        observer: Who takes how many images there are.
        summaries: Who takes the channels.
    """

    def __init__(self, names: Names, observer: Observer, summaries: Summaries) -> None:
        self._names = names
        self._observer = observer
        self._summaries = summaries

    def observe(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:
        """Observe the first images of a step; to be called by a model's pre-hook."""
        if not step.wants("channels"):
            return
        name = "" if self._names.is_plain(model) else f"/{self._names.of(unwrap(model))}"
        for given in (inputs, keywords_given()):
            for path, tensor in tensors_in(given, name):
                if _are_images(tensor):
                    self._observe(step, path, tensor.detach())

    def _observe(self, step: OpenStep, path: str, images: torch.Tensor) -> None:
        names = [f"channel_mean{path}", f"channel_std{path}"]
        if not any(self._summaries.wants(step, "channels", name) for name in names):
            return
        with unnoticed(images.device.type):
            found = channel_moments(images)
        for name, value in zip(names, found, strict=True):
            self._summaries.add(step, "channels", name, value)
        self._observer.scalar(step, f"channel_images{path}", len(images), "channels")


def _are_images(tensor: torch.Tensor) -> bool:
    if unsupported(tensor) or tensor.layout is not torch.strided or tensor.dim() not in (3, 4):
        return False
    return tensor.numel() > 0 and not tensor.is_complex() and tensor.dtype is not torch.bool
