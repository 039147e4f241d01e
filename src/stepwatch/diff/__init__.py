"""Where two runs part, and why that may be."""
