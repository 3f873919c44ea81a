"""`softaug watch`: the live page of a folder."""

import errno
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from softaug.checks import refuse
from softaug.watch.folder import WatchedFolder
from softaug.watch.glance import Glance
from softaug.watch.page import render
from softaug.watch.server import WatchServer

LAST_PORT = 65535


def watch(folder: Annotated[Path, tyro.conf.Positional], port: int = 0) -> None:
    """Show a grid or a folder of runs in the browser, live, until Ctrl-C.

    Args:
        folder: What `softaug reproduce` writes into, or any folder with runs in it; it may be
            empty yet. Nothing is written there.
        port: Where the page is served, on this machine alone; 0 is any free port.
    """
    with open_server(folder, port) as server:
        told = f"Watching {folder}: {server.url} (Ctrl-C ends it)"
        Console().print(told, soft_wrap=True, markup=False, highlight=False)
        server.serve_forever()


def open_server(folder: Path, port: int) -> WatchServer:
    """A server that is bound to its port; what cannot be watched or bound is refused."""
    if not folder.is_dir():
        got = f"{folder}, a file" if folder.exists() else f"{folder}, which is not there"
        refuse("watch", "FOLDER must be a folder", got, "name the --out of `softaug reproduce`")
    if not 0 <= port <= LAST_PORT:
        refuse("watch", f"port must be in 0..{LAST_PORT}", port, "0 takes any free one")
    try:
        return WatchServer(port, Glance(WatchedFolder(folder)), render(folder))
    except OSError as taken:
        if taken.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        rule = "port must be free and ours to take"
        refuse("watch", rule, f"{port} ({taken.strerror})", "leave --port out for any free one")
