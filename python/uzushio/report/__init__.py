"""Report of a run on one HTML page: results, pictures and costs."""

from __future__ import annotations

from uzushio.report.page import write_report

__all__ = ["write_report"]
