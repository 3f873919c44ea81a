import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn

from softaug import SoftCrop, update_batchnorm

IMAGES = torch.rand(12, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def network():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 2))


def test_without_a_transform_it_is_torchs_update_bn():
    ours, theirs = network(), network()
    theirs.load_state_dict(ours.state_dict())
    update_batchnorm(ours, IMAGES.split(5))
    update_bn(IMAGES.split(5), theirs)
    for name, value in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], value)


def test_labels_reach_the_transform_and_statistics_are_of_what_it_returns():
    bn, black = nn.BatchNorm2d(3), nn.BatchNorm2d(3)
    loader = [(IMAGES, torch.zeros(12, dtype=torch.int64))]
    update_batchnorm(bn, loader, SoftCrop(sigma=1.0))
    update_batchnorm(black, loader, lambda images, labels: (0 * images, labels))
    assert (bn.running_mean < 0.9 * IMAGES.mean((0, 2, 3))).all()  # what enters is black
    assert (black.running_mean == 0).all()
    assert (black.running_var == 0).all()


def test_the_mode_the_momentum_and_the_weights_stay():
    net = AveragedModel(network()).eval()
    net.module[1].momentum = 0.3
    before = [parameter.clone() for parameter in net.parameters()]
    update_batchnorm(net, IMAGES.split(4), lambda images: images + 1)
    assert not net.module.training
    assert net.module[1].momentum == 0.3
    assert net.module[1].running_mean.abs().sum() > 0
    assert all(torch.equal(a, b) for a, b in zip(before, net.parameters(), strict=True))
