"""How S3 is reached, as AWS's own programs would: by variables and by profiles in files.

Most variables are read by the library that speaks S3. Here is what it does not know: the files,
and what must be right before it is called.
"""

from __future__ import annotations

import configparser
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import ConfigError, nearest
from ..plugins.registry import require
from .variables import environment

# Files are read again after this time: who renews keys writes the new ones there.
_READ_AGAIN = timedelta(minutes=5)
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
# Where one of these is set, the keys come from there and no profile is looked for.
_OTHER_KEYS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
# Settings of a profile that say where keys come from, if they are not in it.
_OF_BOTO3 = {"role_arn", "sso_session", "sso_start_url", "credential_process"}
_TRUE = ("1", "true", "yes", "y", "on")
#: What a program that signs requests is given.
Keys = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AwsAccess:
    """How to reach S3.

    Args:
        endpoint: URL of the server; empty for that of AWS.
        region: Empty for the default.
        certificates: Of authorities to be trusted besides those of the system, as PEM.
        keys: Returns the keys of a profile, as they are now: ``access_key_id``,
            ``secret_access_key``, ``token`` and ``expires_at``, when to ask again. ``None`` where
            they are not in files.
    """

    endpoint: str = ""
    region: str = ""
    certificates: bytes = b""
    keys: Callable[[], Keys] | None = field(default=None, compare=False)


def aws_access(variables: Mapping[str, str] | None = None) -> AwsAccess:
    """Return how S3 is reached, by the environment and the files of AWS.

    Variables count more than the profile, which is ``$AWS_PROFILE`` or ``default`` in
    ``~/.aws/config`` and ``~/.aws/credentials``, or the files that ``$AWS_CONFIG_FILE`` and
    ``$AWS_SHARED_CREDENTIALS_FILE`` name. A profile without keys of its own (that assumes a role,
    or signs in elsewhere) is left to boto3.

    Raises:
        ConfigError: There is no such profile, a file is missing or damaged, the endpoint is no
            URL, or there can be no keys.
        MissingDependency: The profile needs boto3.
    """
    variables = environment() if variables is None else variables
    profile = _profile(variables)
    endpoint = _first(variables, _ENDPOINTS) or profile.get("endpoint_url", "")
    _check_endpoint(endpoint)
    region = _first(variables, _REGIONS) or profile.get("region", "")
    bundle = variables.get("AWS_CA_BUNDLE") or profile.get("ca_bundle", "")
    return AwsAccess(endpoint, region, _certificates(bundle), _keys(variables, profile))


def _keys(variables: Mapping[str, str], profile: Mapping[str, str]) -> Callable[[], Keys] | None:
    anonymous = variables.get("AWS_SKIP_SIGNATURE", "").lower() in _TRUE
    if anonymous or _first(variables, _OTHER_KEYS):
        return None
    if "aws_access_key_id" in profile:
        return partial(_keys_in_files, dict(variables))
    if "AWS_PROFILE" in variables or _OF_BOTO3 & set(profile):
        return _keys_of_boto3(variables.get("AWS_PROFILE") or "default")
    if variables.get("AWS_EC2_METADATA_DISABLED", "").lower() in _TRUE:
        raise ConfigError(
            "no credentials for S3; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "AWS_PROFILE, or AWS_SKIP_SIGNATURE=true for what everybody may read"
        )
    return None  # the machine may have some, as those of EC2 do


def _profile(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the profile, of both files; empty if none is named and there is none."""
    home = Path(variables.get("HOME") or variables.get("USERPROFILE") or "~").expanduser()
    config = variables.get("AWS_CONFIG_FILE") or str(home / ".aws" / "config")
    keys = variables.get("AWS_SHARED_CREDENTIALS_FILE") or str(home / ".aws" / "credentials")
    sections: dict[str, dict[str, str]] = {}
    for path in (config, keys):
        for title, values in _read(path).items():
            name = title.removeprefix("profile ").strip()
            sections[name] = sections.get(name, {}) | values
    name = variables.get("AWS_PROFILE", "")
    if name and name not in sections:
        there = ", ".join(sorted(sections)) or "no profile"
        raise ConfigError(
            f"AWS_PROFILE is {name!r}; {config} and {keys} have {there}{nearest(name, sections)}"
        )
    return sections.get(name or "default", {})


def _read(path: str) -> dict[str, dict[str, str]]:
    # Keys may have a percent sign; what AWS calls default is a section like others.
    parser = configparser.ConfigParser(interpolation=None, default_section="\0")
    try:
        parser.read(Path(path).expanduser(), encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"cannot read {path}, where AWS keeps profiles: {reason}") from None
    return {title: dict(parser[title]) for title in parser.sections()}


def _keys_in_files(variables: Mapping[str, str]) -> Keys:
    profile = _profile(variables)
    return {
        "access_key_id": profile.get("aws_access_key_id", ""),
        "secret_access_key": profile.get("aws_secret_access_key", ""),
        "token": profile.get("aws_session_token"),
        "expires_at": datetime.now(timezone.utc) + _READ_AGAIN,
    }


def _keys_of_boto3(profile: str) -> Callable[[], Keys]:
    boto3: Any = require("boto3", extra="s3-profiles")
    held = boto3.Session(profile_name=profile).get_credentials()
    if held is None:
        raise ConfigError(f"the profile {profile!r} of AWS has no credentials; run: aws configure")

    def keys() -> Keys:
        now = held.get_frozen_credentials()
        return {
            "access_key_id": now.access_key,
            "secret_access_key": now.secret_key,
            "token": now.token,
            "expires_at": datetime.now(timezone.utc) + _READ_AGAIN,
        }

    return keys


def _certificates(path: str) -> bytes:
    try:
        return Path(path).expanduser().read_bytes() if path else b""
    except OSError as error:
        raise ConfigError(f"AWS_CA_BUNDLE {path}: {error.strerror}") from None


def _check_endpoint(endpoint: str) -> None:
    parts = urlsplit(endpoint)
    if endpoint and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise ConfigError(
            f"the endpoint of S3 must be a URL such as https://host:9000, got {endpoint!r}; "
            f"correct {' or '.join(_ENDPOINTS[:2])}"
        )


def _first(variables: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((variables[name] for name in names if variables.get(name)), "")
