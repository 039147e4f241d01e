"""How many samples of an evaluation were trained on, as far as the looks at both tell."""

from __future__ import annotations

from collections import deque

#: So many samples of the training are remembered.
MOST_SAMPLES = 1 << 18
#: Looks at the training by which it is known how many of its samples are known again.
LOOKS = 5
#: What is known again of the training, at least, before an evaluation is compared with it.
LEAST_KNOWN = 0.4
#: So many samples of evaluations are compared, at least, before anything is said.
LEAST_COMPARED = 100
#: Estimated shares of a look at an evaluation: nothing, and everything.
NONE, ALL = 0.005, 0.8


class Overlap:
    """Remembers the digests of samples.

    Only some steps are looked at, so what is known again of the samples of an evaluation is a lower
    bound of those that were trained on. Where batches are shuffled, how much of the training itself
    is known again, once it repeats its samples, tells how low: the one over the other estimates the
    share.

    Args:
        min_samples: A look at fewer samples of an evaluation tells nothing.
    """

    def __init__(self, min_samples: int) -> None:
        self._min_samples = min_samples
        self._trained: set[int] = set()
        self._known: deque[tuple[int, int]] = deque(maxlen=LOOKS)
        self._repeats = self._num_trained = 0
        self._batches: set[int] = set()
        self._in_order = False
        self._shared: set[int] = set()
        self._looked_at = self._compared = 0
        #: Estimated shares of the looks that could be compared.
        self.shares: list[float] = []

    def train(self, samples: list[int]) -> None:
        """Add the digests of the samples of a TRAIN step."""
        digests = set(samples)
        self._num_trained += len(samples)
        self._repeats += len(samples) - len(digests)
        # The very batch again: without shuffling the looks may meet the same few over and over.
        batch = hash(frozenset(digests))
        self._in_order |= batch in self._batches
        self._batches.add(batch)
        self._known.append((len(digests & self._trained), len(digests)))
        if len(self._trained) < MOST_SAMPLES:
            self._trained |= digests

    def evaluate(self, samples: list[int]) -> bool:
        """Add those of an EVAL step; return whether there is training to compare them with."""
        if not self._trained:
            return False
        digests = set(samples)
        self._looked_at += len(digests)
        self._shared |= digests & self._trained
        known = sum(known for known, _ in self._known) / sum(total for _, total in self._known)
        if not self._in_order and known >= LEAST_KNOWN and len(digests) >= self._min_samples:
            self._compared += len(digests)
            self.shares.append(len(digests & self._trained) / len(digests) / known)
        return True

    @property
    def num_shared(self) -> int:
        """How many samples of EVAL were seen in TRAIN."""
        return len(self._shared)

    @property
    def num_evaluated(self) -> int:
        """How many samples of EVAL were looked at."""
        return self._looked_at

    @property
    def repeats(self) -> bool:
        """Whether samples repeat within a batch: such data cannot be told by its samples."""
        return 1000 * self._repeats > self._num_trained

    @property
    def is_compared(self) -> bool:
        """Whether so many were compared that it can be told whether all or some were shared."""
        return self._compared >= LEAST_COMPARED

    @property
    def is_part(self) -> bool:
        """Whether some of each evaluation was trained on, and some of it was not.

        Where all of one was and nothing of another, both are evaluated on purpose.
        """
        return bool(self.shares) and all(NONE < share < ALL for share in self.shares)

    @property
    def is_all(self) -> bool:
        """Whether all of each evaluation was trained on."""
        return bool(self.shares) and all(share >= ALL for share in self.shares)
