"""What two runs were started with, where that is not the same."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..formats.findings import read_statuses
from .trial import Trial


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that differs between two runs.

    Args:
        what: Its name.
        here: In the first run; empty for none.
        there: In the second run.
    """

    what: str
    here: str
    there: str


def other_settings(here: Trial, there: Trial) -> list[Setting]:
    """Return the settings that differ: hints at why two runs part."""
    mine, theirs = _settings(here), _settings(there)
    return [
        Setting(what, mine.get(what, ""), theirs.get(what, ""))
        for what in {**mine, **theirs}
        if mine.get(what, "") != theirs.get(what, "")
    ]


def _settings(trial: Trial) -> dict[str, str]:
    manifest = trial.reader.manifest
    rules = sorted(str(status["rule"]) for status in read_statuses(trial.store))
    return {
        "command": " ".join(manifest.command),
        "script (SHA-256)": manifest.script_sha256[:16],
        "folder": manifest.folder,
        "host": manifest.host,
        "workers": str(manifest.num_workers),
        "format": manifest.run_format,
        **{f"version of {name}": version for name, version in manifest.versions.items()},
        **{f"saved of {one.name}": _saved(asdict(one.policy)) for one in manifest.collections},
        "rules": ", ".join(rules),
    }


def _saved(policy: dict[str, object]) -> str:
    """Return what is saved and when, in one line, without what is never saved."""
    return "; ".join(f"{what} {_schedule(when)}" for what, when in policy.items() if when)


def _schedule(when: object) -> str:
    fields: dict[str, object] = dict(when)  # type: ignore[call-overload]
    steps = fields.pop("steps")
    if steps:
        return f"steps={'+'.join(map(str, sorted(steps)))}"  # type: ignore[call-overload]
    return ",".join(f"{name}={value}" for name, value in fields.items() if value is not None)
