"""For authors of plug-ins and for our own tests: contracts, and runs made to order.

``store_contract`` needs pytest and is imported by its own name.
"""

from .make_run import make_record, make_run

__all__ = ["make_record", "make_run"]
