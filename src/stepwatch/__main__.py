"""``python -m stepwatch`` is the command ``stepwatch``."""

from .cli.main import main

main()
