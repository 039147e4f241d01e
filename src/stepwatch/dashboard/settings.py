"""What a run was started with, as names and values that runs can be compared by."""

from __future__ import annotations

from collections.abc import Sequence

from ..formats.manifest import Manifest


def settings_of(manifest: Manifest) -> dict[str, str]:
    """Return the arguments of the script of a run, and what it ran with, by name."""
    found = arguments(manifest.command)
    found |= {f"version of {name}": version for name, version in manifest.versions.items()}
    found["workers"] = str(manifest.num_workers)
    found["machine"] = manifest.host
    found["script's SHA-256"] = manifest.script_sha256[:12]
    return {name: value for name, value in found.items() if value}


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
