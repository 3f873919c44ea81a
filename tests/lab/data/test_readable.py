import pytest
import torch
from PIL import Image

from softaug.lab.data.folder import folder
from softaug.lab.data.images import Images
from softaug.lab.data.load import check_readable


@pytest.fixture
def photos(tmp_path):
    (tmp_path / "ant").mkdir()
    for number in range(30):
        Image.new("RGB", (9, 9)).save(tmp_path / "ant" / f"{number:02}.jpg")
    return tmp_path


def test_whole_files_and_images_in_memory_are_good(photos):
    check_readable(folder(photos, size=8).train)
    check_readable(Images(torch.zeros(1, 3, 8, 8).byte(), torch.zeros(1).long()))


@pytest.mark.parametrize(("num", "named"), [(1, 1), (20, 20), (21, 20)])
def test_broken_files_are_named_together_but_for_a_long_rest(photos, num, named):
    for number in range(num):
        (photos / "ant" / f"{number:02}.jpg").write_bytes(b"")
    with pytest.raises(ValueError, match=f"got {num} that cannot: .*; restore them") as refused:
        check_readable(folder(photos, size=8, unreadable="skip").train)
    assert str(refused.value).count(".jpg: an empty file") == named
    assert ("; ...; restore" in str(refused.value)) == (num > named)
