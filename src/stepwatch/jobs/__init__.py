"""Training processes that we launch, the rules beside them, and what became of both.

A job is described by values (``spec``), noted in one file of records (``records``) and carried
out by a process of its own (``runner``), which outlives the one that submitted it. Whoever asks
reads the records; nobody else changes them.
"""

from .job import Job, attach, list_jobs
from .spec import JobSpec, RuleSpec

__all__ = ["Job", "JobSpec", "RuleSpec", "attach", "list_jobs"]
