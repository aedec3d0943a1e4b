"""JPEG beside H.264 for the frames of the live view: bytes, times, and the rate over slow links.

Views of a smooth field rotate by two degrees a picture. Each picture is encoded as JPEG, like a
frame of the live view while dragging, and as H.264 (x264, ultrafast, zerolatency, no B-frames)
with the largest constant rate factor whose error is not larger than that of JPEG. Chromium decodes
both, by createImageBitmap and by WebCodecs, one after the other, and draws them on a canvas.

Then `uzushio view` is dragged in Chromium over a link of a low rate, once with JPEG alone (the
page finds no decoder) and once as it is.

    python bench/viewer_codecs.py [--json FILE] [--pictures 45] [--points 128] [--rate 5]
"""

from __future__ import annotations

import base64
import sys
import tempfile
import threading
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from time import perf_counter
from typing import Any

import av
import numpy as np
import simplejpeg
from _browser import chromium
from _job import output_of
from _report import Record, option_parser, record, report
from _viewer_worker import values
from mpi4py import MPI
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page
from rich.table import Table
from viewer import (
    LAYERS,
    SIZE,
    drag,
    give_size,
    latencies,
    live_view,
    median_of,
    page_of,
    percent_of,
    rate_of,
    worker_command,
)

from uzushio.raycast import Block
from uzushio.render.renderer import Renderer
from uzushio.render.view import View
from uzushio.viewer.encoder import GOOD

Picture = NDArray[np.uint8]
#: Rates of links in Mbit/s.
RATES = (2.0, 10.0, 50.0)
#: Constant rate factors of x264, from small files to a small error.
FACTORS = (32, 28, 25, 22, 19, 16, 13)
#: Figures of a codec: name, key, unit.
FIGURES = (
    ("bytes of a picture", "kilobytes", "kB"),
    ("bytes of the first picture", "first_kilobytes", "kB"),
    ("encoding", "encode_ms", "ms"),
    ("decoding", "decode_ms", "ms"),
    ("error", "decibel", "dB"),
)
#: The same over a link.
LINK_FIGURES = (
    ("pictures", "pictures", "1/s"),
    ("share of H.264", "h264", ""),
    ("columns of a picture", "columns", ""),
    ("bytes of a picture", "kilobytes", "kB"),
    ("lateness, median", "late_median_ms", "ms"),
    ("lateness, 95 %", "late_95_ms", "ms"),
)

DECODE = """async ({ codec, frames, width, height }) => {
  const canvas = new OffscreenCanvas(width, height).getContext("2d");
  const bytes = frames.map((text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0)));
  const times = [];
  if (codec === "jpeg") {
    for (const one of bytes) {
      const begin = performance.now();
      const bitmap = await createImageBitmap(new Blob([one], { type: "image/jpeg" }));
      canvas.drawImage(bitmap, 0, 0);
      bitmap.close();
      times.push(performance.now() - begin);
    }
    return times;
  }
  if (!globalThis.VideoDecoder) return null;
  const config = { codec, optimizeForLatency: true };
  if (!(await VideoDecoder.isConfigSupported(config)).supported) return null;
  let shown = null, failed = null;
  const decoder = new VideoDecoder({
    output: (frame) => { canvas.drawImage(frame, 0, 0); frame.close(); shown(); },
    error: (error) => failed(error),
  });
  decoder.configure(config);
  for (const [n, data] of bytes.entries()) {
    const begin = performance.now();
    await new Promise((resolve, reject) => {
      [shown, failed] = [resolve, reject];
      decoder.decode(new EncodedVideoChunk({ type: n ? "delta" : "key", timestamp: n, data }));
    });
    times.push(performance.now() - begin);
  }
  return times;
}"""


def pictures(
    layer: dict[str, Any], size: tuple[int, int], points: int, count: int
) -> list[Picture]:
    """Return pictures of a field while the camera rotates."""
    line = np.linspace(0.0, 1.0, points)
    lines = (line, line, line)
    block = Block(lines, (0, 0, 0), ((0, 0, 0), (points - 1,) * 3), {"u": values(points, 0.0)})
    drawn = []
    with Renderer(MPI.COMM_SELF, *size) as renderer:
        for n in range(count):
            view = {"layers": [layer], "size": size, "camera": {"azimuth": 2.0 * n}}
            picture = renderer.picture(View.model_validate(view), [block], lines)
            assert picture is not None
            drawn.append(np.ascontiguousarray(picture.pixels[..., :3]))
    return drawn


def error(decoded: list[Picture], wanted: list[Picture]) -> float:
    """Return the peak signal-to-noise ratio in dB."""
    pairs = zip(decoded, wanted, strict=True)
    mean = np.mean([np.mean((a.astype(float) - b) ** 2) for a, b in pairs])
    return float(10.0 * np.log10(255.0**2 / mean))


def as_jpeg(frames: list[Picture]) -> tuple[list[bytes], list[float]]:
    """Return the frames of the live view while dragging, and seconds of each."""
    encoded, seconds = [], []
    for pixels in frames:
        begin = perf_counter()
        encoded.append(
            simplejpeg.encode_jpeg(pixels, GOOD.value, "RGB", GOOD.subsampling, fastdct=True)
        )
        seconds.append(perf_counter() - begin)
    return encoded, seconds


def as_h264(frames: list[Picture], factor: int) -> tuple[list[bytes], list[float], list[Picture]]:
    """Return the access units, seconds of each, and the decoded pictures."""
    height, width = frames[0].shape[:2]
    encoder: Any = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuv420p"
    encoder.time_base, encoder.max_b_frames, encoder.thread_count = Fraction(1, 60), 0, 1
    encoder.options = {"preset": "ultrafast", "tune": "zerolatency", "crf": str(factor)}
    packets, seconds = [], []
    for n, pixels in enumerate(frames):
        begin = perf_counter()
        frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
        frame.pts = n
        packets.append(b"".join(bytes(packet) for packet in encoder.encode(frame)))
        seconds.append(perf_counter() - begin)
    decoder: Any = av.CodecContext.create("h264", "r")
    decoder.thread_count = 1
    shown = [frame for data in packets for frame in decoder.decode(av.Packet(data))]
    shown += decoder.decode(None)
    return packets, seconds, [frame.to_ndarray(format="rgb24") for frame in shown]


def measure(page: Page, name: str, frames: list[Picture]) -> dict[str, Any]:
    """Return medians of both codecs for the pictures of a view, the first one left out."""
    height, width = frames[0].shape[:2]
    jpeg, jpeg_seconds = as_jpeg(frames)
    decoded = [simplejpeg.decode_jpeg(data) for data in jpeg]
    wanted = error(decoded, frames)
    for factor in FACTORS:
        h264, h264_seconds, shown = as_h264(frames, factor)
        reached = error(shown, frames)
        if reached >= wanted:
            break
    result: dict[str, Any] = dict(view=name, width=width, height=height)
    for codec, data, seconds, ratio in (
        ("jpeg", jpeg, jpeg_seconds, wanted),
        ("avc1.42E01F", h264, h264_seconds, reached),
    ):
        texts = [base64.b64encode(encoded).decode() for encoded in data]
        times = page.evaluate(DECODE, dict(codec=codec, frames=texts, width=width, height=height))
        key = "jpeg" if codec == "jpeg" else "h264"
        result[key] = dict(
            kilobytes=float(np.median([len(encoded) / 1e3 for encoded in data[1:]])),
            first_kilobytes=len(data[0]) / 1e3,
            encode_ms=1e3 * float(np.median(seconds[1:])),
            decode_ms=None if times is None else float(np.median(times[1:])),
            decibel=ratio,
        )
    result["factor"] = factor
    return result


def over_link(
    browser: Browser, stored: Path, rate: float, trip: float, seconds: float
) -> list[dict[str, Any]]:
    """Drag views over a link, with JPEG alone and with H.264.

    Args:
        browser: Chromium.
        stored: steps that are shown.
        rate: rate of the link in Mbit/s.
        trip: round-trip time in ms.
        seconds: duration of each measurement.
    """
    link = dict(offline=False, latency=trip, downloadThroughput=rate * 1e6 / 8)
    rows = []
    for name, layer in LAYERS.items():
        pipeline = stored.with_name(f"{name}.yaml")
        pipeline.write_text(f"views: {{bench: {{layers: [{layer}]}}}}\n")
        for codec, script in (("jpeg", "delete globalThis.VideoDecoder;"), ("h264", "")):
            with (
                live_view(stored, "--pipeline", str(pipeline)) as view,
                page_of(browser, view, script) as (page, _, _),
            ):
                give_size(page)
                session = page.context.new_cdp_session(page)
                session.send("Network.enable")
                session.send("Network.emulateNetworkConditions", {**link, "uploadThroughput": -1})
                drag(page, 2.0)  # the viewer learns the rate
                notes = drag(page, seconds)
            shown, late = notes["shown"], latencies(notes)
            rows.append(
                dict(
                    view=name,
                    codec=codec,
                    rate=rate,
                    round_trip_ms=trip,
                    pictures=rate_of(shown),
                    h264=float(np.mean([frame["codec"] == 2 for frame in shown])),
                    columns=median_of(frame["width"] for frame in shown),
                    kilobytes=median_of(frame["bytes"] / 1e3 for frame in shown),
                    late_median_ms=percent_of(late, 50),
                    late_95_ms=percent_of(late, 95),
                )
            )
    return rows


def link_table(rows: list[dict[str, Any]]) -> Table:
    """Make the table of the measurements over a link."""
    names = ("view", "offered", "pictures/s", "H.264", "columns", "kB", "late ms", "95 %")
    shown = Table(*names, title=f"{rows[0]['rate']:g} Mbit/s, {rows[0]['round_trip_ms']:g} ms")
    for row in rows:
        keys = ("pictures", "columns", "kilobytes", "late_median_ms", "late_95_ms")
        rate, *others = (f"{row[key]:.3g}" for key in keys)
        shown.add_row(row["view"], row["codec"], rate, f"{100 * row['h264']:.0f} %", *others)
    return shown


def longest(figures: dict[str, Any], rate: float) -> float:
    """Return pictures a second over a link, by the longest of encoding, transfer and decoding."""
    transfer = 8.0 * figures["kilobytes"] / rate
    return float(1e3 / max(figures["encode_ms"], transfer, figures["decode_ms"]))


def table(rows: list[dict[str, Any]]) -> Table:
    """Make the table of the records."""
    rates = [f"pictures/s at {rate:g} Mbit/s" for rate in RATES]
    shown = Table("view", "codec", "kB", "encode ms", "decode ms", "error dB", *rates)
    for row in rows:
        for codec in ("jpeg", "h264"):
            figures = row[codec]
            label = f"{row['view']} {row['width']} × {row['height']}" if codec == "jpeg" else ""
            if figures["decode_ms"] is None:
                decode, speeds = "not offered", ["–"] * len(RATES)
            else:
                decode = f"{figures['decode_ms']:.1f}"
                speeds = [f"{longest(figures, rate):.0f}" for rate in RATES]
            shown.add_row(
                label,
                codec,
                f"{figures['kilobytes']:.1f}",
                f"{figures['encode_ms']:.1f}",
                decode,
                f"{figures['decibel']:.1f}",
                *speeds,
            )
    return shown


def records_of(codecs: list[dict[str, Any]], link: list[dict[str, Any]]) -> list[Record]:
    """Return the records of the measurements without and over a link."""
    records = []
    for row in codecs:
        size = f"{row['view']} {row['width']} × {row['height']}"
        for codec in ("jpeg", "h264"):
            where = f"{size}, {codec}"
            for name, key, unit in FIGURES:
                if row[codec][key] is not None:
                    records.append(record(f"{where}: {name}", row[codec][key], unit))
        records.append(record(f"{size}, h264: constant rate factor", row["factor"]))
    for row in link:
        over = f"{row['rate']:g} Mbit/s, {row['round_trip_ms']:g} ms"
        for name, key, unit in LINK_FIGURES:
            records.append(record(f"{row['view']}, {row['codec']}, {over}: {name}", row[key], unit))
    return records


class Empty(BaseHTTPRequestHandler):
    """An empty page of 127.0.0.1: WebCodecs need a secure context."""

    def do_GET(self) -> None:
        """Send the page."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>codecs</title>")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def main() -> None:
    """Measure, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--pictures", type=int, default=45, help="of each view")
    parser.add_argument("--points", type=int, default=128, help="of each axis")
    parser.add_argument("--rate", type=float, default=5.0, help="of the link, Mbit/s")
    parser.add_argument("--trip", type=float, default=20.0, help="round-trip time, ms")
    parser.add_argument("--seconds", type=float, default=5.0, help="of a drag over the link")
    options = parser.parse_args()
    server = HTTPServer(("127.0.0.1", 0), Empty)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rows = []
    with chromium() as browser:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        for name in LAYERS:
            layer = {"kind": name, "field": "u"}
            if name == "slice":
                layer["normal"] = "z"
            if name == "isosurface":
                layer["values"] = [0.5]  # type: ignore[assignment]
            for reduction in (1, 2):
                size = (SIZE[0] // reduction, SIZE[1] // reduction)
                print(f"{name} {size[0]} x {size[1]} ...", file=sys.stderr, flush=True)
                made_of = pictures(layer, size, options.points, options.pictures)
                rows.append(measure(page, name, made_of))
        print("link ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="uzushio-bench-") as folder:
            stored = Path(folder) / "bench.zarr"
            output_of(worker_command("store", stored, options.points))
            over = over_link(browser, stored, options.rate, options.trip, options.seconds)
    server.shutdown()
    report(options.json, records_of(rows, over), table(rows), link_table(over))


if __name__ == "__main__":
    main()
