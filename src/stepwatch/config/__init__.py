"""The configuration of Stepwatch from outside; the only reader of the environment."""

from __future__ import annotations

from .aws import AwsAccess, aws_access
from .messages import MailServer, mail_server, notify_urls, sms_gateway, webhook_url
from .profiler_config import find_profiler_config, parse_profiler_config, read_profiler_config
from .variables import (
    environment,
    is_in_sagemaker,
    jobs_at_once,
    jobs_folder,
    let_cupti_go,
    runs_folder,
    server_token,
    state_folder,
)

__all__ = [
    "AwsAccess",
    "MailServer",
    "aws_access",
    "environment",
    "find_profiler_config",
    "is_in_sagemaker",
    "jobs_at_once",
    "jobs_folder",
    "let_cupti_go",
    "mail_server",
    "notify_urls",
    "parse_profiler_config",
    "read_profiler_config",
    "runs_folder",
    "server_token",
    "sms_gateway",
    "state_folder",
    "webhook_url",
]
