"""Requests of ``ModelTrainer``, of version 3 of the SDK, in the words of the estimators before it.

It puts the script into the channel ``code``, and what to do with it into the channel
``sm_drivers``, whose program a container runs. Here the program is not run: the job trains by the
script, and its processes find each other as in every job. It has no word for hooks, rules and
profiling, so these come in a variable of its environment.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from stepwatch.errors import RequestRefused
from stepwatch.store import open_store

from .access import RequestValidator

Request = Mapping[str, Any]

#: The variable of a job with the blocks of Debugger: JSON, or the name of a file of the source.
DEBUGGER = "STEPWATCH_DEBUGGER"

_CODE, _DRIVERS = "code", "sm_drivers"
#: The blocks of a request that configure hooks, rules and profiling.
DEBUGGER_BLOCKS = (
    "DebugHookConfig",
    "DebugRuleConfigurations",
    "ProfilerConfig",
    "ProfilerRuleConfigurations",
    "TensorBoardOutputConfig",
)
_MOST_BYTES = 1 << 20
_PYTHONS = ("python", "python3")


def as_estimator_request(request: Request) -> Request:
    """Return the request that an estimator would make; others than of ``ModelTrainer`` as they are.

    Args:
        request: Valid by the description of the API.

    Raises:
        RequestRefused: It trains by something else than a Python script of its source, or what
            its variable holds is not valid.
    """
    channels = {one["ChannelName"]: one for one in request.get("InputDataConfig", ())}
    source = _url(channels.get(_CODE))
    if _DRIVERS in channels:
        request = {**request, **_script(request, _url(channels[_DRIVERS]), source)}
    text = request.get("Environment", {}).get(DEBUGGER, "").strip()
    return _with_blocks(request, text, source) if text else request


def processes_a_node(request: Request) -> int:
    """Return how many processes ``ModelTrainer`` wants on each instance."""
    return int(request.get(_PROCESSES, 1))


# Of the requests that ``as_estimator_request`` returns; the API has no such key.
_PROCESSES = "ProcessesANode"


def _script(request: Request, drivers: str, source: str) -> dict[str, Any]:
    """Return what says which script trains, and how often."""
    code = _json(drivers, "sourcecode.json")
    distributed = _json(drivers, "distributed.json")
    script, given = str(code.get("entry_script") or ""), dict(request.get("HyperParameters", {}))
    if code.get("command"):
        if given:
            raise _refused("hyperparameters do not reach a command; give entry_script instead")
        script = _script_of(shlex.split(code["command"]))
        if code.get("args"):
            raise _refused("args do not reach a command; give hyperparameters instead")
    folder = str(code.get("source_dir") or "")
    if not (script and source):
        raise _refused("it has no source_dir with a script; give both source_dir and entry_script")
    if folder.endswith(".tar.gz"):
        source = f"{source.rstrip('/')}/{folder.rpartition('/')[2]}"
    own = {"sagemaker_program": script, "sagemaker_submit_directory": source}
    return {
        "HyperParameters": {**given, **{key: json.dumps(text) for key, text in own.items()}},
        _PROCESSES: distributed.get("process_count_per_node") or 1,
    }


def _script_of(words: list[str]) -> str:
    if len(words) != 2 or words[0].rpartition("/")[2] not in _PYTHONS:
        raise _refused(f"the command {' '.join(words)!r} is not a Python and a script alone")
    return words[1]


def _with_blocks(request: Request, text: str, source: str) -> Request:
    """Return a request with the blocks of Debugger that it lacks."""
    try:
        blocks = json.loads(text) if text.startswith("{") else _json(source, text)
    except (ValueError, RecursionError) as error:
        raise _refused(f"{DEBUGGER} is no JSON: {error}") from None
    unknown = sorted(set(blocks) - {*DEBUGGER_BLOCKS})
    if unknown:
        raise _refused(f"{DEBUGGER} has {unknown[0]!r}; it may have {', '.join(DEBUGGER_BLOCKS)}")
    output = {"S3OutputPath": request["OutputDataConfig"]["S3OutputPath"]}
    for name in ("DebugHookConfig", "ProfilerConfig", "TensorBoardOutputConfig"):
        if isinstance(blocks.get(name), dict):
            blocks[name] = {**output, **blocks[name]}
    for name in ("DebugRuleConfigurations", "ProfilerRuleConfigurations"):
        if isinstance(blocks.get(name), list):
            blocks[name] = [_with_image(one) for one in blocks[name]]
    checked = RequestValidator("sagemaker").checked("CreateTrainingJob", {**blocks, **request})
    return {**checked, **{key: request[key] for key in (_PROCESSES,) if key in request}}


def _with_image(rule: Any) -> Any:
    return {"RuleEvaluatorImage": "stepwatch", **rule} if isinstance(rule, dict) else rule


def _json(folder: str, name: str) -> dict[str, Any]:
    """Return what a small file of JSON in a channel holds."""
    try:
        found = json.loads(open_store(folder).get(name, 0, _MOST_BYTES))
    except FileNotFoundError:
        raise _refused(f"there is no {name} at {folder}") from None
    except (ValueError, RecursionError) as error:
        raise _refused(f"{name} at {folder} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise _refused(f"{name} at {folder} holds no object")
    return found


def _url(channel: Request | None) -> str:
    source = (channel or {}).get("DataSource", {}).get("S3DataSource")
    return str(source["S3Uri"]) if source else ""


def _refused(why: str) -> RequestRefused:
    return RequestRefused("ValidationException", f"The request cannot be carried out: {why}.")
