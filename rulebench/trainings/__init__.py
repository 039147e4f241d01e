"""Ordinary trainings, as people write them: they import torch and know nothing of Stepwatch."""
