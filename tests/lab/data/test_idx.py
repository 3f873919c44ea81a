import gzip

import pytest

from softaug.lab.data.fashion_mnist import open_idx, values

PLAIN = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, *range(6)])  # 2 x 3 values
SHAPE = (2, 3)


def opened(path, content):
    path.write_bytes(content)
    return open_idx(path, SHAPE)


def test_values_come_row_by_row(tmp_path):
    content, wrong = opened(tmp_path / "a", PLAIN)
    assert wrong == ""
    assert values(content, SHAPE).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_gzipped_and_plain_are_told_apart_by_content_not_by_name(tmp_path, name):
    assert opened(tmp_path / name, PLAIN) == (PLAIN, "")
    assert opened(tmp_path / name, gzip.compress(PLAIN)) == (PLAIN, "")


WRONG = {
    "empty": (b"", "0 bytes, should be 18"),
    "cut in the head": (PLAIN[:11], "11 bytes, should be 18"),
    "cut in the values": (PLAIN[:-1], "17 bytes, should be 18"),
    "longer": (PLAIN + b"?", "more than 18 bytes"),
    "other type": (PLAIN[:2] + b"\x0d" + PLAIN[3:], "magic number 3330, should be 2050"),
    "other rank": (PLAIN[:3] + b"\x01" + PLAIN[4:], "magic number 2049, should be 2050"),
    "a page": (b"<html>not found</html>", f"magic number {0x3C68746D}, should be 2050"),
    "turned": (PLAIN[:4] + PLAIN[8:12] + PLAIN[4:8] + PLAIN[12:], "dimensions 3 x 2, should be 2"),
    "huge": (PLAIN[:4] + b"\xff" * 4 + PLAIN[8:], "dimensions 4,294,967,295 x 3, should be 2 x 3"),
}


@pytest.mark.parametrize(("content", "told"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
def test_what_is_wrong_is_told(tmp_path, content, told, pack):
    assert opened(tmp_path / "a", pack(content)).wrong.startswith(told)


PACKED = gzip.compress(PLAIN)
BROKEN = {
    "cut in the head": PACKED[:5],
    "cut in the values": PACKED[:-12],
    "cut in the checksum": PACKED[:-1],
    "another method": PACKED[:2] + b"\x07" + PACKED[3:],
    "no deflate block": PACKED[:10] + b"\xff" * 20,
    "another checksum": PACKED[:-8] + bytes(4) + PACKED[-4:],
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_gzip_file_that_is_cut_or_damaged_is_told(tmp_path, content):
    found = opened(tmp_path / "a", content)
    assert found.wrong.startswith("a broken gzip file (")
    assert found.content == b""


def test_no_more_is_unpacked_than_is_wanted(tmp_path):
    content, wrong = opened(tmp_path / "bomb", gzip.compress(PLAIN + bytes(50_000_000)))
    assert len(content) == len(PLAIN) + 1
    assert wrong == "more than 18 bytes"
