"""``stepwatch run train.py``: watch a script without a change to it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import click

from ..actions.policy import check_rules, parse_actions
from ..capture.worker import rank_and_size
from ..collection import parse_save
from ..config import environment, find_hook_config, read_hook_configs, runs_folder
from ..errors import ConfigError, RunExists, StoreError
from ..formats import FORMATS
from ..formats.manifest import Manifest
from ..formats.notes import RUN_KEY
from ..formats.resume import find_start
from ..formats.smdebug.layout import END_KEY
from ..hook_config import HookConfig
from ..rules import DEFAULT_RULES
from ..rules.parameters import parse_rules
from ..specs import split_specs
from ..store import Store, open_store
from .configured import KINDS
from .launch import Launcher, Script, default_run
from .profiled import make_profiler, profiling_options


@click.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
    },
    options_metavar="[OPTIONS]",
    epilog="What follows SCRIPT is the script's own.",
)
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--run", "to", help="Where to write; by default a new folder in ./runs.")
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
    "--save", multiple=True, help="What to save, such as 'gradients:raw:every=100'; several times."
)
@click.option(
    "--format",
    "run_format",
    type=click.Choice(FORMATS),
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
@profiling_options
@click.option("-m", "module", is_flag=True, help="SCRIPT is a module's name, as in python -m.")
@click.option("-q", "--quiet", is_flag=True, help="Say only what was found.")
def run(
    script: str,
    arguments: tuple[str, ...],
    to: str | None,
    rules: tuple[str, ...],
    on_finding: tuple[str, ...],
    save: tuple[str, ...],
    run_format: str,
    hook_file: str | None,
    tensorboard: str | None,
    black_box_mb: int,
    snapshot: str,
    mirror: str | None,
    resume: int | None,
    *,
    module: bool,
    quiet: bool,
    **profiling: Any,
) -> object:
    """Run SCRIPT with its ARGUMENTS, see inside its training, and say what goes wrong.

    The script needs no change. Its output, exit status and signals stay as they were.
    """
    specs = rule_specs(rules)
    watched = parse_rules(specs)
    for text in save:
        parse_save(text)
    snapshot_every = _parse_snapshot(snapshot, black_box_mb)
    reactions = parse_actions(on_finding)
    check_rules(reactions, [rule.name for rule in watched])
    program = Script(script, arguments, is_module=module)
    program.check()
    configs = _hook_configs(hook_file, save)
    own = next((one.run for one in configs.values() if isinstance(one, HookConfig)), "")
    url = to or own or default_run(runs_folder(), script)
    rank, size = rank_and_size(environment())
    if resume is not None and (configs or to is None):
        raise ConfigError(
            "--resume needs --run, where the run lies that goes on; not --hook-config"
        )
    if rank == 0:  # the others join what the first has begun
        if resume and to is not None:
            find_start(open_store(to), resume, size, is_first=True)
        elif resume is None or not open_store(url).list(RUN_KEY):
            (_check_place_of_hook if configs else _check_place)(open_store(url), url)
        if mirror is not None:
            _check_mirror(open_store(mirror), mirror, of=open_store(url), is_new=resume is None)
    board = None if tensorboard is None else open_store(tensorboard)
    if board is not None:
        _check_writable(board)
    return Launcher(
        program,
        url,
        rules=specs,
        policy=list(save),
        reactions=reactions,
        run_format=run_format,
        tensorboard=None if board is None else board.url,
        hook_configs={kind: _placed(one, url, board, mirror) for kind, one in configs.items()},
        black_box_mb=black_box_mb,
        snapshot_every=snapshot_every,
        mirror=mirror,
        resume=resume,
        profiler=make_profiler(by_default=run_format == "native" and not configs, **profiling),
        quiet=quiet,
    ).launch


def rule_specs(texts: Sequence[str]) -> list[str]:
    """Return rule specs with ``default`` and ``none`` resolved.

    Example:
        >>> rule_specs(["none"]), rule_specs(["loss_spike; overfit"])
        ([], ['loss_spike', 'overfit'])
    """
    if not texts:
        return list(DEFAULT_RULES)
    specs: list[str] = []
    for spec in (spec for text in texts for spec in split_specs(text)):
        if spec == "default":
            specs.extend(DEFAULT_RULES)
        elif spec != "none":
            specs.append(spec)
    return specs


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


def _hook_configs(file: str | None, save: Sequence[str]) -> dict[str, HookConfig]:
    """Return what the given hook configuration, or that of the environment, says to each framework.

    Empty where there is none.
    """
    if file is None:  # what is typed counts more than what lies there
        file = None if save else find_hook_config()
    elif save:
        raise ConfigError("--hook-config and --save each say what to save; give one of them")
    return {} if file is None else read_hook_configs(dict.fromkeys(KINDS.values()), file)


def _placed(config: HookConfig, url: str, board: Store | None, mirror: str | None) -> HookConfig:
    """Return the configuration with the places that were given on the command line."""
    tensorboard = config.tensorboard if board is None else board.url
    return replace(config, run=url, tensorboard=tensorboard, mirror=mirror)


def _check_place_of_hook(store: Store, url: str) -> None:
    """Raise before training for a place that a hook may not write to, as it goes by smdebug.

    What an unfinished run left is no hindrance: on SageMaker a training is restarted so.
    """
    notes = [Manifest.from_json(RUN_KEY, store.get(RUN_KEY)) for _ in store.list(RUN_KEY)]
    if store.list(END_KEY) or any(note.run_format != "smdebug" for note in notes):
        raise RunExists(f"{url} already holds a run; give another --run, or delete it")
    _check_writable(store)


def _check_place(store: Store, url: str) -> None:
    """Raise before training for a place that cannot be written to, or holds a run."""
    if store.list("run.json"):
        raise RunExists(f"{url} already holds a run; give another --run, or delete it")
    if store.list():
        raise ConfigError(f"{url} is not empty and holds no run; give another --run")
    _check_writable(store)


def _check_mirror(store: Store, url: str, *, of: Store, is_new: bool) -> None:
    """Raise before training for a mirror that holds something; one out of reach may come to be."""
    if store.url == of.url:
        raise ConfigError(f"{url} is the run itself; give another --mirror")
    with suppress(StoreError):
        if is_new and store.list():
            raise RunExists(f"{url} already holds something; give another --mirror, or empty it")


def _check_writable(store: Store) -> None:
    """Raise for a place that refuses; of what is only tried there nothing is said."""
    try:
        store.put(_PROBE, b"")
        store.delete(_PROBE)
    except StoreError as error:
        why = os.strerror(error.errno) if error.errno else error
        raise StoreError(f"cannot write to {store.url}: {why}; give another place") from error


_PROBE = "writable"
