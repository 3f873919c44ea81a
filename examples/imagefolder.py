"""Soft augmentation of photographs in folders: python examples/imagefolder.py [epochs]."""

import sys
import tempfile
from pathlib import Path

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.datasets import ImageFolder
from torchvision.models import shufflenet_v2_x0_5
from torchvision.transforms import v2

from softaug import SoftLoss, SoftResizedCrop

augment = v2.Compose(
    [
        SoftResizedCrop(64, sigma=0.3),  # where RandomResizedCrop(64) stood; PIL in, PIL out
        v2.RandomHorizontalFlip(),
        v2.ToImage(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
    ]
)


class Augmented(Dataset):
    """Any data set of (PIL image, int), augmented together; ImageFolder takes them apart."""

    def __init__(self, data, transform):
        self.data, self.transform = data, transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.transform(*self.data[i])


def make_photos(root):  # yours are root/CLASS/*.JPEG
    classes = {"brick": (170, 70, 50), "lawn": (60, 150, 50), "sky": (90, 150, 220)}
    for name, colour in classes.items():
        (root / name).mkdir()
        for number in range(12):
            shape = 90 + 10 * number, 160 - 5 * number  # every photo has a size of its own
            noise = Image.effect_noise(shape, 60).convert("RGB")
            photo = Image.blend(Image.new("RGB", shape, colour), noise, 0.3)
            photo.save(root / name / f"{number}.JPEG")


def train(loader, epochs):
    model, loss_fn = shufflenet_v2_x0_5(num_classes=3), SoftLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(epochs):
        for images, soft in loader:  # soft is a SoftLabel of tensors [B]
            loss = loss_fn(model(images), soft)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"loss {loss:.3f}, retained {soft.retained.mean():.3f}")


def main(epochs=1):
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as root:
        make_photos(Path(root))
        data = Augmented(ImageFolder(root), augment)
        train(DataLoader(data, batch_size=18, shuffle=True, num_workers=2), epochs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
