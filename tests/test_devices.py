"""What holds off the CPU: on "meta" tensors everywhere, on CUDA where there is a GPU."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from softaug import (
    DrawKey,
    SoftAffine,
    SoftCrop,
    SoftErase,
    SoftLabel,
    SoftLoss,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
    UniformCrop,
    UniformResizedCrop,
)
from softaug.label import mix_labels
from softaug.transforms import ColorJitter

TRANSFORMS = [
    SoftCrop(fill=(1, 2, 3)),
    SoftCrop(fill="mean"),
    UniformCrop(4),
    SoftErase(fill=(1, 2, 3)),
    SoftNoise(),
    SoftAffine(60, (0.2, 0.2), fill="mean"),
    SoftPolicy("rand", 3, fill=(1, 2, 3)),
    ColorJitter(),
]
WINDOWS = [SoftResizedCrop(12, fill=(1, 2, 3)), UniformResizedCrop(12)]  # read on the CPU
each_transform = pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)


def make_batch(num=64, device="cpu"):
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (num, 3, 16, 20), generator=generator, dtype=torch.uint8)
    return images.to(device), (torch.arange(num) % 10).to(device)


def make_loss_input(device):
    logits = torch.randn(8, 10, generator=torch.Generator().manual_seed(0))
    return logits.to(device), SoftLabel(torch.arange(8), torch.linspace(0, 1, 8)).to(device)


@each_transform
def test_transforms_read_no_value_of_a_batch(transform):
    images, labels = make_batch(device="meta")  # reading a value of these raises
    out, label = transform(images, labels, key=DrawKey(0, 0, torch.arange(64)))
    assert (out.device.type, out.shape, out.dtype) == ("meta", images.shape, torch.uint8)
    assert (label.retained.device.type, label.retained.shape) == ("meta", (64,))


@pytest.mark.parametrize("weighting", ["sample", "batch_mean", "normalized"])
@pytest.mark.parametrize("prior", ["uniform", [0.1] * 10, [[0.1] * 10] * 10], ids=["u", "C", "CC"])
def test_the_loss_reads_no_value_off_the_cpu(weighting, prior):
    loss = SoftLoss(weighting=weighting, prior=prior).to("meta")
    assert loss(*make_loss_input("meta")).shape == ()


class WaitingCopies(TorchDispatchMode):
    """Counts the copies from the CPU to CUDA that wait; fake tensors need no GPU."""

    num = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default:
            crosses = (args[0].device.type, out.device.type) == ("cpu", "cuda")
            self.num += crosses and not kwargs.get("non_blocking", False)
        return out


@pytest.mark.parametrize("transform", TRANSFORMS + WINDOWS, ids=repr)
def test_a_draw_copies_to_the_gpu_without_waiting(transform):
    with FakeTensorMode(), WaitingCopies() as waiting:
        images = torch.empty(4, 3, 16, 20, dtype=torch.uint8, device="cuda")
        transform.draw(images, key=DrawKey(0, 0, torch.arange(4)))
    assert waiting.num == 0


def test_a_share_of_mixing_is_copied_to_the_gpu_without_waiting():
    with FakeTensorMode(), WaitingCopies() as waiting:
        labels = torch.zeros(4, dtype=torch.long, device="cuda")
        mixed = mix_labels(labels, labels, share=torch.rand(4))
    assert (mixed.share.device.type, waiting.num) == ("cuda", 0)


def test_validate_true_reads_values_anywhere():
    with pytest.raises(RuntimeError, match="meta tensors"):  # they have no values to read
        SoftLoss(validate=True)(*make_loss_input("meta"))


@pytest.fixture
def _no_sync():
    """Waiting for the GPU raises."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


@pytest.mark.gpu
@pytest.mark.parametrize("transform", TRANSFORMS + WINDOWS, ids=repr)
@pytest.mark.parametrize("index_device", ["cpu", "cuda"])
def test_a_key_gives_the_cpus_draws_and_pixels_on_the_gpu(transform, index_device):
    index = torch.arange(512)
    here = transform(*make_batch(512), key=DrawKey(1, 2, index))
    there = transform(*make_batch(512, "cuda"), key=DrawKey(1, 2, index.to(index_device)))
    torch.testing.assert_close(there[1].retained.cpu(), here[1].retained)
    difference = (there[0].cpu().int() - here[0].int()).abs()
    rounds = isinstance(transform, SoftNoise | ColorJitter) or transform in WINDOWS
    assert difference.max() <= (1 if rounds else 0)


@pytest.mark.gpu
@each_transform
@pytest.mark.parametrize("index_device", ["cpu", "cuda"])
def test_transforms_never_wait_for_the_gpu(transform, index_device, request):
    images, labels = make_batch(device="cuda")
    key = DrawKey(0, 0, torch.arange(64, device=index_device))
    request.getfixturevalue("_no_sync")
    transform(images, labels, key=key)
    transform(images, labels)


@pytest.mark.gpu
@pytest.mark.parametrize("weighting", ["sample", "batch_mean", "normalized"])
def test_the_loss_never_waits_for_the_gpu(weighting, request):
    logits, label = make_loss_input("cuda")
    logits.requires_grad_()
    request.getfixturevalue("_no_sync")
    SoftLoss(weighting=weighting)(logits, label).backward()


@pytest.mark.gpu
def test_validate_true_checks_values_on_the_gpu():
    logits, label = make_loss_input("cuda")
    bad = label._replace(retained=label.retained + 1)
    SoftLoss()(logits, bad)
    with pytest.raises(ValueError, match=r"retained must be in \[0, 1\]"):
        SoftLoss(validate=True)(logits, bad)


@pytest.mark.gpu
def test_the_loss_on_the_gpu_equals_the_cpus():
    here, there = SoftLoss()(*make_loss_input("cpu")), SoftLoss()(*make_loss_input("cuda"))
    torch.testing.assert_close(there.cpu(), here)


@pytest.mark.gpu
def test_a_generator_of_either_device_serves_images_on_the_gpu():
    images, labels = make_batch(device="cuda")
    for device in ("cpu", "cuda"):
        states = [torch.Generator(device).manual_seed(3) for _ in range(2)]
        first, second = (SoftCrop()(images, labels, generator=state)[0] for state in states)
        assert torch.equal(first, second)
