"""Tags of training jobs: texts that mean nothing here, and are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...errors import RequestRefused
from ..spec import JobSpec
from .account import Account, name_in

Asked = Mapping[str, Any]
Tags = dict[str, str]


def add(account: Account, asked: Asked) -> dict[str, Any]:
    """Add tags, or give them other values; answers with all."""
    new = _by_key(asked["Tags"])
    return {"Tags": _listed(_changed(account, asked, lambda tags: {**tags, **new}))}


def delete(account: Account, asked: Asked) -> dict[str, Any]:
    """Remove tags that may be there."""
    gone = set(asked["TagKeys"])
    _changed(account, asked, lambda tags: {k: v for k, v in tags.items() if k not in gone})
    return {}


def show_list(account: Account, asked: Asked) -> dict[str, Any]:
    """List the tags of a job."""
    spec = account.records.get(_job(account, asked)).spec
    return {"Tags": _listed(_by_key(spec.request.get("Tags", ())))}


def _changed(account: Account, asked: Asked, change: Callable[[Tags], Tags]) -> Tags:
    def changed(spec: JobSpec) -> JobSpec:
        tags = change(_by_key(spec.request.get("Tags", ())))
        return replace(spec, request={**spec.request, "Tags": _listed(tags)})

    spec = account.records.change(_job(account, asked), changed)
    return _by_key(spec.request["Tags"])


def _job(account: Account, asked: Asked) -> str:
    """Return the name of the job that an ARN means."""
    name = name_in(asked["ResourceArn"])
    for known in account.records.names():
        if known.lower() == name:
            return known
    raise RequestRefused("ValidationException", "Requested resource not found.")


def _by_key(tags: Any) -> Tags:
    return {tag["Key"]: tag["Value"] for tag in tags}


def _listed(tags: Tags) -> list[Tags]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
