"""Configurations of the rules about where time and hardware go."""
