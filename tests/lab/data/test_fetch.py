import errno
import hashlib
import io
import tarfile
import threading
from dataclasses import replace

import pytest
from file_server import serving
from rich.console import Console

from softaug.lab.data.cifar import cifar
from softaug.lab.data.download import get
from softaug.lab.data.releases import RELEASES


@pytest.fixture
def server(tiny, monkeypatch):
    with serving(tiny.archive) as running:
        url = f"{running.url}cifar-100-binary.tar.gz"
        monkeypatch.setitem(RELEASES, "cifar100", replace(RELEASES["cifar100"], url=url))
        yield running


def run(home):
    """What `get` prints."""
    out = io.StringIO()
    get("cifar100", home, Console(file=out, width=300))
    return out.getvalue()


def left_in(home):
    return {path.name for path in home.iterdir()} - {".cifar-100-binary.lock"}


def read(home):
    return {path.name: path.read_bytes() for path in (home / "cifar-100-binary").iterdir()}


def serve(server, monkeypatch, content):
    """Serve another archive, with its checksum taken for the official one."""
    server.content = content
    sha256 = hashlib.sha256(content).hexdigest()
    release = replace(RELEASES["cifar100"], archive_sha256=sha256)
    monkeypatch.setitem(RELEASES, "cifar100", release)


def test_a_missing_set_is_fetched_checked_and_can_be_read(server, tiny, tmp_path, recwarn):
    text = run(tmp_path / "new" / "home")
    assert read(tmp_path / "new" / "home") == tiny.files  # and no readme.html
    assert left_in(tmp_path / "new" / "home") == {"cifar-100-binary"}
    assert "100 % of 0 MB" in text
    assert "ok: train.bin, 4 images, sha256 official" in text
    assert len(cifar("cifar100", tmp_path / "new" / "home").train.labels) == 4
    assert len(recwarn) == 0


def test_what_is_there_is_checked_without_the_network(server, tmp_path):
    run(tmp_path)
    text = run(tmp_path)
    assert server.asked == [None]
    assert text.count("ok: ") == 4
    assert f"cifar100 is in {tmp_path}/cifar-100-binary" in text


def test_an_interrupted_download_goes_on_where_it_ended(server, tiny, tmp_path):
    server.cut = 5000
    remedy = (
        rf"goes on from there; or get {server.url}cifar-.* put it at {tmp_path}/cifar-100-binary"
    )
    with pytest.raises(ValueError, match=rf"ended [\d,]+ bytes early; .*{remedy}"):
        run(tmp_path)
    part = tmp_path / "cifar-100-binary.tar.gz.part"
    assert part.read_bytes() == tiny.archive[:5000]
    server.cut = None
    run(tmp_path)
    assert server.asked == [None, "bytes=5000-"]
    assert read(tmp_path) == tiny.files
    assert not part.exists()


def test_a_server_that_ignores_ranges_starts_over(server, tiny, tmp_path):
    (tmp_path / "cifar-100-binary.tar.gz.part").write_bytes(b"x" * 5000)
    server.ranges = False
    run(tmp_path)
    assert server.asked == ["bytes=5000-"]
    assert read(tmp_path) == tiny.files


def test_a_download_that_was_whole_already_is_used(server, tiny, tmp_path):
    (tmp_path / "cifar-100-binary.tar.gz.part").write_bytes(tiny.archive)
    run(tmp_path)
    assert server.asked == [f"bytes={len(tiny.archive)}-"]
    assert read(tmp_path) == tiny.files


def test_a_bad_download_is_deleted(server, tmp_path):
    server.content = server.content[:-1] + b"?"
    with pytest.raises(ValueError, match=r"official sha256 .*bad download was deleted"):
        run(tmp_path)
    assert left_in(tmp_path) == set()


def test_an_archive_put_there_by_hand_is_used_and_kept(server, tiny, tmp_path):
    (tmp_path / "cifar-100-binary.tar.gz").write_bytes(tiny.archive)
    run(tmp_path)
    assert server.asked == []
    assert left_in(tmp_path) == {"cifar-100-binary", "cifar-100-binary.tar.gz"}


def test_a_bad_archive_put_there_by_hand_is_refused_not_deleted(server, tmp_path):
    (tmp_path / "cifar-100-binary.tar.gz").write_bytes(b"not it")
    with pytest.raises(ValueError, match=r"official sha256 .*remove it"):
        run(tmp_path)
    assert left_in(tmp_path) == {"cifar-100-binary.tar.gz"}


@pytest.mark.parametrize(
    "name", ["../evil.bin", "/evil.bin", "other/train.bin", "cifar-100-binary/../../evil.bin"]
)
def test_a_member_outside_the_folder_is_refused(server, tiny, tmp_path, monkeypatch, name):
    serve(server, monkeypatch, tiny.pack({**tiny.packed, name: b"evil"}))
    with pytest.raises(ValueError, match=f"plain files in cifar-100-binary alone, got {name}"):
        run(tmp_path / "home")
    assert not list(tmp_path.rglob("evil*"))
    assert left_in(tmp_path / "home") == {"cifar-100-binary.tar.gz.part"}


def test_a_link_in_the_archive_is_refused(server, tiny, tmp_path, monkeypatch):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        link = tarfile.TarInfo("cifar-100-binary/train.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        packed.addfile(link)
    serve(server, monkeypatch, out.getvalue())
    with pytest.raises(ValueError, match=r"plain files .*got cifar-100-binary/train\.bin"):
        run(tmp_path)


def test_an_archive_with_other_files_than_the_official_ones_is_refused(
    server, tiny, tmp_path, monkeypatch
):
    changed = {**tiny.packed, "cifar-100-binary/test.bin": bytes(2 * 3074)}
    del changed["cifar-100-binary/fine_label_names.txt"]
    serve(server, monkeypatch, tiny.pack(changed))
    wrong = r"test\.bin: sha256 is not the official one; fine_label_names\.txt: missing"
    with pytest.raises(ValueError, match=wrong):
        run(tmp_path)
    assert not (tmp_path / "cifar-100-binary").exists()


def test_a_set_with_something_wrong_is_told_and_left_alone(server, tiny, tmp_path):
    run(tmp_path)
    folder = tmp_path / "cifar-100-binary"
    (folder / "train.bin").write_bytes(bytes([19, 100]) + tiny.files["train.bin"][2:])
    (folder / "test.bin").write_bytes(b"short")
    (folder / "coarse_label_names.txt").write_text("one\ntwo\n")
    before, out = read(tmp_path), io.StringIO()
    with pytest.raises(ValueError, match="must hold the official files, got 3 wrong; move it"):
        get("cifar100", tmp_path, Console(file=out, width=300))
    lines = out.getvalue()
    assert "train.bin, sha256 is not the official one, fine label 100 is outside 0..99" in lines
    assert "WRONG: test.bin, 5 bytes, should be 6,148" in lines
    assert "WRONG: coarse_label_names.txt, class names differ" in lines
    assert read(tmp_path) == before
    assert server.asked == [None]


def test_no_network_says_what_to_do_by_hand(tiny, tmp_path, monkeypatch):
    url = "http://127.0.0.1:9/cifar-100-binary.tar.gz"  # nothing listens there
    monkeypatch.setitem(RELEASES, "cifar100", replace(RELEASES["cifar100"], url=url))
    part = tmp_path / "cifar-100-binary.tar.gz.part"
    part.write_bytes(b"what came before")
    by_hand = rf"get {url} by other means, put it at {tmp_path}/cifar-100-binary\.tar\.gz "
    with pytest.raises(ValueError, match=rf"{url} must be reachable, .*refused.*{by_hand}"):
        run(tmp_path)
    assert part.read_bytes() == b"what came before"


def test_a_disk_full_while_downloading_is_told(server, tmp_path):
    (tmp_path / "cifar-100-binary.tar.gz.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match=f"no space is left for {tmp_path}; free 400 MB"):
        run(tmp_path)
    assert not (tmp_path / "cifar-100-binary").exists()


def test_a_disk_full_while_unpacking_leaves_no_unfinished_folder(server, tmp_path, monkeypatch):
    def full(self, member, path, **options):
        (path / member.name).write_bytes(b"begun")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "extract", full)
    with pytest.raises(OSError, match="no space is left"):
        run(tmp_path)
    assert left_in(tmp_path) == {"cifar-100-binary.tar.gz.part"}


def test_what_a_killed_process_left_is_cleared_away(server, tiny, tmp_path):
    stale = tmp_path / ".cifar-100-binary.unfinished"
    stale.mkdir()
    (stale / "train.bin").write_bytes(b"half")
    run(tmp_path)
    assert read(tmp_path) == tiny.files
    assert left_in(tmp_path) == {"cifar-100-binary"}


def test_two_at_a_time_fetch_once(server, tiny, tmp_path):
    server.delay = 0.3
    texts = []
    threads = [threading.Thread(target=lambda: texts.append(run(tmp_path))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.asked == [None]
    assert sorted("another process" in text for text in texts) == [False, True]
    assert all("cifar100 is in" in text for text in texts)
    assert read(tmp_path) == tiny.files


def test_an_unknown_set_is_refused():
    with pytest.raises(ValueError, match=r"got 'cifar1000'; did you mean 'cifar100'\?"):
        get("cifar1000", None, Console())
