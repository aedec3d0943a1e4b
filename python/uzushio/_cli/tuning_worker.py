"""The hidden command that `uzushio tune` starts."""

from __future__ import annotations

from uzushio._cli.arguments import CaseFile, Overrides


def tuning_worker(case: CaseFile, overrides: Overrides = None) -> None:
    """Time points for `uzushio tune`, on all ranks of its job."""
    from uzushio._cli.tuning import work_on_ranks

    raise SystemExit(work_on_ranks(case, overrides or []))
