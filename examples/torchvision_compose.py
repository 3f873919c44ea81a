"""Soft augmentation in torchvision pipelines: python examples/torchvision_compose.py [epochs].

Two ways: in the Dataset's transform (drawn per image, in loader workers), or in the
loader's collate_fn (drawn per batch), as torchvision documents for MixUp and CutMix.
"""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset, default_collate, random_split
from torchvision.transforms import v2

from softaug import SoftCrop, SoftLoss

soft_crop = SoftCrop(sigma=0.1, k=2)
to_float = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [0.5])])

# In a Compose a soft transform takes (image, label) and gives (image, SoftLabel); what
# comes after it sees the image and leaves the SoftLabel as it is. PIL images need
# v2.PILToTensor() first.
augment = v2.Compose([v2.RandomRotation(10), soft_crop, to_float])


class Digits(Dataset):
    """Any data set whose transform takes image and label, such as CIFAR10(transforms=augment)."""

    def __init__(self, transform):
        data = load_digits()
        self.images = torch.tensor(data.images * 15).to(torch.uint8).unsqueeze(1)
        self.labels = data.target.tolist()
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.images[i], self.labels[i])


def soft_collate(samples):
    images, labels = default_collate(samples)
    images, soft = soft_crop(images, labels)
    return to_float(images), soft


def as_it_is(image, label):
    return image, label


def split(transform):
    return random_split(Digits(transform), [1000, 797], torch.Generator().manual_seed(0))


def train(loader, epochs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loss_fn = SoftLoss()
    for _ in range(epochs):
        for images, soft in loader:  # soft is a SoftLabel of tensors [B]
            loss = loss_fn(model(images), soft)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model


def accuracy(model):
    _, test = split(v2.Compose([to_float]))
    images, labels = next(iter(DataLoader(test, batch_size=len(test))))
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean()


def main(epochs=8):
    in_dataset = DataLoader(split(augment)[0], batch_size=50, shuffle=True, num_workers=2)
    print(f"in the Dataset: accuracy {accuracy(train(in_dataset, epochs)):.3f}")

    in_collate = DataLoader(
        split(as_it_is)[0], batch_size=50, shuffle=True, collate_fn=soft_collate
    )
    print(f"in collate_fn: accuracy {accuracy(train(in_collate, epochs)):.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
