"""The runs of smdebug's trials, in either format."""
