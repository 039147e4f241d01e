"""The version of smdebug whose names these are."""

__version__ = "1.0.34"
