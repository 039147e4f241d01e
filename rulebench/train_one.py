"""Trains one program, as a script: its name and its seed are the arguments."""

from __future__ import annotations

import sys

from rulebench import catalogue

if __name__ == "__main__":
    name, seed = sys.argv[1:]
    catalogue.named(name).build(int(seed)).train()
