"""The import names of ``smdebug.core``."""
