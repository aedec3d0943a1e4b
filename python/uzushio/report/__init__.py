"""One HTML page of a run: what it computed, what was seen of it, and what that took."""

from __future__ import annotations

from uzushio.report.page import write_report

__all__ = ["write_report"]
