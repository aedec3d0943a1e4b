"""Page of a live view without a browser: prints the numbers of the steps that it is shown.

Argument: the address with its token.
"""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

from live_view import Browser


async def main(address: str) -> None:
    """Print the step of each picture; ask for the next one by a change of the camera."""
    gateway = SimpleNamespace(address=lambda: address, port=urlsplit(address).port)
    async with Browser(cast(Any, gateway)) as browser:
        page = await browser.open(width=200, height=150)
        shown: set[int] = set()
        while page.closed is None:
            await page.until(lambda: page.closed or page.frames[-1:], 60.0)
            step = page.frames[-1].step
            if step not in shown:
                print("step", step, flush=True)
            shown.add(step)
            await asyncio.sleep(0.05)


asyncio.run(main(sys.argv[1]))
