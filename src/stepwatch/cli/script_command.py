"""What the verbs that run a script have in common, apart from ``console``: it imports rich."""

from __future__ import annotations

#: Of a command that runs a script: what follows the script's name is the script's own.
SCRIPT_SETTINGS = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}
SCRIPT_EPILOG = "What follows SCRIPT is the script's own."
