"""Image files: kinds, scans, what is refused, and decoders with equal pixels."""

import io
import itertools
import os

import numpy as np
import pytest
import torch
from PIL import Image

from softaug.lab.data import decoding
from softaug.lab.data.decoding import check_scans, get_decoder, is_installed, open_image
from softaug.lab.io import silent_stderr

needs_nvimgcodec = pytest.mark.skipif(not is_installed(), reason="nvImageCodec is not installed")
DECODERS = ["pillow", pytest.param("nvimgcodec", marks=needs_nvimgcodec)]
END = b"\xff\xd9"
WIDTH, HEIGHT = 45, 39  # odd, and some blocks of 16 each way


@pytest.fixture(params=DECODERS)
def decoder(request, monkeypatch):
    monkeypatch.setenv("SOFTAUG_DECODER", request.param)


@pytest.fixture
def nvimgcodec(monkeypatch):
    monkeypatch.setenv("SOFTAUG_DECODER", "nvimgcodec")


@pytest.fixture
def opened(tmp_path):
    """Saves bytes under a name and opens them."""

    def open_bytes(content, name="a.jpg"):
        (tmp_path / name).write_bytes(content)
        return open_image(str(tmp_path / name))

    return open_bytes


def encoded(image, kind="JPEG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def noisy(mode="RGB"):
    random = np.random.default_rng(0)
    pixels = random.integers(60, 200, (HEIGHT // 3, WIDTH // 3, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC).convert(mode)


def picture(mode="RGB", size=(40, 24)):
    """Left half dark, right half light: one sees how it is turned."""
    image = Image.new("RGB", size, (30, 60, 90))
    image.paste((200, 180, 160), (size[0] // 2, 0, *size))
    return image.convert(mode)


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def pixels(file, box=None, scale=1, decode=None):
    """The pixels [3, h, w] of a box, by the decoder that is chosen or by `decode`."""
    found = (decode or get_decoder())(file, box or (0, 0, file.width, file.height), scale)
    return torch.from_numpy(found).permute(2, 0, 1)


def boxes():
    """Every left, top, right and bottom edge, some of them together; and single pixels."""
    for x in range(WIDTH):
        for y in {x % HEIGHT, (7 * x) % HEIGHT, 0}:
            for right, bottom in ((WIDTH, HEIGHT), (x + 1, y + 1), (x + 17, y + 3)):
                yield x, y, min(right, WIDTH), min(bottom, HEIGHT)
    yield from ((0, 0, right, HEIGHT) for right in range(1, WIDTH + 1))
    yield from ((0, 0, WIDTH, bottom) for bottom in range(1, HEIGHT + 1))


def kinds():
    for progressive in (False, True):
        for subsampling in ("4:4:4", "4:2:2", "4:2:0"):
            yield "RGB", {"subsampling": subsampling, "progressive": progressive}
        yield "L", {"progressive": progressive}
    yield "RGB", {"keep_rgb": True}
    yield "RGB", {"restart_marker_rows": 1}


@needs_nvimgcodec
@pytest.mark.parametrize(("mode", "options"), [*kinds()])
def test_both_decoders_give_the_same_pixels_in_any_box(opened, mode, options, nvimgcodec):
    file = opened(encoded(noisy(mode), quality=90, **options))
    assert file.is_plain
    expected = pixels(file, decode=decoding.decode)
    for left, top, right, bottom in boxes():
        found = pixels(file, (left, top, right, bottom))
        assert torch.equal(found, expected[:, top:bottom, left:right]), (left, top, right, bottom)


@needs_nvimgcodec
def test_both_decode_smaller_and_a_single_column_alike(opened, nvimgcodec):
    file = opened(encoded(noisy()))
    cases = [(file, (1, 0, -(-WIDTH // s), -(-HEIGHT // s)), s) for s in (2, 4, 8)]  # rounded up
    column = opened(encoded(noisy().crop((0, 0, 1, HEIGHT)), subsampling="4:2:0"))
    for file, box, scale in [*cases, (column, (0, 3, 1, HEIGHT), 1)]:
        found = pixels(file, box, scale)
        assert found.shape == (3, box[3] - box[1], box[2] - box[0])
        assert torch.equal(found, pixels(file, box, scale, decoding.decode))


@needs_nvimgcodec
def test_pillow_decodes_only_what_nvimgcodec_cannot(opened, nvimgcodec, monkeypatch):
    file = opened(encoded(noisy(), progressive=True))
    broken = file._replace(data=file.data[: len(file.data) // 2])
    with silent_stderr(), pytest.raises(OSError, match="truncated"):
        pixels(broken)
    monkeypatch.setattr(decoding, "decode", None)
    assert pixels(file, (3, 2, 10, 6)).shape == (3, 4, 7)


def test_a_decoder_is_chosen_by_name_else_by_what_is_installed(monkeypatch):
    monkeypatch.setenv("SOFTAUG_DECODER", "pillow")
    assert get_decoder() is decoding.decode
    monkeypatch.setenv("SOFTAUG_DECODER", "pilow")
    with pytest.raises(ValueError, match=r"got 'pilow'; did you mean 'pillow'\?"):
        get_decoder()
    monkeypatch.delenv("SOFTAUG_DECODER")
    monkeypatch.setattr(decoding, "find_spec", lambda name: None)
    assert get_decoder() is decoding.decode


@needs_nvimgcodec
def test_nvimgcodec_is_made_once_in_each_process_without_a_word(monkeypatch, capfd):
    monkeypatch.delenv("SOFTAUG_DECODER", raising=False)
    decoding._make_nvimgcodec.cache_clear()
    here = get_decoder()
    assert isinstance(here, decoding.NvImageCodec)
    assert get_decoder() is here
    monkeypatch.setattr(os, "getpid", lambda: -1)  # as in a forked child
    assert get_decoder() is not here
    assert capfd.readouterr().err == ""


def test_errors_rise_out_of_a_silent_stretch_and_standard_error_comes_back(capfd):
    def complain():
        with silent_stderr():
            os.write(2, b"hidden")
            raise ImportError

    with pytest.raises(ImportError):
        complain()
    os.write(2, b"shown")
    assert capfd.readouterr().err == "shown"


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        *((mode, "PNG") for mode in ("1", "L", "LA", "P", "RGB", "RGBA")),
        *(("L", "JPEG"), ("CMYK", "JPEG"), ("RGB", "GIF"), ("RGB", "WEBP"), ("RGB", "BMP")),
    ],
)
def test_any_mode_and_format_becomes_rgb_whatever_its_name(opened, decoder, mode, kind):
    content = encoded(picture(mode), kind)
    file, image = opened(content, "n02105855_2933.JPEG"), Image.open(io.BytesIO(content))
    found = pixels(file)
    expected = torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)
    assert torch.equal(found, expected)
    assert file.is_plain == ((mode, kind) == ("L", "JPEG"))
    assert dark_side(found[0]) == "left"


def test_transparency_is_dropped_not_blended(opened, decoder):
    image = Image.new("RGBA", (4, 4), (10, 20, 30, 0))
    assert pixels(opened(encoded(image, "PNG")))[:, 0, 0].tolist() == [10, 20, 30]


# Where the dark left half is to be seen: EXIF 2.3, tag Orientation.
SIDES = ["left", "right", "right", "left", "top", "top", "bottom", "bottom"]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_an_image_is_seen_upright_as_exif_says(opened, decoder, kind):
    options = {"lossless": True} if kind == "WEBP" else {}
    for orientation, side in enumerate(SIDES, 1):
        file = opened(encoded(picture(), kind, exif=turned(orientation), **options))
        assert (file.width, file.height) == ((40, 24) if orientation < 5 else (24, 40))
        assert dark_side(pixels(file)[0]) == side
    file = opened(encoded(picture(), exif=turned(77)))  # there is no such orientation
    assert (file.width, file.turned, file.is_plain) == (40, False, True)


def dark_side(red):
    """The side of an image [H, W] whose half is dark."""
    height, width = red.shape
    halves = {
        "left": red[:, : width // 2],
        "right": red[:, width // 2 :],
        "top": red[: height // 2],
        "bottom": red[height // 2 :],
    }
    return min(halves, key=lambda side: float(halves[side].float().mean()))


def test_boxes_and_smaller_decoding_are_those_of_the_upright_image(opened, decoder):
    file = opened(encoded(picture(size=(80, 48)), exif=turned(6)))
    assert dark_side(pixels(file, (0, 0, 24, 40), 2)[0]) == "top"
    assert int(pixels(file, (5, 0, 10, 30))[0].max()) < 100  # dark is above row 40


def test_the_first_picture_of_a_file_is_read_and_what_follows_ignored(opened, decoder):
    content, other = encoded(picture()), Image.new("RGB", (40, 24), (255, 0, 0))
    assert torch.equal(pixels(opened(content + b"x" * 999)), pixels(opened(content)))
    content = encoded(picture(), "MPO", save_all=True, append_images=[other])
    assert dark_side(pixels(opened(content))[0]) == "left"


def test_a_jpeg_without_its_end_is_refused_before_it_is_decoded(opened):
    content = encoded(noisy())
    for cut in (2, 3, 30, 400):
        with pytest.raises(ValueError, match="a truncated JPEG: its end marker is missing"):
            opened(content[:-cut])
    exif = turned(1)
    exif[0x9286] = b"a thumbnail ends with \xff\xd9"
    content = encoded(picture(), exif=exif)
    opened(content)
    with pytest.raises(ValueError, match="a truncated JPEG"):
        opened(content[:-2])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "an empty file"),
        (b"a text", "no image in a format that Pillow knows"),
        (b"\xff\xd8\xff", "."),
        (encoded(picture())[:300], "."),
        (b"\x89PNG\r\n\x1a\n" + b"x" * 40, "."),
        *(
            (encoded(Image.fromarray(np.full((4, 4), 3000, t)), "TIFF"), "more than 8 bits a chan")
            for t in (np.uint16, np.int32, np.float32)
        ),
    ],
)
def test_what_is_no_image_of_8_bits_is_refused_with_a_reason(opened, content, reason):
    with pytest.raises(Exception, match=reason) as refused:
        opened(content)
    assert "BytesIO" not in str(refused.value)


def scan_start(content):
    stream = io.BytesIO(content)
    Image.open(stream)
    return stream.tell()


def test_whole_files_pass():
    for progressive, subsampling, restarts in itertools.product(
        [False, True], ["4:4:4", "4:2:0"], [0, 1, 3]
    ):
        options = {"subsampling": subsampling, "restart_marker_blocks": restarts}
        content = encoded(noisy(), progressive=progressive, **options)
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
    content = encoded(noisy(), quality=100, progressive=True)
    scan, random = scan_start(content), np.random.default_rng(1)
    for start in random.integers(scan, len(content) - 2100, 50).tolist():
        damaged = content[:start] + random.bytes(2048) + content[start + 2048 :]
        with pytest.raises(ValueError, match="JPEG"):
            check_scans(damaged, scan)
