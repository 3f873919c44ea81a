import pytest
import torch
from torchvision.transforms import v2

from softaug import DrawKey, SoftLabel
from softaug.transforms import PerSample

LABELS = torch.arange(12)
each_policy = pytest.mark.parametrize(
    "policy", [v2.RandAugment(), v2.TrivialAugmentWide()], ids=lambda p: type(p).__name__
)


def pictures(num=12):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (num, 3, 8, 8), generator=generator, dtype=torch.uint8)


def key(index=LABELS, epoch=1):
    return DrawKey(3, epoch, index)


def add_noise(image):
    return (image.float() + torch.rand(()) * 100).clamp(0, 255).byte()


@each_policy
@pytest.mark.parametrize("sizes", [[1] * 12, [5, 7]], ids=str)
def test_a_key_gives_the_same_result_in_any_batch(policy, sizes):
    each, images, place = PerSample(policy), pictures(), torch.randperm(12)
    whole = each(images, LABELS, key=key())[0][place]
    parts = zip(images[place].split(sizes), LABELS[place].split(sizes), strict=True)
    assert torch.equal(torch.cat([each(i, n, key=key(n))[0] for i, n in parts]), whole)


@each_policy
def test_drawn_parameters_replay_the_call(policy):
    each, images = PerSample(policy), pictures()
    params = each.draw(images, key=key())
    expected = each(images, LABELS, key=key())[0]
    torch.manual_seed(99)
    assert torch.equal(each.apply(images, params), expected)
    assert torch.equal(each.apply(images, params), expected)


def test_each_image_has_draws_of_its_own():
    same = pictures(1).expand(12, 3, 8, 8)
    out, _ = PerSample(add_noise)(same, LABELS, key=key())
    assert len(out.unique(dim=0)) > 8


def test_another_epoch_draws_anew():
    first, second = (PerSample(add_noise)(pictures(), LABELS, key=key(epoch=e))[0] for e in (0, 1))
    assert not torch.equal(first, second)


def test_torchs_generator_is_left_as_it_was():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    PerSample(add_noise)(pictures(), LABELS, key=key())
    assert torch.equal(torch.get_rng_state(), before)


def test_the_generator_is_put_back_after_an_error_too():
    def fail(image):
        raise KeyError(torch.rand(1))

    torch.manual_seed(1)
    before = torch.get_rng_state()
    with pytest.raises(KeyError):
        PerSample(fail)(pictures(), LABELS, key=key())
    assert torch.equal(torch.get_rng_state(), before)


def test_it_is_the_wrapped_transform_under_the_drawn_seed():
    each, images = PerSample(add_noise), pictures()
    params = each.draw(images, key=key())
    out = each.apply(images, params)
    torch.manual_seed(int(params.seed[4]))
    assert torch.equal(out[4], add_noise(images[4]))


def test_torchs_own_seed_decides_where_no_key_is_given():
    torch.manual_seed(5)
    first = PerSample(add_noise)(pictures(), LABELS)[0]
    second = PerSample(add_noise)(pictures(), LABELS)[0]
    torch.manual_seed(5)
    assert torch.equal(PerSample(add_noise)(pictures(), LABELS)[0], first)
    assert not torch.equal(first, second)


def test_labels_stay_as_they_come():
    soft = SoftLabel(LABELS, torch.linspace(0, 1, 12))
    _, out = PerSample(add_noise)(pictures(), soft, key=key())
    assert torch.equal(out.retained, soft.retained)
    assert torch.equal(out.label, LABELS)


def test_one_image_gives_what_it_gives_in_a_batch():
    each, images = PerSample(add_noise), pictures()
    image, label = each(images[7], 7, key=key(7))
    assert torch.equal(image, each(images, LABELS, key=key())[0][7])
    assert label == SoftLabel(7, 1.0)
