"""What a run was started with, as names and values that runs can be compared by."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from ..trial import Trial


def settings_of(trial: Trial) -> dict[str, str]:
    """Return what a run was started with, by name.

    These are the arguments of its script, what the script itself told of its configuration, and
    what it ran with.
    """
    manifest = trial.reader.manifest
    found = arguments(manifest.command)
    found |= dict(configured(trial.settings.config))
    found |= {f"version of {name}": version for name, version in manifest.versions.items()}
    found["workers"] = str(manifest.num_workers)
    found["machine"] = manifest.host
    found["script's SHA-256"] = manifest.script_sha256[:12]
    return {name: value for name, value in found.items() if value}


def configured(config: Mapping[str, object], under: str = "") -> Iterator[tuple[str, str]]:
    """Yield the values of a configuration as text; what is nested is joined by dots.

    Example:
        >>> dict(configured({"lr": 0.1, "model": {"layers": 2, "bias": True}, "sizes": [1, 2]}))
        {'lr': '0.1', 'model.layers': '2', 'model.bias': 'true', 'sizes': '[1, 2]'}
    """
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from configured(value, f"{under}{name}.")
        else:
            yield f"{under}{name}", value if isinstance(value, str) else json.dumps(value)


def arguments(command: Sequence[str]) -> dict[str, str]:
    """Return the arguments of a command by name; those without a name are counted.

    Example:
        >>> arguments(["train.py", "--lr", "0.1", "--size=8", "data", "--fast"])
        {'script': 'train.py', 'lr': '0.1', 'size': '8', 'argument 1': 'data', 'fast': 'yes'}
    """
    found: dict[str, str] = {}
    waiting, number = "", 0
    for index, one in enumerate(command):
        is_option = one.startswith("-") and not _is_number(one)
        if waiting and not is_option and "=" not in one:
            found[waiting], waiting = one, ""
            continue
        waiting = ""
        name, has_value, value = one.lstrip("-").partition("=")
        if index == 0:
            found["script"] = one
        elif has_value and name:
            found[name] = value
        elif is_option:
            found[name], waiting = "yes", name if one.startswith("--") or len(name) == 1 else ""
        else:
            number += 1
            found[f"argument {number}"] = one
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
