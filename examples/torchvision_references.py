"""As torchvision trains its references: python examples/torchvision_references.py [epochs]."""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset, default_collate
from torchvision.transforms import v2

from softaug import Mixup, SoftCrop, SoftLoss

preset = v2.Compose([v2.RandomRotation(10), v2.ToDtype(torch.float32, scale=True)])
mix = v2.RandomChoice([v2.MixUp(num_classes=10, alpha=0.2), v2.CutMix(num_classes=10, alpha=1.0)])
soft_mix, normalize = Mixup(alpha=0.2), v2.Normalize([0.5], [0.5])
crop, loss_fn = SoftCrop(sigma=0.1, k=2), SoftLoss()


def mix_then_crop(samples):  # torchvision's: labels are probabilities [B, C] for the crop
    return crop(*mix(*default_collate([(preset(image), label) for image, label in samples])))


def crop_then_mix(samples):  # softaug's: it takes the SoftLabel, which torchvision's refuse
    return soft_mix(*crop(*default_collate([(preset(image), label) for image, label in samples])))


def main(epochs=5, warmup=10):
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images * 15).to(torch.uint8).unsqueeze(1)
    labels = torch.tensor(digits.target)
    train = TensorDataset(images[:1000], labels[:1000])
    for collate in (mix_then_crop, crop_then_mix):
        model = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(32 * 4 * 4, 128), nn.ReLU(), nn.Linear(128, 10),
        )  # fmt: skip
        loader = DataLoader(train, batch_size=50, shuffle=True, collate_fn=collate)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
        rise = LinearLR(optimizer, start_factor=0.01, total_iters=warmup)
        fall = CosineAnnealingLR(optimizer, T_max=epochs * len(loader) - warmup)
        scheduler = SequentialLR(optimizer, [rise, fall], milestones=[warmup])
        ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
        for batch, soft in (pair for _ in range(epochs) for pair in loader):
            loss = loss_fn(model(normalize(batch)), soft)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            ema.update_parameters(model)
        with torch.no_grad():
            guess = ema.eval()(normalize(images[1000:] / 255)).argmax(1)
        print(f"{collate.__name__}: accuracy {(guess == labels[1000:]).float().mean():.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
