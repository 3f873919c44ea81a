import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from softaug.lab.data import decoding
from softaug.lab.data import decoding as pillow
from softaug.lab.data.decoding import get_decoder, is_installed, open_image
from softaug.lab.io import silent_stderr

needs_nvimgcodec = pytest.mark.skipif(not is_installed(), reason="nvImageCodec is not installed")
WIDTH, HEIGHT = 45, 39  # odd, and some blocks of 16 each way


def noisy(mode="RGB"):
    random = np.random.default_rng(0)
    pixels = random.integers(60, 200, (HEIGHT // 3, WIDTH // 3, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC).convert(mode)


def saved(folder, image, **options):
    image.save(folder / "a.jpg", **options)
    return open_image(str(folder / "a.jpg"))


def decoded(file, box, scale=1, way=None):
    """Pixels [3, h, w] of a box, by the decoder that is chosen or by `way`."""
    return torch.from_numpy((way or get_decoder())(file, box, scale)).permute(2, 0, 1)


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
def test_both_ways_give_the_same_pixels_in_any_box(tmp_path, mode, options, monkeypatch):
    monkeypatch.setenv("SOFTAUG_DECODER", "nvimgcodec")
    file = saved(tmp_path, noisy(mode), quality=90, **options)
    assert file.is_plain
    expected = decoded(file, (0, 0, WIDTH, HEIGHT), way=pillow.decode)
    for left, top, right, bottom in boxes():
        found = decoded(file, (left, top, right, bottom))
        assert torch.equal(found, expected[:, top:bottom, left:right]), (left, top, right, bottom)


@needs_nvimgcodec
def test_nvimgcodec_decodes_plain_jpegs_without_pillow(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTAUG_DECODER", "nvimgcodec")
    file = saved(tmp_path, noisy())
    monkeypatch.setattr(pillow, "decode", None)
    assert decoded(file, (3, 2, 10, 6)).shape == (3, 4, 7)


@needs_nvimgcodec
def test_a_column_one_pixel_wide_is_an_image_too(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTAUG_DECODER", "nvimgcodec")
    file = saved(tmp_path, noisy().crop((0, 0, 1, HEIGHT)), subsampling="4:2:0")
    box = (0, 3, 1, HEIGHT)
    assert torch.equal(decoded(file, box), decoded(file, box, way=pillow.decode))


@needs_nvimgcodec
@pytest.mark.parametrize("scale", [2, 4, 8])
def test_both_ways_decode_smaller_alike(tmp_path, scale, monkeypatch):
    monkeypatch.setenv("SOFTAUG_DECODER", "nvimgcodec")
    file = saved(tmp_path, noisy())
    box = (1, 0, -(-WIDTH // scale), -(-HEIGHT // scale))  # edges are rounded up
    found = decoded(file, box, scale)
    assert found.shape == (3, box[3], box[2] - 1)
    assert torch.equal(found, decoded(file, box, scale, way=pillow.decode))


@needs_nvimgcodec
def test_what_nvimgcodec_cannot_decode_is_left_to_pillow(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTAUG_DECODER", "nvimgcodec")
    file = saved(tmp_path, noisy(), progressive=True)
    broken = file._replace(data=file.data[: len(file.data) // 2])
    with silent_stderr(), pytest.raises(OSError, match="truncated"):
        decoded(broken, (0, 0, WIDTH, HEIGHT))


def test_pillow_is_taken_where_nvimgcodec_is_not_installed(monkeypatch):
    monkeypatch.delenv("SOFTAUG_DECODER", raising=False)
    monkeypatch.setattr(decoding, "find_spec", lambda name: None)
    decoding._make_decoder.cache_clear()
    assert get_decoder() is pillow.decode
    decoding._make_decoder.cache_clear()


@needs_nvimgcodec
def test_nvimgcodec_is_taken_where_it_is_installed_and_made_once(monkeypatch):
    monkeypatch.delenv("SOFTAUG_DECODER", raising=False)
    assert isinstance(get_decoder(), decoding.NvImageCodec)
    assert get_decoder() is get_decoder()


def test_a_decoder_is_chosen_by_name_and_a_wrong_name_is_refused(monkeypatch):
    monkeypatch.setenv("SOFTAUG_DECODER", "pillow")
    assert get_decoder() is pillow.decode
    monkeypatch.setenv("SOFTAUG_DECODER", "pilow")
    with pytest.raises(ValueError, match=r"got 'pilow'; did you mean 'pillow'\?"):
        get_decoder()


@needs_nvimgcodec
def test_a_forked_process_makes_its_own(monkeypatch):
    monkeypatch.setenv("SOFTAUG_DECODER", "nvimgcodec")
    here = get_decoder()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert get_decoder() is not here


@needs_nvimgcodec
def test_its_complaints_about_missing_gpu_libraries_are_not_shown():
    code = "from softaug.lab.data.decoding import get_decoder; print(get_decoder())"
    environment = {**os.environ, "SOFTAUG_DECODER": "nvimgcodec"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert "NvImageCodec" in done.stdout
    assert done.stderr == ""


def test_errors_rise_out_of_a_silent_stretch_and_standard_error_comes_back(capfd):
    def complain():
        with silent_stderr():
            os.write(2, b"hidden")
            raise ImportError

    with pytest.raises(ImportError):
        complain()
    os.write(2, b"shown")
    assert capfd.readouterr().err == "shown"


@pytest.mark.parametrize("way", decoding.DECODERS)
def test_pixels_are_rgb_bytes_as_many_as_the_box_has(tmp_path, way, monkeypatch):
    if way == "nvimgcodec" and not is_installed():
        pytest.skip("nvImageCodec is not installed")
    monkeypatch.setenv("SOFTAUG_DECODER", way)
    file = saved(tmp_path, Image.new("RGB", (16, 16), (200, 100, 50)), quality=100)
    pixels = get_decoder()(file, (4, 3, 8, 5))
    assert (pixels.shape, pixels.dtype) == ((2, 4, 3), np.uint8)
    assert np.abs(pixels.astype(int) - [200, 100, 50]).max() <= 2
