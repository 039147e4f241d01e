"""The verbs that are given a run, each with arguments that have it do all that it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepwatch.cli.main import main

#: Verbs that write nothing, by what they are asked; ``{run}`` lies in ``{folder}``.
READING: Mapping[str, Sequence[str]] = {
    "show": ["show", "{run}"],
    "show a tensor": ["show", "{run}", "--tensor", "layer0.weight"],
    "show as JSON": ["show", "{run}", "--json"],
    "check": ["check", "{run}"],
    **{
        f"check as {style}": ["check", "{run}", "--format", style]
        for style in ("json", "junit", "sarif", "github", "markdown", "advice")
    },
    "watch": ["watch", "{run}"],
    "audit": ["audit", "{run}"],
    "diff": ["diff", "{run}", "{run}"],
    "profile": ["profile", "{run}"],
    "blackbox": ["blackbox", "{run}"],
    "runs": ["runs", "{folder}"],
    "verify": ["verify", "{run}"],
}
#: Verbs that run again what the run recorded, if they are let.
RUNNING: Mapping[str, Sequence[str]] = {
    "blame": ["blame", "{run}", "--step", "3"],
    "prove": ["prove", "{run}"],
    "replay": ["replay", "{run}", "--step", "3"],
}
#: Verbs that write, to names that begin with ``{out}`` or, to compact, into the run.
WRITING: Mapping[str, Sequence[str]] = {
    "report": ["report", "{run}", "-o", "{out}.html"],
    "mirror": ["mirror", "{run}", "{out}-mirror"],
    "convert to TensorBoard": ["convert", "{run}", "{out}-tensorboard", "--to", "tensorboard"],
    "convert to smdebug": ["convert", "{run}", "{out}-smdebug", "--to", "smdebug"],
    "compact": ["compact", "{run}"],
}


def run_verb(arguments: Sequence[str], **names: str) -> int:
    """Run a verb in this process, with names in place of their braces; return its exit status."""
    try:
        main([one.format(**names) for one in arguments])
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
