"""Trainings in which nothing is wrong, though each looks odd in its own way."""
