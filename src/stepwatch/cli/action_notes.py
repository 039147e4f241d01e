"""What was done about the findings of a run, in words."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from ..formats.actions import ActionNote, read_actions
from ..store import Store

_STYLES = {"done": "green", "failed": "bold red", "retried": "yellow"}


def print_actions(output: Console, store: Store) -> None:
    """Print a line for each thing that was done, or failed, or was limited."""
    for note in shown(read_actions(store)):
        style = _STYLES.get(note.outcome, "dim")
        what = escape(note.detail or note.error)
        about = escape(f"step {note.step} {note.rule}")
        told = f" {what}" if what else ""
        output.print(
            f"[bold]{escape(note.action)}[/] [{style}]{note.outcome}[/]{told} ({about})",
            soft_wrap=True,
        )


def shown(notes: list[ActionNote]) -> list[ActionNote]:
    """Return the notes without those that only say that a finding was shown: it is shown here."""
    return [note for note in notes if (note.action, note.outcome) != ("warn", "done")]
