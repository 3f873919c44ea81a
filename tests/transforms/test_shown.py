"""Which pixels of a resized window show the image."""

import pytest

from softaug.transforms.windows import shown

CASES = [
    (start, length, edge, size)
    for edge in (1, 3, 10, 300, 301)
    for size in (1, 7, 100, 224)
    for start in {0, 1, edge // 3, edge - 1}
    for length in {1, (edge - start) // 2, edge - start}
    if 0 <= start < edge and length > 0
]


@pytest.mark.parametrize(("start", "length", "edge", "size"), CASES)
def test_pixels_that_are_wholly_filled_show_the_part(start, length, edge, size):
    filled = [
        x
        for x in range(size)
        if start * size <= x * edge and (x + 1) * edge <= (start + length) * size
    ]
    put = shown(start, length, edge, size).put
    if filled:
        assert (put.start, put.stop) == (filled[0], filled[-1] + 1)
    else:
        assert put.stop == put.start + 1
        assert 0 <= put.start < size
        assert abs((put.start + 0.5) * edge / size - start - length / 2) <= edge / size


@pytest.mark.parametrize(("start", "length", "edge", "size"), CASES)
def test_what_is_taken_is_where_it_is_put_to_half_a_pixel(start, length, edge, size):
    taken, put = shown(start, length, edge, size)
    assert 0 <= taken.start < taken.stop <= length
    if (taken.start, taken.stop) != (0, length):
        assert abs(start + taken.start - put.start * edge / size) <= 0.5
        assert abs(start + taken.stop - put.stop * edge / size) <= 0.5


def test_a_part_without_pixels_takes_none():
    assert shown(start=3, length=0, edge=10, size=5).taken == slice(0, 0)
