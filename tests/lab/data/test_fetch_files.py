import gzip
import io
import re
from dataclasses import replace

import pytest
from file_server import serving
from rich.console import Console

from softaug.lab.data.download import get
from softaug.lab.data.fashion_mnist import fashion_mnist
from softaug.lab.data.releases import IDX_RELEASES

FIRST = "train-images-idx3-ubyte.gz"
LAST = "t10k-labels-idx1-ubyte.gz"


@pytest.fixture
def packed(fashion):
    return {f"{name}.gz": gzip.compress(content) for name, content in fashion.files.items()}


@pytest.fixture
def server(fashion, packed, monkeypatch):
    with serving(packed) as running:
        release = replace(fashion.release, url=running.url)
        monkeypatch.setitem(IDX_RELEASES, "fashion-mnist", release)
        yield running


def run(home):
    """What `get` prints."""
    out = io.StringIO()
    get("fashion-mnist", home, Console(file=out, width=300))
    return out.getvalue()


def left_in(home):
    return {path.name for path in home.iterdir()} - {".fashion-mnist.lock"}


def read(home):
    return {path.name: path.read_bytes() for path in (home / "fashion-mnist").iterdir()}


def test_a_missing_set_is_fetched_checked_and_can_be_read(server, packed, tmp_path, recwarn):
    home = tmp_path / "home"
    text = run(home)
    assert read(home) == packed
    assert left_in(home) == {"fashion-mnist"}
    assert text.count("ok: ") == 4
    assert fashion_mnist(home).train.labels.tolist() == [6, 7, 8, 9]
    assert len(recwarn) == 0
    assert server.asked == [None] * 4
    run(home)
    assert server.asked == [None] * 4


def test_an_interrupted_download_goes_on_where_it_ended(server, packed, tmp_path):
    server.cut = 1000
    by_hand = f"put the files of {server.url} into {tmp_path}/fashion-mnist by other means, or use"
    with pytest.raises(ValueError, match=rf"goes on from there; or {by_hand} `apt-get install"):
        run(tmp_path)
    part = tmp_path / f"fashion-mnist-{FIRST}.part"
    assert part.read_bytes() == packed[FIRST][:1000]
    server.cut = None
    run(tmp_path)
    assert server.asked == [None, "bytes=1000-", None, None, None]
    assert read(tmp_path) == packed


def test_a_bad_download_is_deleted_and_good_ones_are_kept(server, packed, tmp_path):
    server.content = {**packed, LAST: b"<html>moved</html>"}
    told = rf"fashion-mnist-{re.escape(LAST)}\.part must hold the official t10k-labels-idx1-ubyte"
    with pytest.raises(ValueError, match=rf"{told}, got magic .*this bad download was deleted"):
        run(tmp_path)
    assert left_in(tmp_path) == {f"fashion-mnist-{name}.part" for name in packed} - {
        f"fashion-mnist-{LAST}.part"
    }
    server.content = packed
    run(tmp_path)
    assert read(tmp_path) == packed
    assert left_in(tmp_path) == {"fashion-mnist"}


def test_other_images_of_the_same_size_are_refused(server, packed, fashion, tmp_path):
    other = fashion.files[FIRST.removesuffix(".gz")][:-1] + b"?"
    server.content = {**packed, FIRST: gzip.compress(other)}
    with pytest.raises(ValueError, match="got sha256 is not the official one; this bad download"):
        run(tmp_path)
    assert left_in(tmp_path) == set()


def test_files_packed_anew_are_official_too(server, packed, fashion, tmp_path):
    plain = fashion.files[FIRST.removesuffix(".gz")]
    server.content = {**packed, FIRST: gzip.compress(plain, compresslevel=1, mtime=1)}
    assert f"ok: {FIRST}, 4 images, sha256 official" in run(tmp_path)


def test_no_network_says_what_to_do_by_hand(fashion, tmp_path, monkeypatch):
    release = replace(fashion.release, url="http://127.0.0.1:9/")  # nothing listens there
    monkeypatch.setitem(IDX_RELEASES, "fashion-mnist", release)
    with pytest.raises(ValueError, match=rf"9/{FIRST} must be reachable, .*apt-get install data"):
        run(tmp_path)
    assert left_in(tmp_path) == set()
