"""What Stepwatch is told from outside; the only reader of the environment."""

from __future__ import annotations

from .hook_json import find_hook_config, read_hook_config
from .messages import MailServer, mail_server, webhook_url
from .variables import environment, is_in_sagemaker, runs_folder

__all__ = [
    "MailServer",
    "environment",
    "find_hook_config",
    "is_in_sagemaker",
    "mail_server",
    "read_hook_config",
    "runs_folder",
    "webhook_url",
]
