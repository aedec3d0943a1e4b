"""Movies that can be played, also after failures and killed runs."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest

from uzushio.errors import OutputError
from uzushio.render import Movie, Picture
from uzushio.render.movie import ENCODERS, Encoder, choose_encoder


def frame(n: int, height: int = 120, width: int = 160) -> np.ndarray:
    """Return a picture with a bright bar at a position given by its number."""
    pixels = np.full((height, width, 3), (20, 40, 60), np.uint8)
    pixels[:, 4 * n : 4 * n + 8] = (240, 200, 40)
    return pixels


def decoded(path: Path) -> list[np.ndarray]:
    """All pictures of a movie."""
    with av.open(str(path)) as movie:
        return [picture.to_ndarray(format="rgb24") for picture in movie.decode(video=0)]


def boxes(path: Path) -> list[str]:
    """The names of an MP4 file's outermost boxes."""
    data, names, place = path.read_bytes(), [], 0
    while place + 8 <= len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        names.append(data[place + 4 : place + 8].decode())
        place += size
    return names


def test_a_movie_has_its_pictures_in_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.mp4"
    with Movie(path, fps=10) as movie:
        for n in range(25):
            movie.write(frame(n) if n % 2 else Picture(frame(n)))
    assert movie.pictures == 25
    pictures = decoded(path)
    assert len(pictures) == 25
    for n, pixels in enumerate(pictures):
        assert np.abs(pixels.astype(int) - frame(n)).mean() < 6
    assert boxes(path)[:2] == ["ftyp", "moov"], "an ordinary file with its index in front"
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264" and stream.codec_context.pix_fmt == "yuv420p"
        assert stream.average_rate == 10
        assert float(stream.duration * stream.time_base) == pytest.approx(2.5)
    assert movie.remark == ""
    assert [file.name for file in path.parent.iterdir()] == ["a.mp4"]


def test_odd_sizes_are_padded_with_the_edge(tmp_path: Path) -> None:
    path = tmp_path / "odd.mp4"
    with Movie(path) as movie:
        movie.write(frame(3, 121, 161))
    (picture,) = decoded(path)
    assert picture.shape == (122, 162, 3)
    assert np.abs(picture[-1, 60:].astype(int) - (20, 40, 60)).max() < 12


def test_pictures_of_another_size_are_errors(tmp_path: Path) -> None:
    with Movie(tmp_path / "a.mp4") as movie:
        movie.write(frame(0))
        with pytest.raises(ValueError, match="160 × 120 pixels; one of 64 × 48 cannot follow"):
            movie.write(frame(0, 48, 64))
        movie.write(frame(1))
    assert len(decoded(tmp_path / "a.mp4")) == 2


def test_a_movie_without_pictures_leaves_no_file(tmp_path: Path) -> None:
    with Movie(tmp_path / "a.mp4"):
        pass
    assert not list(tmp_path.iterdir())


def test_a_movie_of_an_earlier_run_is_kept_on_request(tmp_path: Path) -> None:
    for run in range(4):
        with Movie(tmp_path / "a.mp4", keep=run < 3) as movie:
            for n in range(run + 1):
                movie.write(frame(n))
    lengths = {file.name: len(decoded(file)) for file in tmp_path.iterdir()}
    assert lengths == {"a.1.mp4": 1, "a.2.mp4": 2, "a.mp4": 4}


KILLED = """
import sys, time
import numpy as np
from uzushio.render import Movie

movie = Movie(sys.argv[1], fps=5)
for n in range(40):
    pixels = np.full((120, 160, 3), (20, 40, 60), np.uint8)
    pixels[:, 4 * n % 150 : 4 * n % 150 + 8] = (240, 200, 40)
    movie.write(pixels)
    print(n + 1, flush=True)
time.sleep(600)
"""


def test_a_movie_of_a_killed_run_lacks_at_most_its_last_picture(tmp_path: Path) -> None:
    path = tmp_path / "killed.mp4"
    run = subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, text=True)
    try:
        assert run.stdout is not None
        for line in run.stdout:
            if int(line) == 37:
                break
        assert len(decoded(path)) >= 36, "it plays while it grows"
    finally:
        run.send_signal(signal.SIGKILL)
        assert run.wait(60) == -signal.SIGKILL
    pictures = decoded(path)
    assert len(pictures) >= 36
    for n in (0, 17, 35):
        assert np.abs(pictures[n].astype(int) - frame(n)).mean() < 6


@pytest.mark.parametrize("room", [0, 3000, 40_000])
def test_a_full_disk_ends_the_movie_with_a_message_and_not_the_run(
    tmp_path: Path, room: int
) -> None:
    path = tmp_path / "full.mp4"
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 256, (120, 160, 3), np.uint8) for _ in range(12)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    movie = Movie(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        sentence = "further ones are left out: .*full.mp4: File too large; raise the limit"
        with pytest.raises(OutputError, match=sentence):
            for pixels in noise:
                movie.write(pixels)
        movie.write(noise[0])  # the run continues
        movie.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    if movie.pictures:
        assert len(decoded(path)) == movie.pictures
        assert path.stat().st_size <= room
    else:
        assert not path.exists()
    assert room < 10_000 or movie.pictures > 0


def test_a_disk_full_at_the_end_keeps_the_movie(tmp_path: Path) -> None:
    path = tmp_path / "full.mp4"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    movie = Movie(path)
    for n in range(5):
        movie.write(frame(n))
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        with pytest.raises(OutputError, match="may lack its last picture"):
            movie.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(decoded(path)) == movie.pictures == 4
    assert [file.name for file in tmp_path.iterdir()] == ["full.mp4"]


def test_without_space_for_a_copy_the_movie_stays_fragmented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.mp4"

    def no_space(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_space)
    with Movie(path) as movie:
        for n in range(5):
            movie.write(frame(n))
    assert len(decoded(path)) == 5
    assert [file.name for file in tmp_path.iterdir()] == ["a.mp4"]


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="The movie cannot be created"):
        Movie(tmp_path / "file" / "a.mp4")


def test_the_first_available_encoder_is_used() -> None:
    assert choose_encoder(ENCODERS).name == "libx264"
    missing = Encoder("libnothing", {}, "")
    assert choose_encoder((missing, ENCODERS[2])).name == "libvpx-vp9"


@pytest.mark.parametrize("name", ["libvpx-vp9", "mpeg4"])
def test_other_encoders_have_a_remark(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.mp4"
    with Movie(path, encoder=name) as movie:
        for n in range(6):
            movie.write(frame(n))
    assert movie.remark.startswith("a.mp4 is ")
    pictures = decoded(path)
    assert len(pictures) == 6
    assert np.abs(pictures[5].astype(int) - frame(5)).mean() < 10


def test_a_missing_encoder_is_an_error_with_the_available_ones(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no encoder libnothing; it has libx264"):
        Movie(tmp_path / "a.mp4", encoder="libnothing")
    assert not list(tmp_path.iterdir())
    with pytest.raises(OutputError, match="no encoder for movies; install the wheel"):
        choose_encoder((Encoder("libnothing", {}, ""),))


def test_a_missing_pyav_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av.codec", None)
    with pytest.raises(OutputError, match="pip install av"):
        choose_encoder(ENCODERS)


@pytest.mark.parametrize("fps", [0, -1, 1000, float("nan")])
def test_impossible_rates_are_errors(tmp_path: Path, fps: float) -> None:
    with pytest.raises(ValueError, match="pictures a second"):
        Movie(tmp_path / "a.mp4", fps=fps)
