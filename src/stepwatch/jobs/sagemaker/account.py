"""What stands for an account of AWS: where the jobs are, and what they are called by clients."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...errors import RequestRefused
from ..records import Records
from .interpreters import Interpreters

#: No account of AWS has this number.
NUMBER = "000000000000"
_ARN = re.compile(rf"arn:[^:]+:sagemaker:[^:]+:{NUMBER}:(training-job|processing-job)/(.+)")
_MOST_OF_A_NAME = 26


@dataclass(frozen=True, slots=True)
class Account:
    """Where requests are carried out.

    Args:
        records: Of the jobs.
        region: Of AWS, in name only.
        interpreters: Which of them trains.
    """

    records: Records
    region: str = "us-east-1"
    interpreters: Interpreters = field(default_factory=Interpreters)

    def named_arn(self, kind: str, name: str) -> str:
        """Return by what clients know a job: small letters, as AWS writes them."""
        return f"arn:aws:sagemaker:{self.region}:{NUMBER}:{kind}/{name.lower()}"

    def training_arn(self, job: str) -> str:
        """Return by what they know a job that trains."""
        return self.named_arn("training-job", job)

    def processing_arn(self, job: str, rule: str) -> str:
        """Return by what they know a rule of such a job."""
        return self.named_arn("processing-job", processing_name(job, rule))

    @property
    def role_arn(self) -> str:
        """As whom all clients are known."""
        return f"arn:aws:iam::{NUMBER}:role/stepwatch"


def region_of(variables: Mapping[str, str]) -> str:
    """Return the region that the environment names."""
    return variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION") or "us-east-1"


def processing_name(job: str, rule: str) -> str:
    """Return the name of the processing job that judges by a rule, as SageMaker makes them.

    Example:
        >>> processing_name("mnist-2026", "VanishingGradient")
        'mnist-2026-VanishingGradient-3b91f600'
    """
    digits = hashlib.sha256(f"{job}/{rule}".encode()).hexdigest()[:8]
    return f"{job[:_MOST_OF_A_NAME]}-{rule[:_MOST_OF_A_NAME]}-{digits}"


def name_in(arn: str) -> str:
    """Return the name of a training job in what it is known by, in small letters.

    Raises:
        RequestRefused: It names none.
    """
    found = _ARN.fullmatch(arn)
    if not found:
        raise RequestRefused("ValidationException", f"The ARN {arn!r} names nothing here.")
    return found[2]
