"""Trainings with one thing wrong each."""
