"""``stepwatch run train.py``: watch a script without a change to it."""

from __future__ import annotations

from collections.abc import Sequence

import click

from .. import registry
from ..capture.worker import rank_and_size
from ..collection import parse_save
from ..config import environment, runs_folder
from ..errors import ConfigError, RunExists
from ..rules import DEFAULT_RULES
from ..rules.parameters import parse_rules, split_specs
from ..store import Store, open_store
from .launch import Launcher, Script, default_run


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
    default="warn",
    show_default=True,
    help="What to do about a finding: warn, stop, or an installed action.",
)
@click.option(
    "--save", multiple=True, help="What to save, such as 'gradients:raw:every=100'; several times."
)
@click.option("-m", "module", is_flag=True, help="SCRIPT is a module's name, as in python -m.")
@click.option("-q", "--quiet", is_flag=True, help="Say only what was found.")
def run(
    script: str,
    arguments: tuple[str, ...],
    to: str | None,
    rules: tuple[str, ...],
    on_finding: str,
    save: tuple[str, ...],
    *,
    module: bool,
    quiet: bool,
) -> object:
    """Run SCRIPT with its ARGUMENTS, see inside its training, and say what goes wrong.

    The script needs no change. Its output, exit status and signals stay as they were.
    """
    specs = rule_specs(rules)
    parse_rules(specs)
    for text in save:
        parse_save(text)
    action = registry.load("stepwatch.actions", on_finding)
    program = Script(script, arguments, is_module=module)
    program.check()
    url = to or default_run(runs_folder(), script)
    if rank_and_size(environment())[0] == 0:  # the others join what the first has begun
        _check_place(open_store(url), url)
    return Launcher(program, url, rules=specs, policy=list(save), action=action, quiet=quiet).launch


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


def _check_place(store: Store, url: str) -> None:
    """Raise before training for a place that cannot be written to, or holds a run."""
    if store.list("run.json"):
        raise RunExists(f"{url} already holds a run; give another --run, or delete it")
    if store.list():
        raise ConfigError(f"{url} is not empty and holds no run; give another --run")
    store.put(_PROBE, b"")
    store.delete(_PROBE)


_PROBE = "writable"
