"""The logger of old code."""

from __future__ import annotations

import logging

from . import environment

_OFF = logging.CRITICAL + 1


def get_logger(name: str = "smdebug") -> logging.Logger:
    """Return a logger.

    ``$SMDEBUG_LOG_LEVEL`` (``debug``, ``info``, ``warning``, ``error``, ``critical`` or ``off``)
    sets its level. Where its lines go is for the program to say; no handler is added.
    """
    logger = logging.getLogger(name)
    level = (environment.text(environment.LOG_LEVEL) or "").upper()
    if level == "OFF":
        logger.setLevel(_OFF)
    elif level in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
        logger.setLevel(level)
    return logger
