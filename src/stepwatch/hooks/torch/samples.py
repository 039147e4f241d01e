"""A digest of each sample that a model is called with, by which samples are known again."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import torch

from ...capture.open_step import OpenStep
from ...digest import Words as Digests
from ...digest import digest, row_digests
from .arrays import dtype_name, plain, tensors_in, to_numpy, unsupported
from .bits import device_row_digests
from .device import Words
from .evidence import keywords_given
from .names import Names, unwrap
from .observe import Observer, on_host
from .unnoticed import unnoticed

#: Of the samples of a step at most so many are looked at, and of each so many elements.
MOST_SAMPLES, MOST_ELEMENTS = 256, 4096
# Inputs that are equal for many samples: they tell nothing of which one it is.
_NO_DATA = re.compile(r"mask|label|target|position|type|length", re.IGNORECASE)


class Samples:
    """Observes the digests of the samples that a model is called with.

    Args:
        names: Of the models.
        observer: Who takes what is found.
    """

    def __init__(self, names: Names, observer: Observer) -> None:
        self._names = names
        self._observer = observer

    def observe(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:
        """Observe what a model is called with; to be called by its pre-hook.

        Args:
            step: The step.
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

        def note(words: Words) -> None:
            found = words.view(np.uint64) + seed  # modulo 2**64
            self._observer.joined(step, name, "samples", found, _first)

        with unnoticed(tensor.device.type):
            chosen = _elements(plain(tensor).detach()[:MOST_SAMPLES])
            if not on_host(chosen):
                self._observer.defer(step, device_row_digests(chosen), note)
                return
        note(row_digests(to_numpy(chosen)).view(np.int64))


def _data_in(inputs: object, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors that hold samples, the first dimension being that of the samples."""
    for given in (inputs, keywords_given()):
        for path, tensor in tensors_in(given, name):
            if unsupported(plain(tensor)) is None and tensor.layout is torch.strided:
                is_data = tensor.dim() >= 2 and tensor.numel() and not tensor.is_complex()
                if is_data and not _NO_DATA.search(path.rpartition("/")[2]):
                    yield path, tensor


def _elements(samples: torch.Tensor) -> torch.Tensor:
    """Return evenly spaced elements of each sample, all of them if there are no more."""
    shape = samples.shape[1:]
    num_elements = shape.numel()
    if num_elements <= MOST_ELEMENTS:
        return samples.flatten(1)
    every = -(-num_elements // MOST_ELEMENTS)
    places = torch.arange(0, num_elements, every, device=samples.device)
    # By index: images whose channels lie last would be copied to be flattened.
    return samples.movedim(0, -1)[torch.unravel_index(places, shape)].T


def _first(before: Digests, now: Digests) -> Digests:
    return np.concatenate([before, now])[:MOST_SAMPLES]


def _seed(tensor: torch.Tensor) -> int:
    """Return what tells samples of one dtype and shape from those of others."""
    text = f"{dtype_name(tensor.dtype)}{list(tensor.shape[1:])}"
    return digest(np.frombuffer(text.encode(), np.uint8))
