"""Measurements of the FFT planner are stored where possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from uzushio._base.config import user_cache
from uzushio.solvers.channel import fft_plans


def test_stored_values_are_read_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert fft_plans.load() == ""
    fft_plans.store("wise")
    assert fft_plans.load() == "wise"


def test_a_user_without_a_home_has_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(user_cache.Path, "home", home)
    fft_plans.store("wise")
    assert fft_plans.load() == ""
