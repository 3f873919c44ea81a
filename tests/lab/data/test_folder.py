import os
import pickle

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from softaug.lab.data.folder import open_folder, read_image
from softaug.lab.data.images import hold_out


def save(path, colour=(10, 20, 30), size=(8, 8)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


@pytest.fixture
def tree(tmp_path):
    """Two classes; the red of an image tells which it is."""
    for part in ("train", "val"):
        for number, file in enumerate(("cat/b.png", "cat/a.png", "ant/sub/c.PNG", "ant/d.bmp")):
            save(tmp_path / part / file, (number, 0, 0))
    return tmp_path


def reds(source):
    return source.fetch(torch.arange(len(source.labels)))[:, 0, 0, 0].tolist()


def test_classes_and_images_are_in_the_order_of_their_names(tree):
    data = open_folder(tree, size=4)
    assert data.class_names == ("ant", "cat")
    assert data.train.labels.tolist() == [0, 0, 1, 1]
    assert data.train.labels.dtype == torch.int64
    assert reds(data.train) == [3, 2, 1, 0]  # ant/d.bmp, ant/sub/c.PNG, cat/a.png, cat/b.png
    assert reds(data.test) == [3, 2, 1, 0]


def test_images_are_fetched_and_taken_in_the_order_of_the_index(tree):
    train = open_folder(tree, size=4).train
    batch = train.fetch(torch.tensor([2, 0]))
    assert batch.shape == (2, 3, 4, 4)
    assert batch.dtype == torch.uint8
    part = train.take(torch.tensor([3, 0]))
    assert reds(part) == [0, 3]
    assert part.labels.tolist() == [1, 0]
    rest, held = hold_out(train, 2, seed=0)
    assert sorted(reds(rest) + reds(held)) == [0, 1, 2, 3]


def test_a_folder_of_classes_has_no_test_part(tree):
    data = open_folder(tree / "train", size=4)
    assert data.test is None
    assert data.class_names == ("ant", "cat")


def test_val_goes_before_test_and_test_is_taken_without_it(tree):
    (tree / "val").rename(tree / "test")
    assert open_folder(tree, size=4).test.root == str(tree / "test")
    os.symlink(tree / "test", tree / "val")
    assert open_folder(tree, size=4).test.root == str(tree / "val")


def test_other_and_hidden_files_are_left_out(tree):
    (tree / "train" / "cat" / "notes.txt").write_text("no image")
    (tree / "train" / "cat" / "._a.png").write_bytes(b"of macOS")
    (tree / "train" / ".cache").mkdir()
    assert len(open_folder(tree, size=4).train.labels) == 4


def test_listing_opens_no_image(tree, monkeypatch):
    monkeypatch.setattr(Image, "open", None)
    assert len(open_folder(tree, size=4).train.labels) == 4


def test_names_that_are_not_ascii_are_read(tree):
    save(tree / "train" / "ant" / "Zürich 蟻.png", (77, 0, 0))
    assert reds(open_folder(tree, size=4).train)[0] == 77


class Batches(torch.utils.data.Dataset):
    def __init__(self, source):
        self.source = source

    def __getitem__(self, number):
        return self.source.fetch(torch.tensor([number]))

    def __len__(self):
        return len(self.source.labels)


def test_loader_workers_can_hold_it(tree):
    train = open_folder(tree, size=4).train
    assert reds(pickle.loads(pickle.dumps(train))) == reds(train)
    loader = DataLoader(Batches(train), batch_size=None, num_workers=1)
    assert [int(batch[0, 0, 0, 0]) for batch in loader] == reds(train)


@pytest.mark.parametrize("size", [(90, 30), (30, 90)])
def test_the_centre_of_the_long_edge_is_kept(tmp_path, size):
    image = Image.new("RGB", size, (255, 0, 0))
    left, top = size[0] // 2 - 15, size[1] // 2 - 15
    image.paste((0, 200, 0), (left, top, left + 30, top + 30))
    image.save(tmp_path / "a.png")
    inner = read_image(str(tmp_path / "a.png"), 10)[:, 1:-1, 1:-1]
    assert inner.flatten(1).unique(dim=1).tolist() == [[0], [200], [0]]


def test_it_is_the_short_edge_resized_then_the_centre_cut(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    image = Image.fromarray(pixels)
    image.save(tmp_path / "a.png")
    whole = image.resize((24, 16), Image.Resampling.BILINEAR)
    expected = torch.from_numpy(np.array(whole)[:, 4:20]).permute(2, 0, 1)
    found = read_image(str(tmp_path / "a.png"), 16)
    assert int((found.int() - expected.int()).abs().max()) <= 1


def test_small_images_are_enlarged_and_grey_becomes_colour(tmp_path):
    Image.new("L", (3, 5), 100).save(tmp_path / "a.png")
    assert torch.equal(read_image(str(tmp_path / "a.png"), 7), torch.full((3, 7, 7), 100).byte())


def test_a_large_jpeg_looks_the_same_though_decoded_small(tmp_path):
    ramp = np.linspace(0, 255, 1600).astype(np.uint8)
    Image.fromarray(np.broadcast_to(ramp[:, None], (1600, 1600))).save(tmp_path / "a.jpg")
    found = read_image(str(tmp_path / "a.jpg"), 100)[0, :, 50].float()
    assert float((found - torch.linspace(1, 254, 100)).abs().max()) < 3


def test_a_large_jpeg_keeps_the_detail_that_the_size_can_show(tmp_path):
    stripes = np.tile(np.repeat([0, 255], 8).astype(np.uint8), (800, 50))  # 800 x 800
    Image.fromarray(stripes).save(tmp_path / "a.jpg", quality=95)
    found = read_image(str(tmp_path / "a.jpg"), 200)  # a stripe is 2 pixels wide
    assert float(found.float().std()) > 90


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n" + b"x" * 40])
def test_an_unreadable_file_is_named_when_it_is_fetched(tree, content):
    path = tree / "train" / "ant" / "e.png"
    path.write_bytes(content)
    train = open_folder(tree, size=4).train
    with pytest.raises(ValueError, match=rf"{path} must be an image that can be read, got ."):
        train.fetch(torch.tensor([1]))


def test_a_truncated_jpeg_is_refused(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "a.jpg")
    whole = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "a.jpg").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"a\.jpg must be an image that can be read, got .*trunc"):
        read_image(str(tmp_path / "a.jpg"), 8)


def test_sixteen_bits_which_would_turn_white_are_refused(tmp_path):
    Image.fromarray(np.full((4, 4), 3000, np.uint16)).save(tmp_path / "a.png")
    with pytest.raises(ValueError, match="more than 8 bits a channel"):
        read_image(str(tmp_path / "a.png"), 4)


def test_the_short_edge_is_resized_and_less_of_the_centre_kept(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    whole = Image.fromarray(pixels).resize((48, 32), Image.Resampling.BILINEAR)
    expected = torch.from_numpy(np.array(whole)[8:24, 16:32]).permute(2, 0, 1)
    found = read_image(str(tmp_path / "a.png"), 16, resize=32)
    assert int((found.int() - expected.int()).abs().max()) <= 1


def test_a_photograph_taken_upright_is_measured_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    image = Image.new("RGB", (80, 40), (0, 0, 0))
    image.paste((255, 255, 255), (40, 0, 80, 40))  # the right half is the lower one, upright
    image.save(tmp_path / "a.jpg", exif=exif)
    found = read_image(str(tmp_path / "a.jpg"), 10)[0]
    assert int(found[:4].max()) < 30
    assert int(found[6:].min()) > 225


@pytest.mark.parametrize("which", ["", "train", "val", "train/ant", "train/ant/sub"])
def test_a_folder_that_may_not_be_read_is_refused_by_name(tree, which, monkeypatch):
    closed, scandir = str(tree / which).rstrip("/"), os.scandir

    def guarded(path):
        if str(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    rule = f"folder: {closed} must be a folder that can be read, got Permission denied"
    with pytest.raises(ValueError, match=rule):
        open_folder(tree, size=4)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=rf"{tmp_path}/none must be a folder, got no such folder"):
        open_folder(tmp_path / "none", size=4)


def test_a_folder_without_classes_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must hold a folder for each class, got none"):
        open_folder(tmp_path, size=4)


def test_an_empty_class_is_refused_by_name(tree):
    (tree / "train" / "bee").mkdir()
    with pytest.raises(ValueError, match=r"train/bee must hold images .* got none"):
        open_folder(tree, size=4)


def test_a_test_part_with_other_classes_is_refused_by_name(tree):
    (tree / "val" / "ant").rename(tree / "val" / "bee")
    with pytest.raises(
        ValueError, match="val must have the same classes as train, got no ant, also bee"
    ):
        open_folder(tree, size=4)


def test_a_test_part_alone_is_refused(tree):
    (tree / "train").rename(tree / "training")
    with pytest.raises(ValueError, match="train must exist, got only val"):
        open_folder(tree, size=4)
