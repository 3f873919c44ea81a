"""Soft augmentation of several labels at once: python examples/multi_label.py [epochs]."""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

from softaug import SoftBCELoss, SoftCrop


def make_pairs(part, num, seed):
    """Two digits side by side, [N, 1, 8, 16], and 1 for each class that is there, [N, 10]."""
    digits = load_digits()
    images = torch.tensor(digits.images[part] / 16).float().unsqueeze(1)
    classes = torch.tensor(digits.target[part])
    pair = torch.randint(len(images), (num, 2), generator=torch.Generator().manual_seed(seed))
    there = torch.zeros(num, 10).scatter(1, classes[pair], 1.0)
    return torch.cat(images[pair].unbind(1), dim=3), there


def main(epochs=6):
    torch.manual_seed(0)
    images, labels = make_pairs(slice(1000), num=3000, seed=0)
    test_images, test_labels = make_pairs(slice(1000, None), num=1000, seed=1)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 4 * 8, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    # What an image no longer shows, the target gives to how often each class is true.
    crop, loss_fn = SoftCrop(sigma=0.05, k=2), SoftBCELoss(prior=labels.mean(0))

    for _ in range(epochs):
        model.train()
        for index in torch.randperm(len(images)).split(50):
            batch, soft = crop(images[index], labels[index])  # soft.label is [B, 10]
            loss = loss_fn(model(batch * 2 - 1), soft)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    model.eval()
    with torch.no_grad():
        guess = model(test_images * 2 - 1) > 0
    both = (guess == test_labels.bool()).all(1)
    print(f"all ten labels right: accuracy {both.float().mean():.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
