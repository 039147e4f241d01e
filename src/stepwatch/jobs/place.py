"""Where a job lies on disk: the folders and files that a training container would have.

``<home>/jobs.sqlite`` holds the records of all jobs, ``<home>/<name>/`` what belongs to one::

    input/config/*.json   input/data/<channel>   model/   checkpoints/
    output/failure        output/data/           output/tensors/   output/tensorboard/
    logs/algo-1.log       logs/runner.log        logs/rules/<rule>.log
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_FOLDERS = ("input/config", "input/data", "model", "checkpoints", "output/data", "logs/rules")


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a job.

    Args:
        home: Of all jobs.
        name: Of this one.
    """

    home: Path
    name: str

    @property
    def root(self) -> Path:
        """What ``/opt/ml`` is in a container."""
        return self.home / self.name

    @property
    def tensors(self) -> Path:
        """The run."""
        return self.root / "output" / "tensors"

    @property
    def tensorboard(self) -> Path:
        """TensorBoard's files."""
        return self.root / "output" / "tensorboard"

    @property
    def config(self) -> Path:
        """The files that describe the job to its training."""
        return self.root / "input" / "config"

    @property
    def failure(self) -> Path:
        """What the training may say about why it failed."""
        return self.root / "output" / "failure"

    def log(self, rank: int) -> Path:
        """What a training process writes to its outputs."""
        return self.root / "logs" / f"algo-{rank + 1}.log"

    def rule_log(self, number: int) -> Path:
        """What a rule's process writes, by its place in the job's list."""
        return self.root / "logs" / "rules" / f"{number}.log"

    @property
    def runner_log(self) -> Path:
        """What the runner itself has to say."""
        return self.root / "logs" / "runner.log"

    def make(self) -> None:
        """Make the folders."""
        for folder in _FOLDERS:
            (self.root / folder).mkdir(parents=True, exist_ok=True)
