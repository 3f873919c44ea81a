"""Getting a file over the network, from where the last try ended."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rich.console import Console

from softaug.checks import refuse
from softaug.progress import progress

CHUNK = 1 << 18
TIMEOUT = 30  # seconds without a byte


def download(url: str, part: Path, console: Console, by_hand: str) -> None:
    """Complete `part`, asking only for what it lacks; bytes that came are always kept.

    A failure of the network is told with `by_hand`, what the user can do instead.
    """
    have = part.stat().st_size if part.exists() else 0
    with _network(url, by_hand):
        answer = _ask(url, have)
    if answer is None:
        return
    with answer:
        if answer.status != HTTPStatus.PARTIAL_CONTENT:  # the server sends all of it again
            have = 0
        with part.open("ab" if have else "wb") as file:
            for chunk in _chunks(answer, url, have, console, by_hand):
                file.write(chunk)


def _ask(url: str, have: int) -> Any:
    """The server's answer; None if it has nothing beyond the `have` bytes."""
    request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        return urlopen(request, timeout=TIMEOUT)
    except HTTPError as refused:
        if have and refused.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return None
        raise


def _chunks(answer: Any, url: str, have: int, console: Console, by_hand: str) -> Iterator[bytes]:
    """What the server sends, to its last byte, with progress."""
    with _network(url, by_hand):
        length = int(answer.headers["Content-Length"] or 0)
    came, name = 0, url.rsplit("/", 1)[-1]
    with progress(console, length // 1000, "kB") as show:
        while came < length:
            with _network(url, by_hand):
                chunk = answer.read1(CHUNK)  # `read` may lose the last bytes that came
                if not chunk:
                    raise ConnectionError(f"the connection ended {length - came:,} bytes early")
            yield chunk
            came += len(chunk)
            percent = 10 * int(10 * (have + came) / (have + length))
            show(came // 1000, f"{name}: {percent} % of {(have + length) / 1e6:.0f} MB")


@contextmanager
def _network(url: str, by_hand: str) -> Iterator[None]:
    try:
        yield
    except (OSError, HTTPException) as failed:
        refuse("data", f"{url} must be reachable", failed, by_hand)
