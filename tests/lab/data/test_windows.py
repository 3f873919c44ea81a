"""Windows of image files: those of whole images, whatever the batch, process or scale."""

import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from softaug import DrawKey, SoftResizedCrop, UniformResizedCrop
from softaug.lab.data.decoding import get_decoder, open_image
from softaug.lab.data.folder import open_folder
from softaug.lab.data.windows import choose_jpeg_scale, decode_part

KEY = DrawKey(seed=3, epoch=1, index=torch.arange(6))


def photo(width, height, seed=0):
    """Smooth colours with some noise."""
    random = np.random.default_rng(seed)
    coarse = random.integers(0, 256, (height // 8 + 2, width // 8 + 2, 3), dtype=np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))
    noisy = smooth.astype(int) + random.integers(-9, 10, smooth.shape)
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


@pytest.fixture
def photos(tmp_path):
    """Six JPEGs of different sizes in two classes."""
    for number, size in enumerate([(61, 47), (33, 80), (50, 50), (97, 31), (64, 48), (40, 70)]):
        path = tmp_path / "photos" / f"class{number // 3}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        photo(*size, seed=number).save(path, quality=92)
    return tmp_path / "photos"


def whole(path):
    with Image.open(path) as image:
        return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)


@pytest.mark.parametrize("crop", [SoftResizedCrop(32, fill=(9, 8, 7)), UniformResizedCrop(32)])
def test_windows_are_those_of_the_whole_images(photos, crop):
    source = open_folder(photos, size=32).train
    found = source.windows(torch.arange(6), crop, KEY)
    assert (found.images.dtype, found.unreadable) == (torch.uint8, ())
    assert found.images.is_contiguous(memory_format=torch.channels_last)
    assert found.rows.tolist() == [0, 1, 2, 3, 4, 5]
    for number in range(6):
        image = whole(source.path(number))[None]
        key = DrawKey(3, 1, torch.tensor([number]))
        expected, _ = crop(image, torch.tensor([0]), key=key)
        assert torch.equal(found.images[number], expected[0])
        visible = crop.draw(image, key=key).visible
        assert found.params.visible[number] == visible


def test_windows_depend_on_the_sample_s_number_not_on_the_batch(photos, monkeypatch):
    source, crop = open_folder(photos, size=32).train, SoftResizedCrop(32)
    together = source.windows(torch.arange(6), crop, KEY)
    index = torch.tensor([4, 1, 3])
    monkeypatch.setattr("softaug.lab.data.windows.MAX_OPEN", 2)
    apart = source.windows(index, crop, DrawKey(3, 1, index))
    assert torch.equal(apart.images, together.images[index])
    assert torch.equal(apart.params.boxes, together.params.boxes[index])
    other = source.windows(index, crop, DrawKey(3, 1, index + 70))
    assert other.params.boxes.tolist() != apart.params.boxes.tolist()


def test_broken_files_are_skipped_and_named_and_move_no_other(photos):
    crop = SoftResizedCrop(32)
    expected = open_folder(photos, size=32).train.windows(torch.arange(6), crop, KEY)
    source = open_folder(photos, size=32, unreadable="skip").train
    Path(source.path(0)).write_bytes(b"no image")
    photo(64, 64).save(source.path(3), "PNG")  # fails only when it is decoded
    content = Path(source.path(3)).read_bytes()
    Path(source.path(3)).write_bytes(content[: len(content) // 2])
    found = source.windows(torch.arange(6), crop, KEY)
    rest = [1, 2, 4, 5]
    assert found.rows.tolist() == rest
    assert torch.equal(found.images, expected.images[rest])
    assert torch.equal(found.params.visible, expected.params.visible[rest])
    first, second = found.unreadable
    assert first == f"{source.path(0)}: no image in a format that Pillow knows"
    assert second.startswith(f"{source.path(3)}: ")
    with pytest.raises(ValueError, match=f"{source.path(0)} must be an image that can be read"):
        open_folder(photos, size=32).train.windows(torch.arange(6), crop, KEY)


def test_a_batch_of_nothing_but_broken_files_names_them(photos):
    source = open_folder(photos, size=32, unreadable="skip").train
    for number in (1, 2):
        Path(source.path(number)).write_bytes(b"")
    told = (
        r"some of 2 files must be .*1\.jpg: an empty .*2\.jpg: .*; `softaug data .* --decode` names"
    )
    with pytest.raises(ValueError, match=told):
        source.windows(torch.tensor([1, 2]), SoftResizedCrop(32), DrawKey(0, 0, torch.arange(2)))


def test_lack_of_memory_is_not_a_broken_file(photos, monkeypatch):
    def decode(*_):
        raise MemoryError

    monkeypatch.setattr("softaug.lab.data.windows.decode_part", decode)
    source = open_folder(photos, size=32, unreadable="skip").train
    with pytest.raises(MemoryError):
        source.windows(torch.arange(6), SoftResizedCrop(32), KEY)


def test_crops_and_keys_that_do_not_fit_are_refused_and_no_file_is_blamed(photos):
    source = open_folder(photos, size=32).train
    with pytest.raises(ValueError, match=r"crop\.size must be the folder's, 32, got 16"):
        source.windows(torch.arange(6), SoftResizedCrop(16), KEY)
    with pytest.raises(ValueError, match=r"key\.index must hold a number for each of 2 files"):
        source.windows(torch.arange(2), SoftResizedCrop(32), KEY)
    source = open_folder(photos, size=32, unreadable="skip").train
    with pytest.raises(ValueError, match="SoftResizedCrop: fill must be one number or 3"):
        source.windows(torch.arange(6), SoftResizedCrop(32, fill=(1, 2)), KEY)


def test_a_jpeg_is_decoded_smaller_while_an_edge_keeps_twice_the_size():
    file = SimpleNamespace(is_jpeg=True, turned=False, height=9999, width=9999)
    for edge, scale in ((895, 1), (896, 2), (1791, 2), (1792, 4), (3584, 8), (9999, 8)):
        assert choose_jpeg_scale(file, edge, 224) == scale
        assert choose_jpeg_scale(SimpleNamespace(is_jpeg=False), edge, 224) == 1


@pytest.fixture
def ramps(tmp_path):
    """A large JPEG, 1001 x 803: red is the column, green the row, both in steps of 4 pixels."""
    y, x = np.mgrid[:803, :1001]
    pixels = np.stack([x // 4, y // 4, 0 * x], axis=2).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "ramps.jpg", quality=100, subsampling="4:4:4")
    return str(tmp_path / "ramps.jpg")


@pytest.mark.parametrize(
    "corners", [[0, 0, 1001, 803], [333, 101, 980, 777], [-250, 210, 501, 990]]
)
def test_a_window_decoded_smaller_shows_the_same_place(ramps, corners):
    crop = SoftResizedCrop(50)
    part = decode_part(get_decoder(), open_image(ramps), corners, 50)
    assert part.corners != corners  # it is smaller
    found, expected = resized(crop, *part), window_of(whole(ramps), corners, crop)
    # Half a pixel of the result is at most 1001 / 50 / 2 / 4 = 2.5 grey levels.
    inner = (expected[:2] > 3).all(0) & (expected[2] < 3)
    assert float((found - expected).abs()[:2, inner].mean()) < 1.3
    assert float((found - expected)[:2, inner].mean().abs()) < 1.3


def window_of(image, corners, crop):
    left, top, right, bottom = corners
    canvas = torch.zeros(3, 3 * 1001, 3 * 1001, dtype=torch.uint8)
    canvas[:, 1001 : 1001 + image.shape[1], 1001 : 1001 + image.shape[2]] = image
    cut = canvas[:, 1001 + top : 1001 + bottom, 1001 + left : 1001 + right]
    return resized(crop, cut, corners, (left, top))


def resized(crop, *part):
    out = torch.empty(3, crop.size, crop.size, dtype=torch.uint8)
    crop.resize(*part, out)
    return out.float()


@pytest.mark.parametrize("corners", [[1000, 802, 1801, 1603], [-800, -800, 1, 1]])
def test_a_corner_pixel_is_still_seen_in_a_window_decoded_smaller(ramps, corners):
    part = decode_part(get_decoder(), open_image(ramps), corners, 50)
    assert part.pixels.shape == (3, 1, 1)
    expected = whole(ramps)[:, -1, -1] if corners[0] > 0 else whole(ramps)[:, 0, 0]
    assert (part.pixels[:, 0, 0].int() - expected).abs().max() <= 3
    left, top, right, bottom = part.corners
    corner = (0, 0) if corners[0] > 0 else (right - left - 1, bottom - top - 1)
    assert (part.offset[0] - left, part.offset[1] - top) == corner  # of the window


def test_loader_workers_read_what_the_main_process_reads(photos):
    source, crop = open_folder(photos, size=32).train, SoftResizedCrop(32)
    here = source.windows(torch.arange(6), crop, KEY).images  # before the fork
    sent = pickle.loads(pickle.dumps(source))

    def read(numbers):
        return sent.windows(torch.tensor(numbers), crop, KEY).images

    loader = DataLoader(range(6), 6, collate_fn=read, num_workers=1, multiprocessing_context="fork")
    (there,) = loader
    assert torch.equal(there, here)
