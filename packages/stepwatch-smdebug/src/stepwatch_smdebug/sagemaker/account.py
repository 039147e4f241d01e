"""The account of AWS that clients work with: its jobs, their ARNs, and which Python trains."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stepwatch.errors import RequestRefused
from stepwatch.jobs.processes import program
from stepwatch.jobs.records import Records


@dataclass(frozen=True, slots=True)
class Interpreters:
    """Interpreters by the images that they stand for.

    Args:
        default: The one for all other images.
        by_image: The others, by a text in the name of the image, such as ``tensorflow``.

    Example:
        >>> known = Interpreters("python", {"tensorflow": "tf/python", "xgboost:1.7": "old/python"})
        >>> known.of("763.dkr.ecr.us-east-1.amazonaws.com/tensorflow-training:2.12-cpu-py310")
        'tf/python'
        >>> known.of("683.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.5-1")
        'python'
    """

    default: str = sys.executable
    by_image: Mapping[str, str] = field(default_factory=dict)

    def of(self, image: str) -> str:
        """Return the one for an image: that of the longest text in its name."""
        name = image.rpartition("/")[2]
        known = [text for text in self.by_image if text in name]
        return self.by_image[max(known, key=len)] if known else self.default


def interpreters(texts: Iterable[str]) -> Interpreters:
    """Parse options, each ``PATH`` for all images or ``IMAGE=PATH`` for some.

    Raises:
        ConfigError: There is no program at a path.
    """
    default, by_image = sys.executable, dict[str, str]()
    for text in texts:
        image, _, path = text.rpartition("=")
        if image:
            by_image[image] = program(path)
        else:
            default = program(path)
    return Interpreters(default, by_image)


#: No account of AWS has this number.
ACCOUNT_NUMBER = "000000000000"
_ARN = re.compile(rf"arn:[^:]+:sagemaker:[^:]+:{ACCOUNT_NUMBER}:(training-job|processing-job)/(.+)")
_MOST_OF_A_NAME = 26


@dataclass(frozen=True, slots=True)
class Account:
    """The account whose jobs requests start and describe.

    Args:
        records: The records of its jobs.
        region: The region of AWS that ARNs name.
        interpreters: Choose the Python that trains.
    """

    records: Records
    region: str = "us-east-1"
    interpreters: Interpreters = field(default_factory=Interpreters)

    def named_arn(self, kind: str, name: str) -> str:
        """Return the ARN of a job: in lower case, as AWS writes them."""
        return f"arn:aws:sagemaker:{self.region}:{ACCOUNT_NUMBER}:{kind}/{name.lower()}"

    def training_arn(self, job: str) -> str:
        return self.named_arn("training-job", job)

    def processing_arn(self, job: str, rule: str) -> str:
        return self.named_arn("processing-job", processing_name(job, rule))

    @property
    def role_arn(self) -> str:
        return f"arn:aws:iam::{ACCOUNT_NUMBER}:role/stepwatch"


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


def job_name_in(arn: str) -> str:
    """Return the name of a training job in an ARN, in lower case; RequestRefused if it has none."""
    found = _ARN.fullmatch(arn)
    if not found:
        raise RequestRefused("ValidationException", f"The ARN {arn!r} names nothing here.")
    return found[2]
