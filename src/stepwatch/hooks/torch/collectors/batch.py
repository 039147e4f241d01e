"""What models are given: batches, channels of images, and digests by which samples are recognized.

With digests of the batches, runs whose data differ can be distinguished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from weakref import ReferenceType, WeakKeyDictionary, ref

import numpy as np
import numpy.typing as npt
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ....capture.open_step import OpenStep
from ....numerics.digest import Words as Digests
from ....numerics.digest import digest, row_digests
from ...losses import labels_and_predictions
from ...nearest import NearestSamples
from ...observations import MOST_SAMPLE_ELEMENTS, MOST_SAMPLES, NO_DATA
from ..device import PackedBits, device_row_digests
from ..events import LossCall
from ..internals import call_keywords, isolated_compute
from ..models import Names, unwrap
from ..observe import Observer, Summaries, on_host
from ..tensors import dtype_name, plain, readable, subsampled, tensors_in, to_numpy, unsupported

#: Of a model that runs more often than this in a step, the first batches are observed.
MOST_BATCHES = 64


class Batches:
    """Observes the tensors that a model is called with, before it runs."""

    def __init__(self, names: Names, observer: Observer) -> None:
        self._names = names
        self._observer = observer
        self._counts: WeakKeyDictionary[OpenStep, Counter[str]] = WeakKeyDictionary()
        # The memory of what models returned in each step; another tensor may not have it meanwhile.
        self._made: WeakKeyDictionary[OpenStep, set[StorageWeakRef]] = WeakKeyDictionary()

    def returned(self, step: OpenStep, output: object) -> None:
        """A model returned this."""
        if step.wants("batches"):
            made = self._made.setdefault(step, set())
            made.update(filter(None, (_memory(one) for _, one in tensors_in(output, ""))))

    def observe(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:
        """Observe what a model is called with; to be called by its pre-hook.

        Args:
            model: It is named already.
            inputs: Its positional arguments; those by keyword are found.
        """
        if not step.wants("batches"):
            return
        name = "" if self._names.is_plain(model) else f"/{self._names.of(unwrap(model))}"
        counts = self._counts.setdefault(step, Counter())
        number = counts[name]
        counts[name] += 1
        if number >= MOST_BATCHES:
            return
        # Digests do not merge, so each batch of a step has a name of its own.
        name = f"batch_{number}{name}" if number else f"batch{name}"
        for given in filter(None, (inputs, call_keywords())):
            for path, tensor in tensors_in(given, name):
                # Else it is what another model made, and no data.
                if tensor.grad_fn is None and _memory(tensor) not in self._made.get(step, ()):
                    wanted = tensor.requires_grad or None
                    self._observer.tensor(step, path, tensor, "batches", trainable=wanted)


def _memory(tensor: torch.Tensor) -> StorageWeakRef | None:
    """Return the memory of a tensor, which it shares with what is detached from it."""
    try:
        return StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]
    except RuntimeError:  # it has none of its own, as a wrapper
        return None


#: Above so many elements a sample of them is used.
MOST_IMAGE_ELEMENTS = 1 << 22


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
    values = subsampled(with_channel, 1, MOST_IMAGE_ELEMENTS).to(torch.float32)
    variance, mean = torch.var_mean(values, (0, 2, 3), correction=0)
    return mean, variance.sqrt()


class Channels:
    """Observes the images that models are given, where that is asked for."""

    def __init__(self, names: Names, observer: Observer, summaries: Summaries) -> None:
        self._names = names
        self._observer = observer
        self._summaries = summaries

    def observe(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:
        """Observe the first images of a step; to be called by a model's pre-hook."""
        if not step.wants("channels"):
            return
        name = "" if self._names.is_plain(model) else f"/{self._names.of(unwrap(model))}"
        for given in (inputs, call_keywords()):
            for path, tensor in tensors_in(given, name):
                if _are_images(tensor):
                    self._observe(step, path, tensor.detach())

    def _observe(self, step: OpenStep, path: str, images: torch.Tensor) -> None:
        names = [f"channel_mean{path}", f"channel_std{path}"]
        if not any(self._summaries.wants(step, "channels", name) for name in names):
            return
        with isolated_compute(images.device.type):
            found = channel_moments(images)
        for name, value in zip(names, found, strict=True):
            self._summaries.add(step, "channels", name, value)
        self._observer.scalar(step, f"channel_images{path}", len(images), "channels")


def _are_images(tensor: torch.Tensor) -> bool:
    if unsupported(tensor) or tensor.layout is not torch.strided or tensor.dim() not in (3, 4):
        return False
    return tensor.numel() > 0 and not tensor.is_complex() and tensor.dtype is not torch.bool


class Samples:
    """Observes the samples that a model is called with: digests, and what the nearest ones tell."""

    def __init__(self, names: Names, observer: Observer) -> None:
        self._names = names
        self._observer = observer
        self._nearest = NearestSamples()
        # The samples that a model was called with last, in which step, and of how many.
        self._last: tuple[ReferenceType[OpenStep], npt.NDArray[np.generic], int] | None = None

    def observe(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:
        """Observe what a model is called with; to be called by its pre-hook.

        Args:
            model: It is named already.
            inputs: Its positional arguments; those by keyword are found.
        """
        if not step.wants("samples"):
            return
        name = "sample"
        if not self._names.is_plain(model):
            name = f"sample/{self._names.of(unwrap(model))}"
        path, tensor = next(_data_in(inputs, name), (None, None))
        if path is not None and tensor is not None:
            self._add(step, path, tensor)

    def _add(self, step: OpenStep, name: str, tensor: torch.Tensor) -> None:
        seed = np.uint64(_seed(tensor))

        def note(packed: PackedBits) -> None:
            found = packed.view(np.uint64) + seed  # modulo 2**64
            self._observer.joined(step, name, "samples", found, _first)

        with isolated_compute(tensor.device.type):
            chosen = _elements(plain(tensor).detach()[:MOST_SAMPLES])
            if not on_host(chosen):
                self._observer.defer(step, device_row_digests(chosen), note)
                return
        rows = to_numpy(chosen)
        self._last = ref(step), rows, len(tensor)
        note(row_digests(rows).view(np.int64))
        found = self._nearest.add(step.mode, name.partition("/")[2], rows)
        for known, number in found.items():
            self._observer.scalar(step, known, number, "evaluations")

    def observe_loss(self, step: OpenStep, loss: str, value: torch.Tensor, call: LossCall) -> None:  # noqa: ARG002
        """A loss of this name was computed: compare it with what the nearest samples tell."""
        last, self._last = self._last, None
        if last is None or last[0]() is not step or not step.wants("evaluations"):
            return
        _, rows, number = last
        prediction, target = (
            to_numpy(one.detach()) if one is not None and on_host(one) else None
            for one in map(readable, (call.prediction, call.target))
        )
        if prediction is None or target is None:
            return
        both = labels_and_predictions(call.function, prediction, target)
        if both is None or len(both[0]) != number:
            return
        name = loss.removeprefix("loss/")
        found = self._nearest.labels.add(step.mode, name, rows, *both)
        for known, one in found.items():
            self._observer.scalar(step, known, one, "evaluations")


def _data_in(inputs: object, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors that hold samples, the first dimension being that of the samples."""
    for given in (inputs, call_keywords()):
        for path, tensor in tensors_in(given, name):
            if unsupported(plain(tensor)) is None and tensor.layout is torch.strided:
                is_data = tensor.dim() >= 2 and tensor.numel() and not tensor.is_complex()
                if is_data and not NO_DATA.search(path.rpartition("/")[2]):
                    yield path, tensor


def _elements(samples: torch.Tensor) -> torch.Tensor:
    """Return evenly spaced elements of each sample, all of them if there are no more."""
    shape = samples.shape[1:]
    num_elements = shape.numel()
    if num_elements <= MOST_SAMPLE_ELEMENTS:
        return samples.flatten(1)
    every = -(-num_elements // MOST_SAMPLE_ELEMENTS)
    positions = torch.arange(0, num_elements, every, device=samples.device)
    # By index: images whose channels lie last would be copied to be flattened.
    return samples.movedim(0, -1)[torch.unravel_index(positions, shape)].T


def _first(before: Digests, now: Digests) -> Digests:
    return np.concatenate([before, now])[:MOST_SAMPLES]


def _seed(tensor: torch.Tensor) -> int:
    """Return a seed by which samples of different dtypes and shapes differ."""
    text = f"{dtype_name(tensor.dtype)}{list(tensor.shape[1:])}"
    return digest(np.frombuffer(text.encode(), np.uint8))
