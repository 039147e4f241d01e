"""Configurations of the rules that look at where time and hardware go."""
