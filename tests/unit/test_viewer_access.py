"""Access to the live view: tokens, cookies, Host and Origin, headers, sockets and their files."""

from __future__ import annotations

import asyncio
import socket
import stat
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from live_view import Browser, Painter, live

from uzushio.errors import ViewerError
from uzushio.viewer.exchange import Exchange
from uzushio.viewer.gateway import Gateway
from uzushio.viewer.listening import Listening, checked_origin
from uzushio.viewer.token_file import TokenFile


async def upgrade(browser: Browser, host: str = "", **headers: str) -> int:
    """Return the status with which a WebSocket's upgrade is answered."""
    headers |= {"Host": host} if host else {}
    try:
        async with browser.session.ws_connect(browser.base + "ws", headers=headers):
            return 101
    except aiohttp.WSServerHandshakeError as error:
        return error.status


async def in_a_session(run: Any, gateway: Gateway) -> None:
    async with aiohttp.ClientSession() as session:
        await run(session, gateway)


def test_a_one_time_token_gives_a_cookie_that_scripts_and_other_sites_do_not_get(
    tmp_path: Path,
) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        token = browser.gateway.address().partition("#token=")[2]
        assert len(bytes.fromhex(token)) == 32
        async with browser.post("login", json={"token": token}) as answer:
            assert answer.status == 204
            cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
        assert token not in cookie
        page = await browser.open()
        await page.shows(0)

    live(run, tmp_path)


def test_a_token_is_refused_if_it_is_wrong_missing_used_or_the_jobs_own(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        used = browser.gateway.address().partition("#token=")[2]
        async with browser.post("login", json={"token": used}) as answer:
            assert answer.status == 204
        browser.session.cookie_jar.clear()
        jobs = TokenFile.read(tmp_path / "token").token
        bodies: list[dict[str, Any]] = [
            {"json": {"token": used}},
            {"json": {"token": "0" * 64}},
            {"json": {"token": jobs}},
            {"json": {"token": 7}},
            {"json": {}},
            {"json": [1]},
            {"data": b"{"},
            {"data": b"[" * 4000},
            {"data": b'{"token": "\\ud800"}'},
            {"data": b"\xff\xfe{"},
            {"data": aiohttp.BytesPayload(b"{}", content_type="text/plain; charset=unknown")},
            {},
        ]
        for body in bodies:
            async with browser.post("login", **body) as answer:
                assert answer.status == 401, body
                assert "Set-Cookie" not in answer.headers
        assert await upgrade(browser, Origin=browser.origin) == 401
        async with browser.session.get(browser.base + "picture.png") as answer:
            assert answer.status == 401
        async with browser.post("login", data=b" " * 10_000) as answer:
            assert answer.status == 413

    live(run, tmp_path, token_file=tmp_path / "token")


def test_other_hosts_and_origins_are_refused(tmp_path: Path) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        port = browser.gateway.port
        for host in ("example.org", f"127.0.0.1.example.org:{port}", f"127.0.0.1:{port + 1}"):
            headers = {"Host": host, "Origin": browser.origin}
            for path in ("", "page.js", "picture.png", "no-such-file"):
                async with browser.session.get(browser.base + path, headers=headers) as answer:
                    assert answer.status == 403, (host, path)
            assert await upgrade(browser, host, Origin=browser.origin) == 403
        for origin in (
            "http://example.org",
            f"https://127.0.0.1:{port}",
            f"http://127.0.0.1:{port}.example.org",
            "null",
        ):
            assert await upgrade(browser, Origin=origin) == 403, origin
            async with browser.session.post(
                browser.base + "login", headers={"Origin": origin}, json={}
            ) as answer:
                assert answer.status == 403
        # A browser always sends the Origin of a WebSocket.
        assert await upgrade(browser) == 403
        assert await upgrade(browser, f"localhost:{port}", Origin=browser.origin) == 101
        assert await upgrade(browser, Origin=browser.origin) == 101

    live(run, tmp_path)


def test_every_answer_restricts_what_the_page_may_load_and_who_may_embed_it(
    tmp_path: Path,
) -> None:
    async def run(browser: Browser, painter: Painter) -> None:
        for path in ("", "page.js", "nothing", "ws", "picture.png", "%2e%2e/%2e%2e/etc/passwd"):
            async with browser.session.get(browser.base + path) as answer:
                assert answer.headers["X-Content-Type-Options"] == "nosniff", path
                policy = answer.headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
                assert "unsafe" not in policy and "script-src 'self';" in policy
                assert "aiohttp" not in answer.headers["Server"]
        async with browser.session.get(browser.base) as answer:
            assert (answer.status, answer.content_type) == (200, "text/html")
        async with browser.session.get(browser.base + "page.js") as answer:
            assert (answer.status, answer.content_type) == (200, "text/javascript")
        async with browser.session.get(browser.base + "token") as answer:
            assert answer.status == 404  # a token is never read by GET, nor is its file

    live(run, tmp_path, token_file=tmp_path / "token")


def test_the_holder_of_the_token_file_obtains_further_addresses(tmp_path: Path) -> None:
    path = tmp_path / "private" / "token"
    with Gateway(Exchange(), token_file=path, title="a run", page=tmp_path) as gateway:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        token_file = TokenFile.read(path)
        assert token_file.title == "a run" and len(bytes.fromhex(token_file.token)) == 32
        address = token_file.address()
        assert address.startswith(f"http://127.0.0.1:{gateway.port}/#token=")
        assert token_file.token not in address and address != token_file.address()
        with pytest.raises(ViewerError, match="refuses"):
            TokenFile(token_file.listening, token_file.origin, "0" * 64).address()
    assert not path.exists()
    with pytest.raises(ViewerError, match="it has ended"):
        token_file.address(1.0)
    with pytest.raises(ViewerError, match="not the file of a live view"):
        TokenFile.read(path)


def test_a_unix_socket_belongs_to_its_owner_and_one_left_behind_is_replaced(
    tmp_path: Path,
) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    listening = Listening(socket=path, port=8471)
    exchange = Exchange()
    (tmp_path / "index.html").write_text("page")
    token = tmp_path / "token"

    async def fetch() -> tuple[int, int]:
        connector = aiohttp.UnixConnector(str(path))
        async with aiohttp.ClientSession(connector=connector) as session:
            async with session.get("http://127.0.0.1:8471/") as answer:
                right = answer.status
            async with session.get("http://127.0.0.1:9999/") as answer:
                return right, answer.status

    with Gateway(exchange, listening=listening, token_file=token, page=tmp_path) as gateway:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert gateway.address().startswith("http://127.0.0.1:8471/#token=")
        assert TokenFile.read(token).address().startswith("http://127.0.0.1:8471/#token=")
        assert asyncio.run(fetch()) == (200, 403)
        with pytest.raises(
            ViewerError, match=r"cannot listen on .*socket \(Address already in use"
        ):
            Gateway(exchange, listening=listening, page=tmp_path).start()
        assert path.is_socket()
    assert not path.exists()


def test_behind_a_proxy_its_origin_and_prefix_are_accepted(tmp_path: Path) -> None:
    listening = Listening(origins=("https://hub.example.org/",), prefix="/user/ann/proxy/80")

    async def run(session: aiohttp.ClientSession, gateway: Gateway) -> None:
        own = f"http://127.0.0.1:{gateway.port}"
        address = gateway.address()
        assert address.startswith("https://hub.example.org/user/ann/proxy/80/#token=")
        headers = {"Host": "hub.example.org", "Origin": "https://hub.example.org"}
        for base in (own, own + listening.prefix):
            async with session.get(f"{base}/page.js", headers=headers) as answer:
                assert answer.status == 200
            assert "wss://hub.example.org" in answer.headers["Content-Security-Policy"]
        token = address.partition("#token=")[2]
        async with session.post(f"{own}/login", json={"token": token}, headers=headers) as answer:
            cookie = answer.headers["Set-Cookie"]
        assert "Path=/user/ann/proxy/80/;" in cookie and "Secure" in cookie

    (tmp_path / "page.js").write_text("")
    with Gateway(Exchange(), listening=listening, page=tmp_path) as gateway:
        asyncio.run(in_a_session(run, gateway))


def test_addresses_that_no_browser_can_have_are_errors(tmp_path: Path) -> None:
    assert checked_origin("HTTP://Hub.example.org:80/") == "http://hub.example.org"
    assert checked_origin("https://[::1]:443") == "https://[::1]"
    for wrong in ("hub.example.org", "http://hub/path", "ftp://hub", "http://a@hub", "http://"):
        with pytest.raises(ViewerError, match="not valid"):
            checked_origin(wrong)
    for prefix in ("user/ann", "/user/ann/", "/a b", "/a\n"):
        with pytest.raises(ViewerError, match="prefix"):
            Listening(prefix=prefix)
    with pytest.raises(ViewerError, match="needs the port"):
        Listening(socket=tmp_path / "socket")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ViewerError, match=f"cannot listen on 127.0.0.1:{port}"):
            Gateway(Exchange(), listening=Listening(port=port), page=tmp_path).start()


def test_connections_without_a_cookie_are_limited_and_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uzushio.viewer.gateway.MAX_CONNECTIONS", 4)
    monkeypatch.setattr("uzushio.viewer.gateway.CONNECTION_SECONDS", 1.0)

    async def run(browser: Browser, painter: Painter) -> None:
        page = await browser.open()
        await page.shows(0)
        idle = [await asyncio.open_connection("127.0.0.1", browser.gateway.port) for _ in range(8)]
        ended = await asyncio.wait_for(asyncio.gather(*(reader.read() for reader, _ in idle)), 10)
        assert ended == [b""] * 8
        for _, writer in idle:
            writer.close()
        await page.patch("page1", 99, azimuth=90)
        await page.shows(90)  # the page's connection is older than a second, and stays

    live(run, tmp_path)
