"""Which pixels of a resized window show the image."""

import pytest

from softaug.transforms.windows import find_resize_slices

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
    dst = find_resize_slices(start, length, edge, size).dst
    if filled:
        assert (dst.start, dst.stop) == (filled[0], filled[-1] + 1)
    else:
        assert dst.stop == dst.start + 1
        assert 0 <= dst.start < size
        assert abs((dst.start + 0.5) * edge / size - start - length / 2) <= edge / size


@pytest.mark.parametrize(("start", "length", "edge", "size"), CASES)
def test_what_is_taken_is_where_it_is_put_to_half_a_pixel(start, length, edge, size):
    src, dst = find_resize_slices(start, length, edge, size)
    assert 0 <= src.start < src.stop <= length
    if (src.start, src.stop) != (0, length):
        assert abs(start + src.start - dst.start * edge / size) <= 0.5
        assert abs(start + src.stop - dst.stop * edge / size) <= 0.5


def test_a_part_without_pixels_takes_none():
    assert find_resize_slices(start=3, length=0, edge=10, size=5).src == slice(0, 0)
