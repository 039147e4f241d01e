"""A report as a file."""

from __future__ import annotations

from pathlib import Path

from ..errors import StoreError
from ..report import Report, report_page


def write_page(path: Path, report: Report) -> None:
    """Write a report as one self-contained page."""
    text = report_page(report)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None
