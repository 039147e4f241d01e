"""``stepwatch run train.py``: watch a script without a change to it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import click

from ..actions.policy import check_rules, parse_actions
from ..capture.budget import DEFAULT_SHARE, parse_budget
from ..capture.lifecycle import rank_and_size
from ..capture.output import Output
from ..capture.profiling import Profiler
from ..config import environment, find_profiler_config, read_profiler_config, runs_folder
from ..config.profiler_config import ProfilerConfig, Range
from ..config.variables import take_run_options
from ..errors import ConfigError, RunExists, StoreError, nearest
from ..formats import find_resume_point, format_names, load_format
from ..formats.manifest import RUN_KEY
from ..formats.settings import RunSettings
from ..forward.forwarder import parse_targets
from ..judge.parameters import parse_rules, rule_specs
from ..model.collection import parse_save
from ..plugins import registry
from ..rules import DEFAULT_RULES
from ..store import Store, open_store
from ..store.local import local_path
from .launch import Launcher, Script, default_run
from .launchers import (
    check_python,
    find_launch,
    given_options,
    is_this_python,
    launch,
    run_option,
)
from .main import LOCAL_RANK
from .script_command import SCRIPT_EPILOG, SCRIPT_SETTINGS
from .session import MakeFrameworks

HOOK_CONFIGS = "stepwatch.hook_configs"


def make_profiler(
    *,
    by_default: bool,
    profile: bool | None,
    interval_ms: int | None,
    trace: str,
    profiler_file: str | None,
) -> Profiler | None:
    """Return the profiler that the options ask for; ``None`` for none.

    Raises:
        ConfigError: An option is invalid.
    """
    if profile is False:
        return None
    file = profiler_file or find_profiler_config()
    requested = profile or interval_ms is not None or trace or file is not None
    if not requested:
        return Profiler.by_default() if by_default else None
    config = ProfilerConfig() if file is None else read_profiler_config(file)
    if config is not None and interval_ms is not None:
        config = replace(config, interval_ms=interval_ms)
    if config is not None and trace:
        config = replace(config, detailed=_parse_steps(trace))
    return Profiler(config, file)


def _parse_steps(text: str) -> Range:
    """Return the steps that a text such as ``100-102`` names.

    Example:
        >>> _parse_steps("100-102").first, _parse_steps("100-102").steps, _parse_steps("7").steps
        (100, 3, 1)
    """
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if last < first:
        raise ConfigError(f"--trace {text!r} is no step and no range of them, such as 100-102")
    return Range(first=first, steps=last - first + 1)


#: The options under headings, each by the first of its names; others come last.
_HEADINGS = {
    "Judge and react": ("--rules", "--on-finding", "--forward"),
    "What is saved, and where": (
        *("-o", "--save", "--name", "--project", "--tag", "--note", "--mirror", "--resume"),
        *("--tensorboard", "--format", "--hook-config"),
    ),
    "What it may cost": ("--budget", "--companion"),
    "See more": (
        *("--black-box", "--snapshot", "--profile", "--profile-every", "--trace"),
        "--profiler-config",
    ),
}


class _Run(click.Command):
    """Takes the options that were left to this process by who started its launcher, too."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under headings."""
        records = {one.opts[0]: one.get_help_record(ctx) for one in self.get_params(ctx)}
        named = {name for names in _HEADINGS.values() for name in names}
        rest = tuple(name for name in records if name not in named)
        for heading, names in {**_HEADINGS, "Options": rest}.items():
            rows = [row for name in names if (row := records.get(name)) is not None]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [*take_run_options(), *args])


@click.command(
    cls=_Run,
    context_settings=SCRIPT_SETTINGS,
    options_metavar="[OPTIONS]",
    epilog=SCRIPT_EPILOG,
)
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-o", "--run", "to", help="Where to write; by default a new folder in ./runs.")
@click.option(
    "--rules",
    multiple=True,
    help="Rules, such as loss_spike:window=64; separated by ';' or given several times. "
    "'default' stands for the default set, 'none' for no rule.",
)
@click.option(
    "--on-finding",
    multiple=True,
    help="What to do about a finding beside showing it, such as 'stop:rules=loss_*'; separated by "
    "';' or given several times. Or a policy file, .json or .toml.",
)
@click.option(
    "--forward",
    multiple=True,
    metavar="TRACKERS",
    help="Pass findings, the verdict and a few numbers on to the runs of trackers that the script "
    "has open, such as wandb or mlflow; auto (the default) for all that are found open, none for "
    "no tracker.",
)
@click.option(
    "--save", multiple=True, help="What to save, such as 'gradients:raw:every=100'; several times."
)
@click.option(
    "--format",
    "run_format",
    type=click.Choice(format_names()),
    default="native",
    show_default=True,
    help="How the run is laid out; smdebug for what reads only that.",
)
@click.option(
    "--hook-config",
    "hook_file",
    metavar="FILE",
    help="What to save, as a hook configuration of SageMaker Debugger; on SageMaker, or if "
    "$SMDEBUG_CONFIG_FILE_PATH is set, its file by default.",
)
@click.option(
    "--tensorboard",
    metavar="DIR",
    help="Also write files for TensorBoard: curves, and histograms of what is saved raw.",
)
@click.option(
    "--black-box",
    "black_box_mb",
    metavar="MB",
    type=click.IntRange(min=0),
    default=64,
    show_default=True,
    help="Size in MiB of the black box, which holds the last steps; 0 for none.",
)
@click.option(
    "--snapshot",
    metavar="every=K",
    default="",
    help="Keep the state before each so many TRAIN steps in the black box.",
)
@click.option(
    "--mirror",
    metavar="URL",
    help="Also copy the run there as it goes on, such as to s3://bucket/run.",
)
@click.option(
    "--resume",
    metavar="STEP",
    type=click.IntRange(min=0),
    help="Go on with the run at --run from this TRAIN step on, which the script begins with; "
    "what was stored from there on is replaced.",
)
@click.option(
    "--profile/--no-profile",
    default=None,
    help="Tell where the time goes and what the machine does; done by default, but not in "
    "smdebug's format.",
)
@click.option(
    "--profile-every",
    "interval_ms",
    metavar="MS",
    type=click.IntRange(min=10),
    help="Read the machine's devices this often; every 1000 ms by default, 500 with --profile.",
)
@click.option(
    "--trace",
    metavar="STEPS",
    default="",
    help="Record every operation of these global steps, such as 100 or 100-102, for Perfetto.",
)
@click.option(
    "--profiler-config",
    "profiler_file",
    metavar="FILE",
    help="What to profile, as a profiler configuration of SageMaker Debugger, which may change "
    "meanwhile; on SageMaker, or if $SMPROFILER_CONFIG_PATH is set, its file by default.",
)
@click.option(
    "--budget",
    metavar="SHARE",
    help="How much longer the training may take, 3% by default: where observing takes more, most "
    "steps are observed by their losses only. none for every step in full, the default with "
    "--snapshot: a replay needs them.",
)
@click.option(
    "--companion/--no-companion",
    default=False,
    help="Have rules judge and files written by a process of their own.",
)
@click.option("--name", default="", help="What people call the run, and its folder begins with.")
@click.option("--project", default="", help="What the run belongs to.")
@click.option("--tag", "tags", multiple=True, help="A word to find the run by; several times.")
@click.option("--note", default="", help="A text to keep with the run.")
@click.option("-m", "module", is_flag=True, help="SCRIPT is a module's name, as in python -m.")
@click.option("-q", "--quiet", is_flag=True, help="Say only what was found.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON, once it ends.")
def run(
    script: str,
    arguments: tuple[str, ...],
    to: str | None,
    rules: tuple[str, ...],
    on_finding: tuple[str, ...],
    forward: tuple[str, ...],
    save: tuple[str, ...],
    run_format: str,
    hook_file: str | None,
    tensorboard: str | None,
    black_box_mb: int,
    snapshot: str,
    mirror: str | None,
    resume: int | None,
    budget: str | None,
    name: str,
    project: str,
    tags: tuple[str, ...],
    note: str,
    *,
    companion: bool,
    module: bool,
    quiet: bool,
    as_json: bool,
    **profiling: Any,
) -> object:
    """Run SCRIPT, see inside its training, and say what goes wrong.

    The script gets its ARGUMENTS and needs no change. Its output, exit status and signals stay as
    they were. SCRIPT may be a launcher with its own options and script: torchrun, accelerate
    launch, deepspeed, python, uv run, mpirun, srun.
    """
    arguments = (*click.get_current_context().meta.get(LOCAL_RANK, ()), *arguments)
    load_format(run_format)
    specs = rule_specs(rules, DEFAULT_RULES)
    watched = parse_rules(specs)
    for text in save:
        parse_save(text)
    snapshot_every = _parse_snapshot(snapshot, black_box_mb)
    share = None if snapshot_every else DEFAULT_SHARE
    if budget is not None:
        share = parse_budget(budget)
    reactions = parse_actions(on_finding)
    check_rules(reactions, [rule.name for rule in watched])
    targets = parse_targets(forward or "auto")
    if script.startswith("-"):
        known = [
            name for option in click.get_current_context().command.params for name in option.opts
        ]
        raise ConfigError(f"no such option {script!r}{nearest(script, known)}")
    started = None if module else find_launch([script, *arguments])
    if started is not None and not is_this_python(started):
        check_python(started)
        url = to or default_run(runs_folder(), name or Path(started.script).stem)
        options = [run_option(url), *given_options(click.get_current_context())]
        return partial(launch, started.command(), options)
    if started is not None:
        script, arguments, module = started.script, started.arguments, started.is_module
    program = Script(script, arguments, is_module=module)
    program.check()
    configs = _read_hook_configs(hook_file, save)
    url = (
        to
        or (configs.run if configs else "")
        or default_run(runs_folder(), name or Path(script).stem)
    )
    rank, size = rank_and_size(environment())
    if resume is not None and (configs or to is None):
        raise ConfigError(
            "--resume needs --run, where the run lies that goes on; not --hook-config"
        )
    if rank == 0:  # the others join what the first has begun
        store = open_store(url)
        if resume:
            find_resume_point(store, resume, size, is_first=True)
        elif resume is None or not store.list(RUN_KEY):
            if configs:
                configs.check_target(store, url)
            else:
                _check_target(store, url, others=size > 1)
            _check_writable(store)
        if mirror is not None:
            _check_mirror(open_store(mirror), mirror, of=store, is_new=resume is None)
    board = None if tensorboard is None else open_store(tensorboard)
    if board is not None:
        _check_writable(board)
    output = Output(
        format=run_format,
        tensorboard=None if board is None else board.url,
        black_box_mb=black_box_mb,
        snapshot_every=snapshot_every,
        mirror=mirror,
        resume=resume,
        budget=share,
        companion=companion,
    )
    # A run that goes on, or has a copy, is begun in one place only.
    is_begun = configs or mirror is not None or resume is not None or size > 1
    module_flag = ["-m"] if module else []
    options = given_options(click.get_current_context())
    again = [] if is_begun else [*options, *module_flag, script, *arguments]
    return Launcher(
        program,
        url,
        rules=specs,
        policy=list(save),
        reactions=reactions,
        targets=targets,
        output=output,
        make_frameworks=configs.frameworks(url, output.tensorboard, mirror) if configs else None,
        profiler=make_profiler(by_default=run_format == "native" and not configs, **profiling),
        quiet=quiet,
        as_json=as_json,
        settings=RunSettings(name, project, tags, note),
        watches_others=again,
    ).launch


def _parse_snapshot(text: str, black_box_mb: int) -> int:
    """Return how often the state is to be kept; 0 for never."""
    if not text:
        return 0
    key, _, number = text.partition("=")
    if key != "every" or not number.isdecimal() or int(number) < 1:
        raise ConfigError(f"--snapshot {text!r} is not every=K; for example every=100")
    if not black_box_mb:
        raise ConfigError("--snapshot keeps the state in the black box; leave out --black-box 0")
    return int(number)


class HookConfigs(Protocol):
    """A hook configuration that was read by the package ``stepwatch-smdebug``."""

    @property
    def run(self) -> str:
        """Where it says to write; empty where it does not say."""

    def check_target(self, store: Store, url: str) -> None:
        """Raise RunExists for a store that holds what the hook may not overwrite."""

    def frameworks(self, run: str, tensorboard: str | None, mirror: str | None) -> MakeFrameworks:
        """Return what makes the hooks of frameworks as configured, which write there."""


def _read_hook_configs(file: str | None, save: Sequence[str]) -> HookConfigs | None:
    """Return what the given hook configuration, or that of the environment, says to save.

    ``None`` where there is none.
    """
    if file is not None and save:
        raise ConfigError("--hook-config and --save each say what to save; give one of them")
    if not registry.names(HOOK_CONFIGS):
        if file is not None:
            raise ConfigError(
                "--hook-config needs a package of its own; run: pip install stepwatch-smdebug"
            )
        return None
    plugin: Any = registry.load(HOOK_CONFIGS, "debugger")
    if file is None:  # what is typed counts more than what lies there
        file = None if save else plugin.find_hook_config()
    configs: HookConfigs | None = None if file is None else plugin.HookConfigs.read(file)
    return configs


def _check_target(store: Store, url: str, *, others: bool) -> None:
    """Raise before training for a store that holds something.

    Args:
        others: Whether other workers may have begun to write to it.
    """
    if store.list("run.json"):
        raise RunExists(f"{url} already holds a run; give another --run, or delete it")
    if not others and store.list():
        raise ConfigError(f"{url} is not empty and holds no run; give another --run")


def _check_mirror(store: Store, url: str, *, of: Store, is_new: bool) -> None:
    """Raise before training for a mirror that holds something; one out of reach may come to be."""
    if store.url == of.url:
        raise ConfigError(f"{url} is the run itself; give another --mirror")
    with suppress(StoreError):
        if is_new and store.list():
            raise RunExists(f"{url} already holds something; give another --mirror, or empty it")


def _check_writable(store: Store) -> None:
    """Raise for a store that refuses, in words that do not name the key of this trial."""
    try:
        store.put(_PROBE, b"")
        store.delete(_PROBE)
    except StoreError as error:
        why = os.strerror(error.errno) if error.errno else error
        raise StoreError(
            f"cannot write to {local_path(store.url)}: {why}; give another place"
        ) from error


_PROBE = "writable"
