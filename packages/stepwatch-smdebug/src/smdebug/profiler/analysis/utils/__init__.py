"""The analysis of profiles as tables and timelines."""
