"""The command ``stepwatch``: finds the verb and turns our errors into one line.

The verbs are entry points, ours and everybody's; only the one that is called is imported. The
help imports none of ours: what it says of them stands here.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import wraps
from importlib import import_module
from typing import Any

import click

from .. import __version__
from ..errors import StepwatchError, StoreError
from ..plugins import registry

GROUP = "stepwatch.commands"
ERROR_STATUS = 2
#: Where the context of a verb keeps an argument of the script that a launcher put before the verb.
LOCAL_RANK = "stepwatch.local_rank"
#: Options of every verb that has none of that name, and what a context's ``meta`` has of them.
NO_COLOR, QUIET, VERBOSE, OUTPUT = "--no-color", "--quiet", "--verbose", "--output"

#: Our verbs by heading, each with the first sentence of its docstring, which a test compares.
VERBS: Mapping[str, Mapping[str, str]] = {
    "Watch a training": {
        "run": "Run SCRIPT, see inside its training, and say what goes wrong",
        "certify": "Run the first steps of SCRIPT under changes that must not matter",
        "watch": "Follow RUN until it ends and print what the rules find",
        "jobs": "Run trainings as jobs that outlive this terminal",
    },
    "Look at runs": {
        "runs": "List the runs in FOLDER, by default ./runs or $STEPWATCH_RUNS",
        "show": "Show what is in RUN",
        "check": "Judge every step of RUNS by rules, and say what began it",
        "audit": "Say what is wrong with the tensors in CHECKPOINT, a file or folder",
        "rules": "List the rules that can be asked for",
        "diff": "Say where RUN_A and RUN_B part: the first step and tensor",
        "profile": "Show where the time of RUN went, and how busy its machines were",
        "blackbox": "Show the last steps of RUN, also of one that was killed",
        "replay": "Run a step of RUN again, and say whether it is the same",
        "prove": "Run the step of a finding again under changes, to prove its cause",
        "blame": "Say what each row of a step's batch does to loss and gradient",
        "report": "Write what is known of RUNS into a self-contained page each",
    },
    "Keep runs": {
        "mirror": "Copy RUN to URL, such as s3://bucket/run, while it goes on",
        "compact": "Merge the parts of RUN, so that it opens and reads faster",
        "convert": "Write the run SRC to DST in another format; SRC stays as it is",
        "verify": "Read all of RUN, and say what in it is damaged",
    },
    "Services": {
        "dash": "Show runs as pages in a browser, live while they train",
        "serve": "Answer SageMaker's own clients: their jobs run on this machine",
        "mcp": "Answer agents about the runs in FOLDER, by MCP",
        "skill": "Print or install SKILL.md, by which agents learn to use Stepwatch",
    },
}


class _Verbs(click.Group):
    """Verbs that are imported when they are called."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs under headings; those of other packages, which are imported, last."""
        del ctx
        there = registry.names(GROUP)
        ours = {name for summaries in VERBS.values() for name in summaries}
        sections = {
            heading: [(name, text) for name, text in summaries.items() if name in there]
            for heading, summaries in VERBS.items()
        }
        sections["Of other packages"] = [(x, _summary(x)) for x in there if x not in ours]
        width = max(map(len, there), default=0)
        for heading, rows in sections.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), text) for name, text in rows])

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(registry.names(GROUP))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        verb = registry.load(GROUP, cmd_name)  # names what there is, if this is not
        if not isinstance(verb, click.Command):
            return None
        _add_common_options(verb)
        return verb


def _add_common_options(verb: click.Command) -> None:
    """Have a verb, and those below it, take the options that every verb has."""
    if isinstance(verb, click.Group):
        for below in verb.commands.values():
            _add_common_options(below)
        return
    known = {name for one in verb.params for name in one.opts}
    if NO_COLOR in known:
        return
    verb.params += [
        click.Option(names, expose_value=False, callback=_keep, **how)
        for names, how in _COMMON_OPTIONS.items()
        if not known.intersection(names)
    ]
    if verb.callback is not None:
        verb.callback = _with_common_options(verb.callback)


def _keep(context: click.Context, option: click.Parameter, value: object) -> None:
    context.meta.setdefault(option.opts[-1], value)


_COMMON_OPTIONS: Mapping[tuple[str, ...], Mapping[str, Any]] = {
    ("-o", OUTPUT): {
        "type": click.Path(dir_okay=False),
        "metavar": "FILE",
        "help": "Print into FILE.",
    },
    ("-q", QUIET): {"is_flag": True, "help": "Show no progress, nor what is waited for."},
    ("-v", VERBOSE): {"is_flag": True, "help": "Of an error, show where it was raised."},
    (NO_COLOR,): {"is_flag": True, "help": "Print no colors; $NO_COLOR says the same."},
}


def _with_common_options(callback: Callable[..., object]) -> Callable[..., object]:
    """Return what a verb does as the options ask that every verb has.

    It says what it waits for, unless asked to be quiet.
    """

    @wraps(callback)
    def call(*arguments: object, **options: object) -> object:
        from ..runtime.waiting import long_waits

        asked = click.get_current_context().meta
        asked[QUIET] = asked.get(QUIET) or options.get("quiet", False)
        with ExitStack() as around:
            is_quiet = asked[QUIET] or options.get("as_json")
            around.enter_context(long_waits(None if is_quiet else _say_what_is_waited_for))
            if asked.get(OUTPUT):
                around.enter_context(_into(asked[OUTPUT]))
            try:
                return callback(*arguments, **options)
            except StepwatchError:
                if asked.get(VERBOSE):
                    traceback.print_exc()
                raise

    return call


def _say_what_is_waited_for(what: str) -> None:
    print(f"stepwatch: waiting for {what}; Ctrl-C ends it", file=sys.stderr)


@contextmanager
def _into(file: str) -> Iterator[None]:
    """Write what is printed into a file."""
    try:
        with open(file, "w", encoding="utf-8") as stream, redirect_stdout(stream):
            yield
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror}") from None


def _print_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Print the version and whether the compiled kernel is there, and end, if that is wanted."""
    del option
    if not wanted:
        return
    try:
        import_module("stepwatch._kernel")  # not by way of statistics: that imports NumPy
        kernel = "compiled"
    except ImportError:
        kernel = "NumPy, about ten times slower"
    print(f"stepwatch {__version__} (kernel: {kernel})")
    context.exit()


def _keep_local_rank(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Keep what deepspeed gives to the script, which it puts before all that follows a module."""
    del option
    if value is not None:
        context.meta[LOCAL_RANK] = (f"--local_rank={value}",)


@click.group(
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="See inside a training run and catch what goes wrong.",
    invoke_without_command=True,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version, and whether the kernel is compiled.",
)
@click.option(
    "--local_rank",
    "--local-rank",
    hidden=True,
    expose_value=False,
    callback=_keep_local_rank,
)
@click.pass_context
def command(context: click.Context) -> None:
    """Do nothing of its own, but tell what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    The exit status is 0, or 1 where a verb found something, or 2 for what cannot be done as
    asked, with one line that says what would be right.
    """
    try:
        result = command.main(
            None if arguments is None else list(arguments),
            prog_name="stepwatch",
            standalone_mode=False,
        )
    except click.Abort:
        print("stepwatch: interrupted", file=sys.stderr)
        sys.exit(130)
    except (click.ClickException, StepwatchError) as error:
        from ..runtime.terminal import print_text  # help does without

        what = _in_one_line(error) if isinstance(error, click.ClickException) else str(error)
        print_text(f"stepwatch: {what}", file=sys.stderr)
        sys.exit(ERROR_STATUS)
    except BrokenPipeError:
        # The reader of our output went away, as head does; nothing is left to flush to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    if callable(result):
        result()  # a verb that must run outside of the handling of errors above
    elif isinstance(result, int):
        sys.exit(result)


def _summary(name: str) -> str:
    """Return the first sentence of a verb, or why it cannot be had."""
    try:
        verb = registry.load(GROUP, name)
    except StepwatchError as error:
        return str(error)
    text = verb.get_short_help_str(limit=1000) if isinstance(verb, click.Command) else ""
    return text.rstrip(".")


def _in_one_line(error: click.ClickException) -> str:
    """Return an error of usage in the style of our errors, with where to look up what is right."""
    text = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)  # of whatever is no fault of the usage there is none
    where = f"; see: {context.command_path} --help" if context is not None else ""
    return f"{text[:1].lower()}{text[1:]}{where}"
