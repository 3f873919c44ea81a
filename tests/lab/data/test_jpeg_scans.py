"""JPEG scans: which markers may stand in them, and damage that is noticed."""

import io
import itertools

import numpy as np
import pytest
from PIL import Image

from softaug.lab.data.decoding import check_scans

END = b"\xff\xd9"


def jpeg(**options):
    noise = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "JPEG", **options)
    return file.getvalue()


def scan_start(content):
    stream = io.BytesIO(content)
    Image.open(stream)
    return stream.tell()


def test_whole_files_pass():
    for progressive, subsampling, restarts in itertools.product(
        [False, True], ["4:4:4", "4:2:0"], [0, 1, 3]
    ):
        options = {"subsampling": subsampling, "restart_marker_blocks": restarts}
        content = jpeg(progressive=progressive, **options)
        assert (b"\xff\xd0" in content) == bool(restarts)
        check_scans(content, scan_start(content))


def test_what_can_stand_in_scans_passes():
    for scan in (
        b"abc",
        b"a\xff\x00\x12",  # 0xff as data
        b"a\xff\xd0b\xff\xd7c",  # restarts
        b"a\xff\xff\xff",  # padding
        b"a" + END + b"\xff\x12 what follows the end",
        b"a\xff\xfe\x00\x06\xff\x12\xff\xd9",  # a comment may hold anything
        b"a\xff\xc4\x00\x04\xff\x12\xff\xda\x00\x08\xff\x12\xff\x12\xff\x12b",
    ):
        check_scans(b"head" + scan + END, 4)


def test_what_cannot_stand_in_scans_is_damage():
    for marker in (0x01, 0x12, 0xBF, 0xC0, 0xC2, 0xD8, 0xDE, 0xF0, 0xFD):
        content = b"\xff\x12head" + b"a\xff" + bytes([marker]) + b"\x00\x02" + END
        with pytest.raises(ValueError, match=f"a damaged JPEG: .* a marker 0xff{marker:02x}"):
            check_scans(content, 6)
    # A segment that ends at no marker, and a scan of no such length.
    for wrong in (b"\xff\xfe\x00\x04abc" + END, b"\xff\xda\x00\x09abcdefgh" + END):
        with pytest.raises(ValueError, match="a damaged JPEG"):
            check_scans(wrong, 0)


def test_scans_that_nothing_ends_are_truncated():
    for scan in (b"", b"\xff", b"ab", b"a\xff\xfe", b"\xff\xfe\x00\x09" + END):
        with pytest.raises(ValueError, match="a truncated JPEG: its end marker is missing"):
            check_scans(scan, 0)


def test_random_bytes_in_the_middle_are_noticed():
    content = jpeg(quality=100, progressive=True)
    scan, random = scan_start(content), np.random.default_rng(1)
    for start in random.integers(scan, len(content) - 2100, 50).tolist():
        damaged = content[:start] + random.bytes(2048) + content[start + 2048 :]
        with pytest.raises(ValueError, match="JPEG"):
            check_scans(damaged, scan)
