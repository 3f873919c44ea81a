"""The web server behind the page: for this machine alone, and for reading alone."""

import re
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from softaug.watch.folder import Wanted
from softaug.watch.glance import Answer, Glance

LOOPBACK = "127.0.0.1"
SLOW_SECONDS = 60  # a client that takes longer for its question is left alone
HTML, JSON, TEXT = "text/html", "application/json", "text/plain"
# A page of another site may be given the name of this machine (DNS rebinding): its requests
# carry that name. Any port is fine, for tunnels.
_OUR_NAMES = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,9}")
# The page's own policy is in its head, but for what can only be said here.
PAGE_POLICY = "frame-ancestors 'none'"
# The pages of exhibits carry their own scripts; nothing they hold can ask for more.
EXHIBIT_POLICY = (
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'"
)


class Reply(NamedTuple):
    """An answer, of what kind, and what its page may do."""

    answer: Answer
    kind: str
    policy: str = "default-src 'none'; frame-ancestors 'none'"


class WatchServer(ThreadingHTTPServer):
    """Serves the page and the state of a folder on loopback; port 0 is any free one."""

    daemon_threads = True

    def __init__(self, port: int, glance: Glance, page: Answer) -> None:
        self.glance, self.page = glance, page
        super().__init__((LOOPBACK, port), Handler)

    def server_bind(self) -> None:
        """Without asking a name server for the name of 127.0.0.1, as http.server does."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is no error."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    server: WatchServer
    timeout = SLOW_SECONDS

    def do_GET(self) -> None:
        if not _OUR_NAMES.fullmatch(self.headers.get("Host", "")):
            rule = f"the Host must be {LOOPBACK} or localhost"
            self._refuse(HTTPStatus.FORBIDDEN, f"{rule}; open {self.server.url}")
            return
        reply = self._reply()
        if reply is None:
            self._refuse(HTTPStatus.NOT_FOUND, f"nothing here; open {self.server.url}")
        elif self.headers.get("If-None-Match") == reply.answer.tag:
            self._send(HTTPStatus.NOT_MODIFIED, reply)
        else:
            self._send(HTTPStatus.OK, reply)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Requests are not worth a line each."""

    def _reply(self) -> Reply | None:
        try:
            asked = urlsplit(self.path)
        except ValueError:  # such as an unclosed bracket
            return None
        route = ROUTES.get(asked.path)
        return route and route(self.server, parse_qs(asked.query))

    def _refuse(self, status: HTTPStatus, words: str) -> None:
        self._send(status, Reply(Answer(f"watch: {words}\n".encode(), ""), TEXT))

    def _send(self, status: HTTPStatus, reply: Reply) -> None:
        content = b"" if status == HTTPStatus.NOT_MODIFIED else reply.answer.content
        self.send_response(status)
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Type", f"{reply.kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
        if reply.answer.tag:
            self.send_header("ETag", reply.answer.tag)
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Content-Security-Policy", reply.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


Query = dict[str, list[str]]


def _page(server: WatchServer, query: Query) -> Reply:
    return Reply(server.page, HTML, PAGE_POLICY)


def _state(server: WatchServer, query: Query) -> Reply:
    return Reply(server.glance.state(), JSON)


def _curves(server: WatchServer, query: Query) -> Reply:
    """`want` is NUM,LIFE,KEY, any number of times."""
    wanted = []
    for text in query.get("want", []):
        num, _, rest = text.partition(",")
        life, _, key = rest.partition(",")
        wanted.append(Wanted(key, life, int(num) if _NUMBER.fullmatch(num) else 0))
    return Reply(server.glance.curves(wanted), JSON)


def _exhibit(server: WatchServer, query: Query) -> Reply | None:
    found = server.glance.exhibit(query.get("name", [""])[0])
    return found and Reply(found, JSON)


def _exhibit_page(server: WatchServer, query: Query) -> Reply | None:
    found = server.glance.exhibit_page(query.get("name", [""])[0])
    return found and Reply(found, HTML, EXHIBIT_POLICY)


ROUTES: dict[str, Callable[[WatchServer, Query], Reply | None]] = {
    "/": _page,
    "/state.json": _state,
    "/curves.json": _curves,
    "/exhibit.json": _exhibit,
    "/exhibit.html": _exhibit_page,
}
