"""Start of the browser in which benches measure pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the system's Chromium, if possible the one without windows.

    Raises:
        SystemExit: there is none.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        raise SystemExit("There is no chromium-headless-shell; tools/setup --tests installs it.")
    with sync_playwright() as made:
        browser = made.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
