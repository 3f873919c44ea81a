"""`softaug data`: downloads resumed, checked and put in place as a whole; folders checked."""

import gzip
import hashlib
import io
import re
import shutil
import tarfile
import threading
from dataclasses import replace

import pytest
from file_server import serving
from PIL import Image
from rich.console import Console

from softaug.lab.data.check import data
from softaug.lab.data.cifar import RELEASES
from softaug.lab.data.download import get_release
from softaug.lab.data.fashion_mnist import RELEASES as FASHION
from softaug.lab.data.images import load

ARCHIVE = "cifar-100-binary.tar.gz"
PART = f"{ARCHIVE}.part"
FIRST, LAST = "train-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"


@pytest.fixture
def server(tiny, monkeypatch):
    with serving(tiny.archive) as running:
        url = f"{running.url}{ARCHIVE}"
        monkeypatch.setitem(RELEASES, "cifar100", replace(RELEASES["cifar100"], url=url))
        yield running


@pytest.fixture
def packed(fashion):
    return {f"{name}.gz": gzip.compress(content) for name, content in fashion.files.items()}


@pytest.fixture
def fashion_server(fashion, packed, monkeypatch):
    with serving(packed) as running:
        monkeypatch.setitem(FASHION, "fashion-mnist", replace(fashion.release, url=running.url))
        yield running


def run(root, release=None):
    """What `get_release` prints; of CIFAR-100, unless another is given."""
    out = io.StringIO()
    get_release(release or RELEASES["cifar100"], root, Console(file=out, width=300))
    return out.getvalue()


def left_in(root):
    return {path.name for path in root.iterdir() if not path.name.endswith(".lock")}


def read(root, folder="cifar-100-binary"):
    return {path.name: path.read_bytes() for path in (root / folder).iterdir()}


def serve(server, monkeypatch, content):
    """Serve another archive, with its checksum taken for the official one."""
    server.content = content
    sha256 = hashlib.sha256(content).hexdigest()
    release = replace(RELEASES["cifar100"], archive_sha256=sha256)
    monkeypatch.setitem(RELEASES, "cifar100", release)


def test_a_missing_set_is_downloaded_once_and_can_be_read(server, tiny, tmp_path, recwarn):
    root = tmp_path / "new" / "root"
    stale = root / ".cifar-100-binary.unfinished"  # of a process that was killed
    stale.mkdir(parents=True)
    (stale / "train.bin").write_bytes(b"half")
    text = run(root)
    assert read(root) == tiny.files  # and no readme.html
    assert left_in(root) == {"cifar-100-binary"}
    assert "100 % of 0 MB" in text
    assert "ok: train.bin, 4 images, official" in text
    assert len(load("cifar100", root).train.labels) == 4
    assert len(recwarn) == 0
    text = run(root)  # is only checked
    assert text.count("ok: ") == 4
    assert f"cifar100 is in {root}/cifar-100-binary" in text
    assert server.asked == [None]


def test_an_interrupted_download_goes_on_where_it_ended(server, tiny, tmp_path):
    server.cut = 5000
    remedy = rf"goes on from there; or get {server.url}cifar-.* put it at {tmp_path}/{ARCHIVE}"
    with pytest.raises(ValueError, match=rf"ended [\d,]+ bytes early; .*{remedy}"):
        run(tmp_path)
    assert (tmp_path / PART).read_bytes() == tiny.archive[:5000]
    server.cut = None
    run(tmp_path)
    assert server.asked == [None, "bytes=5000-"]
    assert read(tmp_path) == tiny.files
    assert left_in(tmp_path) == {"cifar-100-binary"}


@pytest.mark.parametrize("whole", [True, False])
def test_a_part_is_used_if_it_is_whole_and_begun_anew_if_ranges_are_ignored(
    server, tiny, tmp_path, whole
):
    part = tiny.archive if whole else b"x" * 5000
    (tmp_path / PART).write_bytes(part)
    server.ranges = whole
    run(tmp_path)
    assert server.asked == [f"bytes={len(part)}-"]
    assert read(tmp_path) == tiny.files


def test_an_archive_put_there_by_hand_is_used_or_refused_and_kept(server, tiny, tmp_path):
    (tmp_path / ARCHIVE).write_bytes(b"not it")
    with pytest.raises(ValueError, match=r"official file, got sha256 .*remove it"):
        run(tmp_path)
    assert left_in(tmp_path) == {ARCHIVE}
    (tmp_path / ARCHIVE).write_bytes(tiny.archive)
    run(tmp_path)
    assert server.asked == []
    assert left_in(tmp_path) == {"cifar-100-binary", ARCHIVE}


def link(target):
    """A .tar.gz whose train.bin is a symbolic link."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        member = tarfile.TarInfo("cifar-100-binary/train.bin")
        member.type, member.linkname = tarfile.SYMTYPE, target
        archive.addfile(member)
    return out.getvalue()


def test_links_and_members_outside_the_folder_are_refused(server, tiny, tmp_path, monkeypatch):
    evil = ["../evil.bin", "/evil.bin", "other/train.bin", "cifar-100-binary/../../evil.bin"]
    archives = {name: tiny.pack({**tiny.packed, name: b"evil"}) for name in evil}
    for name, content in {**archives, "cifar-100-binary/train.bin": link("/etc/passwd")}.items():
        serve(server, monkeypatch, content)
        with pytest.raises(ValueError, match=f"plain files in cifar-100-binary alone, got {name}"):
            run(tmp_path / "root")
        assert not list(tmp_path.rglob("evil*"))
        assert left_in(tmp_path / "root") == {PART}
        (tmp_path / "root" / PART).unlink()


def test_an_archive_of_other_files_is_refused(server, tiny, tmp_path, monkeypatch):
    changed = {**tiny.packed, "cifar-100-binary/test.bin": bytes(2 * 3074)}
    del changed["cifar-100-binary/fine_label_names.txt"]
    serve(server, monkeypatch, tiny.pack(changed))
    wrong = r"test\.bin: sha256 is not the official one; fine_label_names\.txt: no such file"
    with pytest.raises(ValueError, match=wrong):
        run(tmp_path)
    assert not (tmp_path / "cifar-100-binary").exists()


def test_a_set_with_wrong_files_is_refused_and_left_alone(server, tiny, tmp_path, capsys):
    run(tmp_path)
    folder = tmp_path / "cifar-100-binary"
    (folder / "train.bin").write_bytes(bytes([19, 100]) + tiny.files["train.bin"][2:])
    (folder / "test.bin").write_bytes(b"short")
    (folder / "coarse_label_names.txt").write_text("one\ntwo\n")
    before = read(tmp_path)
    with pytest.raises(ValueError, match="must hold the official files, got 3 wrong; move it"):
        get_release(RELEASES["cifar100"], tmp_path, Console(width=300))
    lines = capsys.readouterr().out
    assert "WRONG: train.bin, fine label 100 is outside 0..99" in lines
    assert "WRONG: test.bin, 5 bytes, should be 6,148" in lines
    assert "WRONG: coarse_label_names.txt, 2 names" in lines
    assert read(tmp_path) == before
    assert server.asked == [None]


def test_no_network_says_what_to_do_by_hand(tiny, fashion, tmp_path):
    nowhere = "http://127.0.0.1:9/"  # nothing listens there
    (tmp_path / PART).write_bytes(b"what came before")
    by_hand = rf"get {nowhere}{ARCHIVE} by other means, put it at {tmp_path}/cifar-100"
    with pytest.raises(ValueError, match=rf"{ARCHIVE} must be reachable, .*refused.*{by_hand}"):
        run(tmp_path, replace(RELEASES["cifar100"], url=f"{nowhere}{ARCHIVE}"))
    with pytest.raises(ValueError, match=rf"9/{FIRST} must be reachable, .*apt-get install data"):
        run(tmp_path, replace(fashion.release, url=nowhere))
    assert left_in(tmp_path) == {PART}
    assert (tmp_path / PART).read_bytes() == b"what came before"


def test_a_disk_full_while_downloading_is_explained(server, tmp_path):
    (tmp_path / PART).symlink_to("/dev/full")
    with pytest.raises(OSError, match=f"no space is left for {tmp_path}; free 400 MB"):
        run(tmp_path)
    assert not (tmp_path / "cifar-100-binary").exists()


def test_two_at_a_time_download_once(server, tiny, tmp_path):
    server.delay = 0.3
    texts = []
    threads = [threading.Thread(target=lambda: texts.append(run(tmp_path))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.asked == [None]
    assert all("cifar100 is in" in text for text in texts)
    assert read(tmp_path) == tiny.files


def test_a_bad_file_is_deleted_and_good_ones_are_kept(fashion_server, packed, tmp_path):
    fashion_server.content = {**packed, LAST: b"<html>moved</html>"}
    rule = rf"fashion-mnist-{re.escape(LAST)}\.part must be the official file"
    with pytest.raises(ValueError, match=rf"{rule}, got magic .*this bad download was deleted"):
        run(tmp_path, FASHION["fashion-mnist"])
    good = [name for name in packed if name != LAST]
    assert left_in(tmp_path) == {f"fashion-mnist-{name}.part" for name in good}
    fashion_server.content = packed
    assert run(tmp_path, FASHION["fashion-mnist"]).count("ok: ") == 4
    assert read(tmp_path, "fashion-mnist") == packed
    assert load("fashion-mnist", tmp_path).train.labels.tolist() == [6, 7, 8, 9]
    assert left_in(tmp_path) == {"fashion-mnist"}


@pytest.fixture
def photos(tmp_path):
    for file, size in (("ant/a.png", (4, 5)), ("ant/b.png", (30, 20)), ("bee/c.png", (6, 6))):
        path = tmp_path / "photos" / "train" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size).save(path)
    return tmp_path / "photos"


def test_sets_that_need_no_download_are_described_with_citation_and_license(photos, capsys):
    data("fashion-mini")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "test: 2,000 images, 10 classes of 200 images"
    assert lines[2].startswith("cite: 4,000 images of Xiao")
    assert lines[3].startswith("license: MIT, Zalando SE")
    data(f"folder:{photos}", decode=True)
    text = capsys.readouterr().out
    assert text.startswith("train: 3 images, 2 classes of 1 to 2 images\n")
    assert "\nFEW: classes of less than 10 training images: ant (2); bee (1)\n" in text
    assert "\ntest: none; `softaug train` holds out a fifth of each class\n" in text


@pytest.mark.parametrize("decode", [False, True])
def test_files_of_both_splits_that_are_no_whole_images_are_named(decode, photos, capsys):
    shutil.copytree(photos / "train", photos / "val")
    for name in ("train/ant/cut.png", "val/bee/cut.jpg", "val/bee/bad.jpg"):
        Image.effect_noise((64, 64), 90).save(photos / name, quality=98)
        content = (photos / name).read_bytes()
        damaged = content[:900] + b"\xff\x12" + content[902:]
        (photos / name).write_bytes(damaged if "bad" in name else content[: len(content) // 2])
    with pytest.raises(ValueError, match=f"files of {photos} must be images, got 3 that are not"):
        data(f"folder:{photos}", decode=decode)
    out = capsys.readouterr().out
    assert f"WRONG: {photos}/train/ant/cut.png: " in out
    assert f"WRONG: {photos}/val/bee/cut.jpg: a truncated JPEG" in out
    assert f"WRONG: {photos}/val/bee/bad.jpg: a damaged JPEG" in out


def test_options_that_do_not_apply_and_unknown_sets_are_refused(tmp_path):
    with pytest.raises(ValueError, match=f"{tmp_path} must hold cifar-10-batches-py"):
        data("cifar10", tmp_path / "root", tmp_path)
    for name in ("digits", "fashion-mnist"):
        with pytest.raises(ValueError, match=f"must be left out but for CIFAR, got {name}"):
            data(name, from_torchvision=tmp_path)
        with pytest.raises(ValueError, match=f"must be left out but for folders, got {name}"):
            data(name, decode=True)
    with pytest.raises(ValueError, match=r"got 'cifer100'; did you mean 'cifar100'\?"):
        data("cifer100")
