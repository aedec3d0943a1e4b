"""Access to the gateway: tokens, cookies, accepted addresses, and headers of all answers."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from aiohttp import web

if TYPE_CHECKING:
    from multidict import CIMultiDict

#: Maximum number of one-time tokens that wait for use, and of cookies; the oldest lose validity.
MAX_TOKENS, MAX_COOKIES = 32, 64

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "uzushio",
}


class _Secret(NamedTuple):
    """Digest of a one-time token or a cookie, with its rights."""

    digest: bytes
    read_only: bool


class Access:
    """Tokens and cookies of a gateway, and the addresses under which browsers may reach it.

    The job's token, which a file of mode 0600 holds, is exchanged for one-time tokens; a one-time
    token is exchanged for a cookie, once. The gateway keeps digests of one-time tokens and cookies,
    with the rights of each: all, or to look alone.

    Attributes:
        token: the job's token, 256 bits as hexadecimal digits.
        origins: accepted origins in the form of browsers, as "http://127.0.0.1:8080".
        cookie: name of the cookie; browsers send cookies to all ports of a host.
    """

    def __init__(self, origins: Sequence[str]) -> None:
        self.token = secrets.token_hex(32)
        self.origins = frozenset(origins)
        self.cookie = f"uzushio-{secrets.token_hex(4)}"
        self._hosts = {origin.partition("://")[2] for origin in self.origins}
        self._one_time: deque[_Secret] = deque(maxlen=MAX_TOKENS)
        self._sessions: deque[_Secret] = deque(maxlen=MAX_COOKIES)

    def one_time_token(self, read_only: bool = False) -> str:
        """Return a new token that `log_in` accepts once."""
        token = secrets.token_hex(32)
        self._one_time.append(_Secret(_digest(token), read_only))
        return token

    def is_job_token(self, given: str) -> bool:
        """Return whether this is the job's token."""
        return hmac.compare_digest(_digest(given), _digest(self.token))

    def log_in(self, token: str, response: web.Response, path: str, secure: bool) -> bool:
        """Exchange a one-time token for a cookie of the response.

        Args:
            token: the one-time token.
            response: receives the cookie.
            path: path of the page, for the cookie.
            secure: whether the browser uses HTTPS.

        Returns:
            Whether the token was valid.
        """
        known = _find(self._one_time, token)
        if known is None:
            return False
        self._one_time.remove(known)
        session = secrets.token_hex(32)
        self._sessions.append(_Secret(_digest(session), known.read_only))
        response.set_cookie(
            self.cookie, session, path=path, httponly=True, samesite="Strict", secure=secure
        )
        return True

    def is_logged_in(self, request: web.Request) -> bool:
        """Return whether a request has a valid cookie."""
        return self._session_of(request) is not None

    def is_read_only(self, request: web.Request) -> bool:
        """Return whether the cookie of a request gives no right to steer and to change others."""
        session = self._session_of(request)
        return session is None or session.read_only

    def _session_of(self, request: web.Request) -> _Secret | None:
        return _find(self._sessions, request.cookies.get(self.cookie, ""))

    def check_address(self, request: web.Request, needs_origin: bool) -> None:
        """Raise `HTTPForbidden` unless Host and Origin are accepted ones.

        A page of another site, or of another name of this machine, fails here.

        Args:
            request: request of the browser.
            needs_origin: whether the request must have an Origin; otherwise one that is there
                must be accepted.
        """
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise web.HTTPForbidden(
                text="This address is not accepted; use the one that the viewer has printed, or "
                "name it with --origin.\n"
            )
        origins = request.headers.getall("Origin", [])
        if (needs_origin or origins) and (len(origins) != 1 or origins[0] not in self.origins):
            raise web.HTTPForbidden(text="Requests of other pages are not accepted.\n")

    def add_headers(self, request: web.Request, headers: CIMultiDict[str]) -> None:
        """Add the headers that restrict what a page may load and who may embed it."""
        # Older browsers do not take 'self' for WebSockets.
        host = request.headers.get("Host", "").lower()
        sockets = f" ws://{host} wss://{host}" if host in self._hosts else ""
        policy = {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self' blob: data:",
            "font-src": "'self'",
            "connect-src": f"'self'{sockets}",
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'none'",
        }
        for name, value in _HEADERS.items():
            headers[name] = value
        headers["Content-Security-Policy"] = "; ".join(
            f"{directive} {sources}" for directive, sources in policy.items()
        )


def _digest(token: str) -> bytes:
    # JSON and headers can hold halves of surrogate pairs, which UTF-8 does not allow.
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def _find(known: deque[_Secret], token: str) -> _Secret | None:
    """Return the entry of a token if it is known, in a time that does not depend on the others."""
    given, match = _digest(token), None
    for secret in list(known):
        if hmac.compare_digest(secret.digest, given):
            match = secret
    return match
