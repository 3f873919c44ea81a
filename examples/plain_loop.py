"""Soft augmentation in a plain PyTorch loop: python examples/plain_loop.py [epochs]."""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

from softaug import DrawKey, SoftCrop, SoftLoss


def load():  # for CIFAR-10: torchvision.datasets.CIFAR10(...).data, moved to [N, 3, 32, 32]
    digits = load_digits()
    images = torch.tensor(digits.images * 15).to(torch.uint8).unsqueeze(1)  # [N, 1, 8, 8]
    return images, torch.tensor(digits.target)


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 4 * 4, 10),
    )  # fmt: skip


def normalise(images):
    return images.float() / 127.5 - 1


def main(epochs=10, seed=0):
    torch.manual_seed(seed)
    images, labels = load()
    order = torch.randperm(len(images))
    train, test = order[:1000], order[1000:]
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    crop, loss_fn = SoftCrop(sigma=0.1, k=2), SoftLoss()

    for epoch in range(epochs):
        model.train()
        for index in train[torch.randperm(len(train))].split(100):
            key = DrawKey(seed, epoch, index)  # the same crop in any batch and on any device
            batch, soft = crop(images[index], labels[index], key=key)
            loss = loss_fn(model(normalise(batch)), soft)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    model.eval()
    with torch.no_grad():
        guess = model(normalise(images[test])).argmax(1)
    print(f"accuracy {(guess == labels[test]).float().mean():.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
