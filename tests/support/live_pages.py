"""Live view with pages in a browser, and a drawing side that paints one colour."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from drawn_views import RUNNING, DrawingSide, color_of
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from uzushio.render.view import View
from uzushio.viewer.exchange import Exchange
from uzushio.viewer.gateway import Gateway
from uzushio.viewer.stream_state import StreamDescription

#: Timeout of a change that the page shows, milliseconds.
LIMIT = 60_000
#: Stored steps of the stream that `RUNNING` describes.
STORED = replace(RUNNING, live=False, steps=(0, 5, 10, 15, 40), times=(0.0, 0.5, 1.0, 1.5, 4.0))

#: Rules of axe-core that are checked.
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Page) -> list[str]:
    """Return what axe-core finds, one line for each element."""
    options = {"runOnly": _TAGS, "resultTypes": ["violations"]}  # else all passes are described
    report: dict[str, Any] = Axe().run(page, options=options).response
    return [
        f"{rule['id']}: {node['html']} {node.get('failureSummary', '')}"
        for rule in report["violations"]
        for node in rule["nodes"]
    ]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the system's Chromium: without windows, if it has that, in half the time."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    path = next(filter(None, map(shutil.which, names)), None)
    assert path, "there is no chromium-headless-shell; tools/setup --tests installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def running(browser: Browser, description: StreamDescription = RUNNING) -> Iterator[Live]:
    """Start a gateway and a drawing side; the pages must not log errors."""
    live = Live(browser, description)
    live.start()
    try:
        yield live
    finally:
        live.stop()
    assert live.errors == []


@dataclass
class Live:
    """Gateway with a drawing side, and pages that show it."""

    browser: Browser
    description: StreamDescription = RUNNING
    errors: list[str] = field(default_factory=list)
    refused_styles: int = 0  #: that scripts of other projects would have added

    def __post_init__(self) -> None:
        self.exchange = Exchange()
        self.drawing = DrawingSide(self.exchange, self.description)
        self.gateway = Gateway(self.exchange)
        self._contexts: list[BrowserContext] = []

    def start(self) -> None:
        self.gateway.start()
        self.drawing.start()

    def stop(self) -> None:
        for context in self._contexts:
            context.close()
        self.drawing.stop()
        self.gateway.stop()

    def open(
        self,
        address: str | None = None,
        wait: bool = True,
        scripts: Iterable[str] = (),
        **options: Any,
    ) -> Page:
        """Open a page in a context of its own, and wait for its first picture.

        Args:
            address: address of the page; a new one if None.
            wait: whether to wait for the picture.
            scripts: run before those of the page.
            options: options of the context.
        """
        options.setdefault("viewport", {"width": 1280, "height": 720})
        context = self.browser.new_context(**options)
        self._contexts.append(context)
        page = context.new_page()
        for script in scripts:
            page.add_init_script(script)
        page.set_default_timeout(LIMIT)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._note)
        page.goto(address or self.gateway.address())
        if wait:
            self.wait_for_picture(page)
        return page

    def _note(self, message: Any) -> None:
        if "inline style" in message.text and message.location["url"].endswith("plotly.min.js"):
            self.refused_styles += 1
            return
        refused = "401" in message.text or "WebSocket" in message.text
        if message.type == "error" and not refused and "ERR_" not in message.text:
            self.errors.append(message.text)

    def view(self, name: str = "page1") -> View:
        """Return the newest settings of a view that were drawn."""
        return next(r.settings for r in reversed(self.drawing.requests) if r.view == name)

    def until(self, condition: Callable[[], object], page: Page | None = None) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + LIMIT / 1000
        while not condition():
            assert time.monotonic() < end, "the condition did not become true"
            if page is None:
                time.sleep(0.02)
            else:
                page.wait_for_timeout(20)

    def shows_newest(self, page: Page, name: str = "page1") -> bool:
        """Return whether the picture on the screen is that of the newest request of a view."""
        newest = next((r for r in reversed(self.drawing.requests) if r.view == name), None)
        if newest is None:
            return False
        step = self.drawing.steps[-1] if newest.step is None else newest.step
        shown = page.evaluate(
            """() => {
                const canvas = document.getElementById("picture");
                const context = canvas.getContext("2d");
                return [...context.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data];
            }"""
        )
        pairs = zip(shown[:3], color_of(newest, step), strict=True)
        return all(abs(channel_value - other) <= 6 for channel_value, other in pairs)

    def wait_for_picture(self, page: Page, name: str | None = None) -> None:
        """Wait until the page shows the picture of the newest request of a view."""
        names = [name] if name else None
        self.until(lambda: self.drawing.requests, page)
        self.until(
            lambda: any(
                self.shows_newest(page, name)
                for name in names or {r.view for r in self.drawing.requests}
            ),
            page,
        )
