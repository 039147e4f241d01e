"""Where the rows of a prediction come from: which sample of a batch, and which position of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .loss_call import LossCall

_OF_CLASSES = ("cross_entropy", "nll_loss")
# Of fewer rows and columns a high correlation is no surprise.
_LEAST_ROWS, _LEAST_COLUMNS = 16, 4
# Less than this share of the squared derivatives is what rounding left.
_NOTHING = 1e-10


@dataclass(frozen=True)
class Rows:
    """The row of a prediction that is looked at.

    Args:
        batch: Samples.
        length: Positions of a sample; 1 where it is no sequence of tokens.
        is_flat: The samples' positions lie one after the other in the first dimension.
    """

    batch: int
    length: int
    is_flat: bool

    @property
    def place(self) -> int:
        """The row: of the second half of the batch, and of a position in its middle."""
        if not self.is_flat:
            return self.batch // 2
        first = self.batch // 2 * self.length + self.length // 2
        # Another sample by either order of rows.
        return first if first // self.length != first % self.batch else first + 1

    @property
    def position(self) -> int:
        """The position of it, where the rows are sample by sample."""
        return self.place % self.length if self.is_flat else self.length // 2

    def take(self, prediction: torch.Tensor) -> torch.Tensor:
        """Return the row of it."""
        if self.is_flat or self.length == 1:
            return prediction[self.place]
        return prediction[self.place].select(-1, self.position)

    def told(self, derivative: torch.Tensor, *, mixes: bool) -> torch.Tensor:
        """Return what derivatives by what the samples became tell.

        Args:
            derivative: Of the row, shape ``[batch, length, ...]`` or ``[batch, ...]``.
            mixes: Samples are normalized together, so that each depends on all.

        Returns:
            Shape ``[4]``, float32, as ``dependence.FIELDS`` has it.
        """
        size = derivative.float().abs()
        largest = size.max()
        size = (size / largest.clamp_min(1e-38)).square().flatten(1)
        of_samples = size.sum(1)
        own = of_samples.argmax()
        shares = of_samples / of_samples.sum()
        found = torch.full((4,), torch.nan, device=derivative.device)
        if not mixes:
            found[0] = 1 - shares[own]
        if self.is_flat:
            sample, other = self.place // self.length, self.place % self.batch
            found[1] = torch.where(own == sample, 1.0, torch.where(own == other, 0.0, torch.nan))
        if self.length > 1 and derivative.shape[1] == self.length and derivative.dim() > 2:
            by_position = size[own].view(self.length, -1).sum(1)
            found[2:] = _over_time(by_position, self.position)
        # what is not finite, or zero throughout, tells nothing
        return torch.where((largest > 0) & largest.isfinite(), found, torch.nan)


def _over_time(sizes: torch.Tensor, position: int) -> torch.Tensor:
    """Return the share of what lies behind a position, and how far back the nearest before lies."""
    shares = sizes / sizes.sum()
    before = shares[:position].flip(0) > _NOTHING
    gap = torch.where(before.any(), before.float().argmax() + 1.0, torch.nan)
    return torch.stack([shares[position + 1 :].sum(), gap])


def rows_of(given: torch.Tensor, prediction: torch.Tensor, call: LossCall) -> Rows | None:
    """Return which row of a prediction is looked at; ``None`` if it is not known whose it is.

    Args:
        given: What the model was given, shape ``[batch, ...]``; tokens are ``[batch, length]``.
        prediction: What it predicts.
        call: The loss of it.
    """
    batch, shape = len(given), prediction.shape
    if batch < 2:
        return None
    is_tokens = given.dim() == 2 and not given.is_floating_point()
    length = given.shape[1] if is_tokens else 1
    if length > 4 and shape[:1] == (batch * length,):
        return Rows(batch, length, is_flat=True)
    if not shape or shape[0] != batch:
        return None
    # The logits of contrasts have a column for each of the samples.
    if len(shape) == 2 and shape[1] % batch in (0, batch - 1, batch - 2) and shape[1] > 1:
        return None
    in_time = call.function in _OF_CLASSES and len(shape) == 3 and shape[2] == length > 4
    return Rows(batch, length if in_time else 1, is_flat=False)


def shifts(given: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return how many targets are the input itself, or what comes one or two positions later.

    Args:
        given: Tokens, shape ``[batch, length]``.
        target: As many integers.

    Returns:
        Shares, shape ``[4]``: for no shift, one and two, and for one where the targets lie time by
        time. All nan for what is no such target.
    """
    wrong = given.is_floating_point() or target.is_floating_point() or given.dim() != 2
    if wrong or given.shape[1] < 8 or target.numel() != given.numel():
        return torch.full((4,), torch.nan)
    found = [_same(given, target.reshape(given.shape), by) for by in (0, 1, 2)]
    turned = target.reshape(given.shape[::-1]).T
    return torch.stack([*found, _same(given, turned, 1)])


def _same(given: torch.Tensor, target: torch.Tensor, by: int) -> torch.Tensor:
    length = given.shape[1]
    return (given[:, by:] == target[:, : length - by]).float().mean()


def correlation(given: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return how the column of the input correlates with the target that does so most.

    Args:
        given: Features, shape ``[rows, columns]``, floating.
        target: A number for each row, floating.

    Returns:
        Shape ``[2]``: Pearson's coefficient in magnitude, and the column; nan for what is no such
        input, has fewer than 16 rows or 4 columns, or a target that does not vary.
    """
    numbers = given.is_floating_point() and target.is_floating_point() and given.dim() == 2
    if not numbers or target.numel() != len(given) or len(given) < _LEAST_ROWS:
        return torch.full((2,), torch.nan)
    if given.shape[1] < _LEAST_COLUMNS:
        return torch.full((2,), torch.nan)
    x, y = given.double(), target.double().reshape(-1, 1)
    x, y = x - x.mean(0), y - y.mean(0)
    found = (x * y).sum(0).abs() / (x.square().sum(0) * y.square().sum(0)).sqrt()
    best = found.nan_to_num(-1.0).max(0)
    value = torch.where(best.values >= 0, best.values, torch.nan)
    return torch.stack([value, best.indices.to(value.dtype)])
