"""Hooks in smdebug's manner: given the model; a step for each forward."""
