"""For authors of plug-ins and for our own tests: contracts, and runs made to order.

``store_contract`` needs pytest and is imported by its own name.
"""

from .hostile import hostile_runs, make_hostile_run
from .make_run import make_record, make_run

__all__ = ["hostile_runs", "make_hostile_run", "make_record", "make_run"]
