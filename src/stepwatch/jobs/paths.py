"""Where a job lies on disk: the folders and files that a training container would have.

``<home>/jobs.sqlite`` holds the records of all jobs, ``<home>/<name>/`` what belongs to one::

    input/config/*.json   input/data/<channel>   code/   model/   checkpoints/
    output/failure        output/data/           output/tensors/   output/tensorboard/
    logs/algo-1.log       logs/algo-1.times      logs/runner.log   logs/rules/<rule>.log
    logs/metrics.json
    rule-output/<rule>/   rule-source/<rule>/
"""

from __future__ import annotations

from pathlib import Path

from ..store.local import make_private_folder
from .spec import JobSpec

_FOLDERS = (
    *("input/config", "input/data", "code", "model", "checkpoints", "output/data"),
    *("output/metrics/sagemaker", "logs/rules", "rule-output", "rule-source"),
)

#: Where a job's folder is in a container of SageMaker.
CONTAINER = Path("/opt/ml")


class JobPaths:
    """The folder of a job.

    Args:
        home: The folder of all jobs.
        name: The name of this job.
    """

    def __init__(self, home: Path, name: str) -> None:
        self.home, self.name = home, name
        #: What ``/opt/ml`` is in a container.
        self.root = home / name

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

    @property
    def model(self) -> Path:
        """The model that the training makes."""
        return self.root / "model"

    @property
    def output_data(self) -> Path:
        """What else it makes."""
        return self.root / "output" / "data"

    @property
    def code(self) -> Path:
        """Where the source of the training lies, if it was brought here."""
        return self.root / "code"

    @property
    def checkpoints(self) -> Path:
        """What a training that is started again finds."""
        return self.root / "checkpoints"

    @property
    def rules(self) -> Path:
        """What the rules of the job made."""
        return self.root / "rule-output"

    @property
    def logs(self) -> Path:
        """What all of its processes write."""
        return self.root / "logs"

    @property
    def runner_log(self) -> Path:
        """What the runner itself has to say."""
        return self.logs / "runner.log"

    def rule_output(self, rule: str) -> Path:
        """Return the folder of what a rule made, by its name."""
        return self.rules / rule

    def rule_source(self, rule: str) -> Path:
        """Return where the file of a rule of one's own lies, by its name."""
        return self.root / "rule-source" / rule

    def script(self, spec: JobSpec) -> Path:
        """Return the program of a job: in what was brought here, or where it is."""
        return (self.code / spec.script).resolve()

    def log(self, rank: int) -> Path:
        """Return the log of a training process."""
        return self.logs / f"algo-{rank + 1}.log"

    def rule_log(self, number: int) -> Path:
        """Return the log of a rule's process, by its index in the job's list."""
        return self.logs / "rules" / f"{number}.log"

    def make(self) -> None:
        """Make the folders."""
        for folder in _FOLDERS:
            make_private_folder(self.root / folder)


def is_free(folder: Path) -> bool:
    """Return whether there is a folder with nothing in it."""
    return folder.is_dir() and not any(folder.iterdir())
