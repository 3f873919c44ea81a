"""Soft augmentation beside Kornia's: python examples/kornia_augmentations.py [epochs]."""

import sys

import kornia.augmentation as K
import torch
from sklearn.datasets import load_digits
from torch import nn

from softaug import DrawKey, SoftCrop, SoftLoss

# Kornia changes the images and leaves their SoftLabel alone: what it moves out of the frame does
# not lower `retained`. So keep its shifts small, and crop first: the crop's report is then exact.
crop, loss_fn = SoftCrop(sigma=0.1, k=2), SoftLoss()
normalize = K.Normalize(mean=0.5, std=0.5)
augment = K.AugmentationSequential(
    K.RandomAffine(degrees=10, scale=(0.9, 1.1), p=0.5),
    K.RandomBrightness((0.8, 1.2), p=0.5),
    K.RandomGaussianNoise(std=0.05, p=0.3),
    normalize,
)


def load():  # Kornia takes floats in [0, 1], [N, C, H, W]
    digits = load_digits()
    return torch.tensor(digits.images / 16).float().unsqueeze(1), torch.tensor(digits.target)


def main(epochs=6, seed=0):
    torch.manual_seed(seed)
    images, labels = load()
    train, test = torch.randperm(len(images)).tensor_split([1000])
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)

    for epoch in range(epochs):
        model.train()
        for index in train[torch.randperm(len(train))].split(50):
            batch, soft = crop(images[index], labels[index], key=DrawKey(seed, epoch, index))
            loss = loss_fn(model(augment(batch)), soft)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    model.eval()
    with torch.no_grad():
        guess = model(normalize(images[test])).argmax(1)
    print(f"accuracy {(guess == labels[test]).float().mean():.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
