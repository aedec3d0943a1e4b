"""Controls of the page and the pictures that `uzushio view` draws of stored steps."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from live_pages import LIMIT
from PIL import Image
from pipeline_case import Flow
from playwright.sync_api import Browser, Page, expect

from uzushio import staging

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three stored steps of a flow in a box, in the test's folder."""
    lines = (np.linspace(-1, 1, 13), np.linspace(0, 2, 17), np.linspace(0, 4, 25))
    flow = Flow(
        {"box": lines},
        {
            "u": ("box", lambda x, y, z, n: np.sin(3 * x + n) * np.cos(2 * y) + z),
            "v": ("box", lambda x, y, z, n: x * x + y * y + z * z + n),
        },
    )
    folder = tmp_path / "flow.zarr"
    settings = {"engine": "file", "file": {"folder": str(folder)}}
    with staging.open("flow", None, settings) as writer:
        flow.write(writer, 3)
    return folder


@pytest.fixture
def page(
    browser: Browser, start_uzushio: Callable[..., subprocess.Popen[str]], store: Path
) -> Iterator[Page]:
    """Page of `uzushio view` with its first picture in final quality."""
    viewer = start_uzushio("view", store.name)
    assert viewer.stdout is not None
    address = next(
        match.group() for line in viewer.stdout if (match := re.search(r"http://\S+#\S+", line))
    )
    context = browser.new_context(viewport={"width": 1000, "height": 640})
    page = context.new_page()
    page.set_default_timeout(LIMIT)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    expect(page.locator("#notice")).to_be_hidden(timeout=LIMIT)
    yield page
    context.close()
    viewer.terminate()
    assert viewer.wait(30) == 0
    assert errors == []


def picture(page: Page) -> np.ndarray:
    """Return the picture that the page saves; shape (rows, columns, 3)."""
    page.wait_for_timeout(300)  # the patch, and the beginning of its picture
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save picture").click()
    return np.asarray(Image.open(BytesIO(Path(waiting.value.path()).read_bytes())))


def picture_when(page: Page, wanted: Callable[[np.ndarray], bool]) -> np.ndarray:
    """Return the first picture of which `wanted` is true, or the one after 20 s."""
    deadline = time.monotonic() + 20
    while True:
        pixels = picture(page)
        if wanted(pixels) or time.monotonic() > deadline:
            return pixels


def enter(page: Page, label: str, text: str) -> None:
    page.get_by_label(label, exact=True).first.fill(text)
    page.keyboard.press("Enter")


def test_each_control_changes_the_picture_and_its_opposite_brings_it_back(page: Page) -> None:
    page.get_by_role("button", name="Lock").click()
    page.locator("summary", has_text="Annotation").click()
    page.locator("summary", has_text="Clip").click()
    first = picture(page)
    assert first.std() > 10

    def field(name: str) -> None:
        page.locator("#layer-0").get_by_label("Field").select_option(name)

    def normal(name: str) -> None:
        page.locator("#layer-0").get_by_text(name, exact=True).click()

    def color_map(name: str) -> None:
        page.locator("#layer-0 .picker").evaluate("(one) => (one.open = true)")
        page.locator("#layer-0 .picker").get_by_label(name).check()

    def step(number: str) -> None:
        page.locator("#step").fill(number)
        page.keyboard.press("Enter")

    changes: list[tuple[Callable[[], None], Callable[[], None]]] = [
        (lambda: field("v"), lambda: field("u")),
        (lambda: normal("x"), lambda: normal("z")),
        (lambda: enter(page, "Position", "0.7"), lambda: enter(page, "Position", "")),
        (lambda: color_map("magma"), lambda: color_map("viridis")),
        (lambda: enter(page, "Opacity", "0.3"), lambda: enter(page, "Opacity", "1")),
        (lambda: enter(page, "Azimuth", "40"), lambda: enter(page, "Azimuth", "0")),
        (lambda: enter(page, "Zoom", "1.5"), lambda: enter(page, "Zoom", "1")),
        (
            lambda: page.get_by_role("button", name="front", exact=True).click(),
            lambda: page.get_by_role("button", name="reset").click(),
        ),
        (lambda: enter(page, "Title", "flow"), lambda: enter(page, "Title", "")),
        (lambda: step("0"), lambda: step("2")),
        (
            lambda: page.locator(".add-isosurface").click(),
            lambda: page.get_by_role("button", name="Remove layer 2").click(),
        ),
        (
            lambda: page.locator(".add-volume").click(),
            lambda: page.get_by_role("button", name="Remove layer 2").click(),
        ),
        (
            lambda: page.get_by_role("button", name="Add a plane").click(),
            lambda: page.get_by_role("button", name="Remove clip plane 1").click(),
        ),
    ]
    for number, (change, undo) in enumerate(changes):
        change()
        changed = picture_when(page, lambda pixels: bool((pixels != first).any()))
        assert (changed != first).any(), number
        assert page.locator(".error:visible, #problem:visible").count() == 0, number
        undo()
        undone = picture_when(page, lambda pixels: bool((pixels == first).all()))
        assert (undone == first).all(), number


def test_the_saved_view_makes_the_same_picture_in_batch(
    page: Page, uzushio: Run, store: Path
) -> None:
    page.get_by_role("button", name="Lock").click()
    page.locator("#picture").focus()
    for key in ("ArrowRight", "ArrowUp", "+", "Shift+ArrowLeft"):
        page.keyboard.press(key)
    page.locator(".add-volume").click()
    page.locator("#layer-1").get_by_label("Field").select_option("v")
    page.locator("summary", has_text="Clip").click()
    page.get_by_role("button", name="Add a plane").click()
    page.locator("#clip-0").get_by_text("y", exact=True).click()
    page.locator("#clip-0").get_by_label("Position", exact=True).fill("0.9")
    page.keyboard.press("Enter")
    page.locator("#layer-1").get_by_label("Range, minimum").fill("1")
    page.locator("#layer-1").get_by_label("Range, maximum").fill("12")
    page.keyboard.press("Enter")
    shown = picture(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save view").click()
    waiting.value.save_as(store.parent / "view.yaml")
    done = uzushio("render", "view.yaml", "--from", store.name, "--out", "batch", timeout=120)
    assert done.returncode == 0, done.stderr
    last = sorted((store.parent / "batch").rglob("*.png"))[-1]
    assert (np.asarray(Image.open(last))[..., :3] == shown).all()


def test_the_probe_gives_the_value_of_the_field_at_its_position(page: Page) -> None:
    page.get_by_role("button", name="top", exact=True).click()
    picture(page)
    box = page.locator("#picture").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.45 * box["width"], box["y"] + 0.55 * box["height"])
    readout = page.locator("#probe")
    expect(readout).to_contain_text("u", timeout=LIMIT)
    words = readout.inner_text().replace("−", "-").split()
    probed = {name: float(text) for name, text in zip(words[::2], words[1::2], strict=True)}
    x, y, z = (probed[axis] for axis in "xyz")
    # Linear between points that are a sixth apart: the error is below h²/8 times the derivatives.
    assert probed["u"] == pytest.approx(np.sin(3 * x + 2) * np.cos(2 * y) + z, abs=0.06)
