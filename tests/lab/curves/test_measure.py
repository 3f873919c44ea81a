import io
from types import SimpleNamespace

import pytest
import torch
from rich.console import Console

from softaug import SoftPolicy
from softaug.lab.curves.measure import (
    MEASURABLE,
    OPERATION_FILL,
    MeasureOptions,
    find_subject,
    harm,
    measure,
    num_different,
    taken_for,
)
from softaug.transforms.operations import OPERATIONS, apply_operation

IMAGES = torch.randint(0, 256, (7, 3, 16, 16), dtype=torch.uint8)
FILL = (1, 2, 3)


def measured(folders, **options):
    chosen = MeasureOptions(**{"device": "cpu", "images": 40, "levels": 2, **options})
    subject = find_subject(folders, chosen)
    return measure(subject, chosen, Console(file=io.StringIO())), subject


def test_every_graded_operation_and_the_crop_are_measured():
    graded = {name for name, operation in OPERATIONS.items() if operation.graded}
    assert set(MEASURABLE) == graded | {"crop"}
    assert MeasureOptions().operations == MEASURABLE


def test_the_table_is_a_loop_over_levels_and_images(runs):
    names = ("rotate", "solarize", "crop")
    found, subject = measured([runs.held], operations=names, draws=2)
    run, images = subject.runs[0], subject.source.images
    assert torch.equal(found.whole[:, 0, 0], run.predict(images).argmax(1).int())
    for name in names:
        for column, x in enumerate((0.5, 1.0)):
            for draw in range(num_different(name, 2)):
                harmed = harm(name, images, x, draw, 0, subject.fill)
                expected = run.predict(harmed).argmax(1).int()
                assert torch.equal(found.harmed[name][:, column, draw], expected)


def test_each_run_answers(runs):
    one, _ = measured([runs.held], operations=("color",))
    two, _ = measured([runs.held, runs.held], operations=("color",))
    assert torch.equal(one.harmed["color"].expand(-1, -1, 2), two.harmed["color"])
    assert torch.equal(one.whole.expand(-1, -1, 2), two.whole)


def test_recognised_is_the_share_of_right_answers(runs):
    found, _ = measured([runs.held], operations=("color",))
    answers = torch.stack([found.labels, (found.labels + 1) % 10], dim=1)[:, None]
    assert found.recognised(answers).tolist() == [[0.5]] * 40


def test_answers_come_to_the_cpu_before_they_are_compared():
    class Elsewhere:  # as logits on a GPU: nothing of the CPU mixes with them
        def argmax(self, dim):
            return SimpleNamespace(cpu=lambda: torch.tensor([3, 1]))

    run = SimpleNamespace(predict=lambda images: Elsewhere())
    subject = SimpleNamespace(runs=[run, run])
    assert taken_for(subject, IMAGES[:2]).tolist() == [[3, 3], [1, 1]]


def test_levels_run_evenly_to_the_strongest(runs):
    found, _ = measured([runs.held], operations=("color",), levels=4)
    assert found.x.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert found.chance == 0.1


def test_images_take_turns_in_the_two_directions():
    harmed = harm("rotate", IMAGES, 0.4, draw=0, first=3, crop_fill=FILL)
    signs = torch.tensor([-1.0, 1, -1, 1, -1, 1, -1])
    assert torch.equal(harmed, apply_operation("rotate", IMAGES, 0.4 * signs, fill=0))
    other = harm("rotate", IMAGES, 0.4, draw=1, first=3, crop_fill=FILL)
    assert torch.equal(other, apply_operation("rotate", IMAGES, -0.4 * signs, fill=0))


def test_operations_fill_as_the_policy_does():
    assert SoftPolicy().fill == OPERATION_FILL
    white = torch.full((2, 3, 8, 8), 255, dtype=torch.uint8)
    assert set(harm("translate-x", white, 0.5, 0, 0, FILL).flatten().tolist()) == {0, 255}


@pytest.mark.parametrize(
    ("name", "draws", "expected"),
    [("rotate", 1, 1), ("rotate", 5, 2), ("solarize", 5, 1), ("crop", 5, 5)],
)
def test_only_draws_that_differ_are_measured(name, draws, expected):
    assert num_different(name, draws) == expected


def test_a_crop_leaves_its_share_and_fills_the_rest():
    white = torch.full((50, 3, 32, 32), 255, dtype=torch.uint8)
    harmed = harm("crop", white, 0.75, draw=0, first=0, crop_fill=FILL)
    left = (harmed == 255).all(1).float().mean((1, 2))
    assert float((left - 0.25).abs().max()) < 0.02
    assert torch.equal(harm("crop", white, 1.0, 0, 0, FILL)[0, :, 5, 5], torch.tensor(FILL).byte())


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"operations": ("rotat",)}, "operation must be one of .* did you mean 'rotate'?"),
        ({"operations": ("equalize",)}, "operation must be one of"),
        ({"operations": ()}, "at least one operation must be given"),
        ({"levels": 1}, "levels must be a whole number >= 2, got int 1"),
        ({"draws": 0}, "draws must be a whole number >= 1, got int 0"),
    ],
)
def test_bad_options_are_refused(options, rule):
    with pytest.raises(ValueError, match=f"curves: {rule}"):
        MeasureOptions(**options)
