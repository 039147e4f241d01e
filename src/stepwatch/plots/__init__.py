"""Figures of a run: one set for notebooks, reports and dashboard.

Every function here is pure: plain columns and findings in, a Plotly figure or a text out. Figures
are in the light scheme, and are empty axes where there is nothing to draw. Plotly is imported when
the first figure is made, never before; where it is not installed, that raises
``MissingDependency``.
"""

from .charts import bars, curves, matrix, shares
from .distributions import boxes, histogram
from .heatmaps import heatmap
from .line_charts import lines, series
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
    "series",
    "shares",
]
