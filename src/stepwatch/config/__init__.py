"""What Stepwatch is told from outside; the only reader of the environment."""

from __future__ import annotations

from .aws import AwsAccess, aws_access
from .hook_json import find_hook_config, read_hook_config
from .messages import MailServer, mail_server, webhook_url
from .variables import environment, is_in_sagemaker, jobs_at_once, jobs_folder, runs_folder

__all__ = [
    "AwsAccess",
    "MailServer",
    "aws_access",
    "environment",
    "find_hook_config",
    "is_in_sagemaker",
    "jobs_at_once",
    "jobs_folder",
    "mail_server",
    "read_hook_config",
    "runs_folder",
    "webhook_url",
]
