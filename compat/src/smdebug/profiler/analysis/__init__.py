"""The analysis of profiles."""
