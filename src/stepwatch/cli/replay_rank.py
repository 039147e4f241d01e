"""The process in which ``run_together`` has one rank of a run run its step again."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

from ..errors import StepUnavailable
from ..model.record import StepRecord
from .replay import leave_answer, run_again


def main(folder: Path, rank: str) -> None:
    """Run the step of a rank again; leave what came of it, or why it did not, in a file."""
    # Written by the process that started this one.
    manifest, recording, options, deterministic = pickle.loads(
        (folder / f"task-{rank}").read_bytes()
    )
    from ..hooks.torch.replay.replay import ReplayHook

    answer: tuple[StepRecord, str] | str
    try:
        answer = run_again(manifest, ReplayHook(recording, options, deterministic=deterministic))
    except StepUnavailable as error:
        answer = str(error)
    leave_answer(folder / f"answer-{rank}", answer)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # Not by way of what the script has left to do at exit: it would wait for the other processes.
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
