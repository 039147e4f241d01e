"""Who may ask the dashboard, and what a browser may do with what it is told.

A page elsewhere must not read a run by the browser of whoever looks at it: by a name that it lets
resolve to this machine (DNS rebinding), by a request of its own, or by markup in a name. So the
``Host`` must be an address or a name of this machine, the ``Origin`` must be the host, and nothing
is run or loaded that is not ours. Beyond this machine a token is needed as well.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import secrets
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = (
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class AccessGuard:
    """Lets requests through that may be answered.

    Args:
        app: What answers them.
        names: The names of this machine, beside its addresses.
        token: What must be known; empty for nothing.
        inline: The scripts that stand in our page; a browser runs no others there.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        names: Collection[str],
        token: str = "",
        inline: Collection[str] = (),
    ) -> None:
        self._app = app
        scripts = " ".join(["script-src 'self'", *map(_source_of, inline)])
        self._headers = {**_HEADERS, "content-security-policy": "; ".join((*_POLICY, scripts))}
        self._names = {name.lower() for name in names}
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        answer = self._answer(Request(scope)) or self._app
        await answer(scope, receive, send_guarded)

    def _answer(self, request: Request) -> Response | None:
        """Return why not, or how to come in; ``None`` to let the request through."""
        host = request.headers.get("host", "")
        if not self._is_here(host):
            return PlainTextResponse("this name is not served here", 421)
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return PlainTextResponse("pages elsewhere may not ask", 403)
        if not self._token:
            return None
        cookie = _cookie(request)
        if self._knows(request.query_params.get("token", "")):
            bare = request.url.remove_query_params("token")
            let_in = RedirectResponse(f"{bare.path}{'?' + bare.query if bare.query else ''}", 303)
            let_in.set_cookie(cookie, self._token, httponly=True, samesite="strict")
            return let_in
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._knows(request.cookies.get(cookie, "")) or self._knows(given):
            return None
        return PlainTextResponse(
            "a token is needed; open the address that stepwatch dash printed", 401
        )

    def _knows(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _is_here(self, host: str) -> bool:
        name = (urlsplit(f"//{host}").hostname or "").lower()
        if name in self._names:
            return True
        try:  # to rebind takes a name; an address is what it is
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _source_of(script: str) -> str:
    """Return what names a script by its content in a policy."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _cookie(request: Request) -> str:
    """Return the name of our cookie; browsers hold one jar for all ports of a machine."""
    return f"stepwatch_{request.url.port or 80}"
