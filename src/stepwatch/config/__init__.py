"""What Stepwatch is told from outside; the only reader of the environment."""

from __future__ import annotations

from .aws import AwsAccess, aws_access
from .hook_json import find_hook_config, read_hook_config, read_hook_configs, said_of
from .messages import MailServer, mail_server, sms_gateway, webhook_url
from .profiler_json import find_profiler_config, parse_profiler_config, read_profiler_config
from .variables import (
    environment,
    is_in_sagemaker,
    jobs_at_once,
    jobs_folder,
    let_cupti_go,
    runs_folder,
    server_token,
)

__all__ = [
    "AwsAccess",
    "MailServer",
    "aws_access",
    "environment",
    "find_hook_config",
    "find_profiler_config",
    "is_in_sagemaker",
    "jobs_at_once",
    "jobs_folder",
    "let_cupti_go",
    "mail_server",
    "parse_profiler_config",
    "read_hook_config",
    "read_hook_configs",
    "read_profiler_config",
    "runs_folder",
    "said_of",
    "server_token",
    "sms_gateway",
    "webhook_url",
]
