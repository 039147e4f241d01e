"""Runs a small training with a black box, and then a step of it again, in this process."""

from __future__ import annotations

import gc

import torch

from stepwatch import TorchHook, Trial
from stepwatch.diff.comparison import Outcome, compare_steps, outcome_of
from stepwatch.errors import TrainingStopped
from stepwatch.formats.blackbox import read_frames
from stepwatch.hooks.torch.replay.replay import ReplayHook
from stepwatch.trial.recording import find_options, find_record, find_recording

#: Trained on, in an order that depends on the random numbers of torch.
INPUTS = torch.randn(64, 8, generator=torch.Generator().manual_seed(1))
TARGETS = torch.randint(3, (64,), generator=torch.Generator().manual_seed(2))
EVERYTHING = [
    f"{kind}:raw" for kind in ("weights", "gradients", "outputs", "losses", "learning_rates")
]


def record(train, run, *, every=10, policy=EVERYTHING):
    """Record a training from its beginning.

    Args:
        train: Called with nothing; it must not know whether it is watched.
        run: Where to write.
        every: How often there is a snapshot.
        policy: What to save.
    """
    gc.collect()  # optimizers of other tests count as long as they live
    torch.manual_seed(0)
    with TorchHook(
        run=run,
        policy=policy,
        hold=False,
        say=lambda _: None,
        strict=True,
        black_box_mb=4,
        snapshot_every=every,
    ):
        train()


class Replayed:
    """A step of a recorded training that is run again, after other random numbers.

    Args:
        train: As for ``record``.
        run: What ``record`` wrote.
        mode_step: The step, counted within TRAIN.
    """

    def __init__(self, train, run, mode_step):
        trial = Trial(run)
        frames = read_frames(trial.store)
        self.recording = find_recording(frames, mode_step)
        options = find_options(trial, frames)
        gc.collect()
        torch.manual_seed(99)
        threads = torch.get_num_threads()
        self.hook = ReplayHook(self.recording, options)
        self.stopped = False
        try:
            train()
        except TrainingStopped:
            self.stopped = True
        finally:
            self.hook.close()
            torch.set_num_threads(threads)
        self.recorded = find_record(trial, frames, mode_step)
        self.compared = [] if self.hook.record is None else self._compare()

    def _compare(self):
        return compare_steps(self.recorded, self.hook.record)

    @property
    def outcome(self):
        return str(outcome_of(self.compared))

    @property
    def different(self):
        """The names of what is not the same."""
        alike = (Outcome.SAME, Outcome.SAME_STATISTICS)
        return [one.name for one in self.compared if one.outcome not in alike]
