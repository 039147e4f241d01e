"""Reports: findings and profile joined to one document, and that to one self-contained page.

A report is plain data (``document``): texts, tables, charts that hold their numbers. It is read
from a run once, and then shown as a page for people (``page``) or as JSON for machines.
"""

from .document import Report
from .kinds import report, suits
from .page import page_of_figures, report_page

__all__ = ["Report", "page_of_figures", "report", "report_page", "suits"]
