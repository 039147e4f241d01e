"""What estimators of tests have in common; imported by name."""

from __future__ import annotations

from sagemaker.pytorch import PyTorch

from tests.support.sagemaker.served import ROLE, SCRIPTS

COMMON = {
    "role": ROLE,
    "instance_count": 1,
    "instance_type": "ml.m5.xlarge",
    "entry_point": "train.py",
    "source_dir": str(SCRIPTS),
}


def pytorch(place, **more):
    """Return an estimator that trains ``scripts/train.py``, unless told otherwise."""
    versions = {"framework_version": "2.0.1", "py_version": "py310"}
    return PyTorch(**{**COMMON, **versions, "output_path": f"{place}/out", **more})
