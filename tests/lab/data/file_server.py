"""A web server on this machine that fails in the ways of real ones."""

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving(content):
    """Yield a running `Server`."""
    with Server(content) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


class Server(ThreadingHTTPServer):
    """Serves `content`; can stop after `cut` bytes, ignore ranges or be slow.

    It is served at any path, or is a dictionary of path -> content.
    """

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.cut, self.ranges, self.delay = content, None, True, 0.0
        self.asked = []  # the Range header of each request

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/"

    def at(self, path):
        return self.content[path[1:]] if isinstance(self.content, dict) else self.content


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, wanted = self.server, self.headers["Range"]
        server.asked.append(wanted)
        content = server.at(self.path)
        time.sleep(server.delay)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if wanted and server.ranges and start >= len(content):
            self.send_error(416)
            return
        partial = wanted and server.ranges
        rest = content[start:] if partial else content
        self.send_response(206 if partial else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: server.cut])

    def log_message(self, *args):
        pass
