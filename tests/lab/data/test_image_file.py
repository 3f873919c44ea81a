"""Kinds of files: what is read, how, and what is refused."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from softaug.lab.data.decoding import get_decoder, is_installed, open_image, parse_header

WAYS = ["pillow", "nvimgcodec"] if is_installed() else ["pillow"]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    monkeypatch.setenv("SOFTAUG_DECODER", request.param)


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


def picture(mode="RGB", size=(40, 24)):
    """Left half dark, right half light: one sees how it is turned."""
    image = Image.new("RGB", size, (30, 60, 90))
    image.paste((200, 180, 160), (size[0] // 2, 0, *size))
    return image.convert(mode)


def pixels(file, box=None, scale=1):
    found = get_decoder()(file, box or (0, 0, file.width, file.height), scale)
    return torch.from_numpy(found).permute(2, 0, 1)


def reference(image):
    return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "PA"])
def test_png_of_any_mode_becomes_rgb(opened, way, mode):
    if mode == "PA":
        content = encoded(picture("P"), "PNG", transparency=0)
    else:
        content = encoded(picture(mode), "PNG")
    file = opened(content, "a.png")
    assert torch.equal(pixels(file), reference(Image.open(io.BytesIO(content))))


def test_transparency_is_dropped_not_blended(opened, way):
    image = Image.new("RGBA", (4, 4), (10, 20, 30, 0))
    assert pixels(opened(encoded(image, "PNG")))[:, 0, 0].tolist() == [10, 20, 30]


def test_a_grey_jpeg_has_three_equal_channels(opened, way):
    found = pixels(opened(encoded(picture("L"))))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
    assert int(found[0, 0, 0]) < 100 < int(found[0, 0, -1])


def test_a_cmyk_jpeg_becomes_rgb_as_pillow_has_it(opened, way):
    content = encoded(picture("CMYK"))
    file = opened(content)
    assert not file.is_plain
    assert torch.equal(pixels(file), reference(Image.open(io.BytesIO(content))))
    close = (pixels(file)[:, 0, 0].float() - torch.tensor([30.0, 60, 90])).abs()
    assert float(close.max()) < 6


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_an_image_is_seen_upright_as_exif_says(opened, way, orientation, kind):
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"lossless": True} if kind == "WEBP" else {}
    file = opened(encoded(picture(), kind, exif=exif, **options))
    assert (file.width, file.height) == ((40, 24) if orientation < 5 else (24, 40))
    # Where the dark left half is to be seen: EXIF 2.3, tag Orientation.
    dark = {1: "left", 2: "right", 3: "right", 4: "left"}.get(orientation)
    dark = dark or {5: "top", 6: "top", 7: "bottom", 8: "bottom"}[orientation]
    assert dark_side(pixels(file)[0]) == dark


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


def test_boxes_and_smaller_decoding_are_those_of_the_upright_image(opened, way):
    exif = Image.Exif()
    exif[0x0112] = 6
    file = opened(encoded(picture(size=(80, 48)), exif=exif))
    assert dark_side(pixels(file, (0, 0, 24, 40), 2)[0]) == "top"
    assert int(pixels(file, (5, 0, 10, 30))[0].max()) < 100  # dark is above row 40


def test_an_orientation_that_there_is_not_leaves_the_image_as_it_is(opened, way):
    exif = Image.Exif()
    exif[0x0112] = 77
    file = opened(encoded(picture(), exif=exif))
    assert (file.width, file.turned, file.is_plain) == (40, False, True)


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "BMP", "GIF"])
def test_a_name_that_does_not_fit_the_format_is_no_matter(opened, way, kind):
    file = opened(encoded(picture(), kind), "n02105855_2933.JPEG")
    assert not file.is_jpeg
    assert dark_side(pixels(file)[0]) == "left"


def test_bytes_after_the_end_of_a_jpeg_are_no_matter(opened, way):
    content = encoded(picture())
    assert torch.equal(pixels(opened(content + b"x" * 999)), pixels(opened(content)))


def test_of_several_pictures_in_a_file_the_first_is_read(opened, way):
    other = Image.new("RGB", (40, 24), (255, 0, 0))
    content = encoded(picture(), "MPO", save_all=True, append_images=[other])
    assert dark_side(pixels(opened(content))[0]) == "left"


@pytest.mark.parametrize("cut", [2, 3, 30, 400])
def test_a_jpeg_without_its_end_is_refused_before_it_is_decoded(opened, cut):
    noise = np.random.default_rng(0).integers(0, 256, (24, 40, 3), dtype=np.uint8)
    content = encoded(Image.fromarray(noise))
    with pytest.raises(ValueError, match="a truncated JPEG: its end marker is missing"):
        opened(content[:-cut])


def test_the_end_of_a_thumbnail_is_not_that_of_the_jpeg(opened):
    exif = Image.Exif()
    exif[0x0112] = 1
    exif[0x9286] = b"a thumbnail ends with \xff\xd9"
    content = encoded(picture(), exif=exif)
    assert content.count(b"\xff\xd9") == 2
    with pytest.raises(ValueError, match="a truncated JPEG"):
        opened(content[:-2])
    opened(content)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "an empty file"),
        (b"a text", "no image in a format that Pillow knows"),
        (b"\xff\xd8\xff", "."),
        (encoded(picture())[:300], "."),
        (b"\x89PNG\r\n\x1a\n" + b"x" * 40, "."),
    ],
)
def test_what_is_no_image_is_refused_with_a_reason(opened, content, reason):
    with pytest.raises(Exception, match=reason) as refused:
        opened(content)
    assert "BytesIO" not in str(refused.value)


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.float32])
def test_more_than_eight_bits_are_refused(opened, dtype):
    image = Image.fromarray(np.full((4, 4), 3000, dtype))
    with pytest.raises(ValueError, match="more than 8 bits a channel"):
        opened(encoded(image, "TIFF"), "a.tif")


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": "4:4:4"}])
@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("extra", [{}, {"comment": b"c" * 900}, {"icc_profile": b"p" * 70000}])
def test_the_head_of_a_plain_jpeg_says_what_pillow_says(mode, options, extra):
    content = encoded(picture(mode, (41, 23)), **options, **extra)
    head = parse_header(content)
    assert (head.width, head.height) == (41, 23)
    stream = io.BytesIO(content)
    Image.open(stream)
    assert head.scan == stream.tell()


@pytest.mark.parametrize(
    "content",
    [
        encoded(picture("CMYK")),
        encoded(picture(), "PNG"),
        encoded(picture(), exif=Image.Exif()),
        encoded(picture(), xmp=b"<x/>"),
        *(encoded(picture())[:length] for length in (0, 1, 2, 3, 7, 100, 200)),
        encoded(picture()).replace(b"\xff\xc0", b"\xff\xc9"),  # arithmetic coding
        encoded(picture()).replace(b"\xff\xc0\x00\x11\x08", b"\xff\xc0\x00\x11\x0c"),  # 12 bits
        encoded(picture()).replace(b"\x00\x18\x00\x28", b"\x00\x00\x00\x28"),  # height to come
    ],
)
def test_every_other_head_is_left_to_pillow(content):
    assert parse_header(content) is None
