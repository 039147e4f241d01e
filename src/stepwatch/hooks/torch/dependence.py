"""On which of its inputs a prediction depends, as targets tell at a few steps, and derivatives.

For derivatives the graph that ``backward()`` is about to use is asked once before it, from one row
of what a loss is given back to what the first module returned, once a step. No parameter gets a
gradient, and no random number is drawn. What would be told of it, or run once more, is left alone:
a graph with a function of the script's own, with hooks on tensors or kept gradients, one that
checkpoints or moves what it saves, and a training of several processes.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.autograd.function import BackwardCFunction
from torch.nn.modules.batchnorm import _BatchNorm

from ...capture.open_step import OpenStep
from ...steps import Mode
from .arrays import plain, tensors_in, unsupported
from .evidence import keywords_given
from .looking import in_transform
from .loss_call import LossCall
from .noticing import Noticing
from .ranks import is_one_of_several
from .sequences import Rows, correlation, rows_of, shifts
from .snapshot import is_cuda_used
from .summaries import Summaries
from .unnoticed import unnoticed
from .written import compared

_COLLECTION = "dependence"
#: Larger graphs are not looked through.
MOST_FUNCTIONS = 20_000


class Dependence:
    """Observes what predictions depend on, in the collection ``dependence``.

    Args:
        summaries: Who takes what is found.
    """

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries
        self._step: OpenStep | None = None
        self._given: torch.Tensor | None = None
        self._source: torch.Tensor | None = None
        self._last: torch.Tensor | None = None
        self._together: int | None = None
        self._in_time: list[tuple[int, int]] = []
        self._noticing: Noticing | None = None

    def begin(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:  # noqa: ARG002
        """A model begins to run."""
        self.forget()
        if step.mode is not Mode.TRAIN or not step.wants(_COLLECTION) or _is_elsewhere():
            return
        given = [*_tensors(inputs), *_tensors(keywords_given())]
        # Of several inputs one may be what relates samples to each other, as in a graph.
        if len(given) == 1 and given[0].dim() >= 2:
            self._step, self._given = step, given[0]
            self._noticing = Noticing() if step.wants("derivatives") else None

    def listens(self, step: OpenStep) -> bool:
        """Return whether it is to be told of what modules return."""
        return step is self._step

    def returned(
        self,
        step: OpenStep,
        module: torch.nn.Module,
        name: str,  # noqa: ARG002
        given: object,
        output: object,
    ) -> None:
        """A module returned."""
        if step is not self._step or self._given is None:
            return
        if isinstance(module, torch.nn.RNNBase) and not module.batch_first:
            sizes = (tensor.shape[:2] for tensor in _tensors(given) if tensor.dim() == 3)
            self._in_time += [(steps, samples) for steps, samples in sizes]
        if type(output) is not torch.Tensor or not output.requires_grad:
            return
        self._last = output
        if isinstance(module, _BatchNorm) and module.training:
            self._together = min(self._together or len(output), len(output))
        elif self._source is None and output.dim() >= 2 and len(output) == len(self._given):
            self._source = output

    def observe(self, step: OpenStep, loss: str, call: LossCall) -> None:
        """A loss was computed, and this is how it is named."""
        if step is not self._step:
            return
        given, source, together = self._given, self._source, self._together
        noticing, in_time = self._noticing, self._in_time
        self.forget()
        prediction, target = call.prediction, call.target
        if type(prediction) is not torch.Tensor or unsupported(prediction) or given is None:
            return
        name = f"dependence/{loss.removeprefix('loss/')}"
        if not self._summaries.wants(step, _COLLECTION, name):
            return
        found = torch.full((len(FIELDS),), torch.nan, device=prediction.device)
        with unnoticed(prediction.device.type):
            if isinstance(target, torch.Tensor) and _is_beside(target, given):
                found[4:8] = shifts(given, target).to(found)
                found[8:10] = correlation(given, target).to(found)
            rows = rows_of(given, prediction, call)
            unnoticeable = noticing is not None and not noticing.anybody()
            if source is not None and rows is not None and unnoticeable:
                mixes = together is not None
                found[:4] = _looked_back(prediction, source, rows, mixes=mixes).to(found)
            if together is not None:
                found[10] = together
            if in_time:
                found[12] = any(_are_samples(sizes, prediction) for sizes in in_time)
        self._summaries.add(step, _COLLECTION, name, found.nan_to_num(-1.0))

    def observe_written(self, step: OpenStep, loss: str, value: torch.Tensor) -> None:
        """A loss that is no function of torch is about to be differentiated."""
        if step is not self._step:
            return
        given, last = self._given, self._last
        self.forget()
        if given is None or last is None or last.numel() != len(given):
            return
        found = torch.full((len(FIELDS),), -1.0)
        found[11] = compared(value, len(given))
        self._summaries.add(step, _COLLECTION, f"dependence/{loss.removeprefix('loss/')}", found)

    def forget(self) -> None:
        """Look no more at the forward that ran last."""
        self._step = self._given = self._source = self._last = self._together = None
        self._in_time = []
        if self._noticing is not None:
            self._noticing.leave()
            self._noticing = None


#: What the elements of a summary are; -1 for what is not known. Shares are of squared derivatives.
FIELDS = (
    "others",  # share that belongs to other samples than the one of most
    "order",  # 1 where that one lies as in the batch, 0 where rows are time by time
    "future",  # share, of the sample's own, of later positions
    "gap",  # how many positions back the nearest earlier one lies that counts
    "same_0",  # share of targets that are the input at their own position,
    "same_1",  # one later,
    "same_2",  # two later,
    "turned",  # and one later where targets lie time by time
    "correlation",  # largest of a column of the input with the target, in magnitude
    "column",  # which one
    "together",  # of how many samples batch normalization takes the statistics
    "compared",  # with how many targets a written loss compares each prediction
    "as_time",  # 1 where a recurrent layer takes samples for steps of time, 0 where none does
)


def _are_samples(sizes: tuple[int, int], prediction: torch.Tensor) -> bool:
    """Return whether what a recurrent layer takes for steps of time are samples.

    There is a prediction for each of these steps, and none for what it takes for samples.

    Args:
        sizes: How many steps of time, and of samples, the layer is given.
        prediction: Of the same forward.
    """
    steps, samples = sizes
    rows = tuple(prediction.shape[:2])
    return 1 < samples != steps == rows[0] and samples not in rows


def _looked_back(
    prediction: torch.Tensor, source: torch.Tensor, rows: Rows, *, mixes: bool
) -> torch.Tensor:
    """Return the first four of ``FIELDS``, shape ``[4]``; nan for what cannot be told."""
    nothing = torch.full((4,), torch.nan)
    if prediction.grad_fn is None or not _is_plain(prediction.grad_fn):
        return nothing
    with torch.enable_grad():
        row = rows.take(prediction).reshape(-1)
        # Not all alike: probabilities add up to what depends on nothing.
        weights = torch.arange(row.numel(), device=row.device) * 7 % 11 - 5.2
        try:
            found = torch.autograd.grad(
                (row * weights.to(row.dtype)).sum(), source, retain_graph=True, allow_unused=True
            )[0]
        except RuntimeError:
            return nothing  # out of memory, or a graph that is to be used once only
    return nothing if found is None else rows.told(found, mixes=mixes)


def _is_plain(function: object) -> bool:
    """Return whether a graph has functions of torch only, and few enough of them."""
    known: set[object] = {function}
    left = [function]
    while left:
        one = left.pop()
        if isinstance(one, BackwardCFunction) or len(known) > MOST_FUNCTIONS:
            return False
        for after, _ in getattr(one, "next_functions", ()):
            if after is not None and after not in known:
                known.add(after)
                left.append(after)
    return True


def _tensors(given: object) -> Iterator[torch.Tensor]:
    """Yield the tensors in what a model is called with, as far as they can be read."""
    for _, tensor in tensors_in(given, ""):
        value = plain(tensor)
        if unsupported(value) is None and value.layout is torch.strided:
            yield value


def _is_beside(target: torch.Tensor, given: torch.Tensor) -> bool:
    """Return whether a target can be compared with what the model was given."""
    can_be_read = unsupported(plain(target)) is None and target.layout is torch.strided
    return can_be_read and target.device == given.device


def _is_elsewhere() -> bool:
    """Return whether what is computed is also that of others, or cannot be read now."""
    capturing = is_cuda_used() and torch.cuda.is_current_stream_capturing()
    return is_one_of_several() or capturing or in_transform()
