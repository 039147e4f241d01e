"""Figures of a run: one set for notebooks, reports and dashboard.

Every function here is pure: plain columns and findings in, a Plotly figure, a page or a text
out. Plotly is imported when the first figure is made, never before.
"""

from .bars import bars
from .curves import curves
from .distributions import boxes, histogram
from .heatmap import heatmap
from .lines import lines
from .matrix import matrix
from .page import page
from .series import series
from .shares import shares
from .terminal import line_plot

__all__ = [
    "bars",
    "boxes",
    "curves",
    "heatmap",
    "histogram",
    "line_plot",
    "lines",
    "matrix",
    "page",
    "series",
    "shares",
]
