"""Figures of a run: one set for notebooks, reports and dashboard.

Every function here is pure: plain columns and findings in, a Plotly figure, a page or a text
out. Plotly is imported when the first figure is made, never before.
"""

from .heatmap import heatmap
from .page import page
from .series import series
from .terminal import line_plot

__all__ = ["heatmap", "line_plot", "page", "series"]
