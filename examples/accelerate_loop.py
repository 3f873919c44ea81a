"""Soft augmentation with Accelerate: accelerate launch examples/accelerate_loop.py [epochs]."""

import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, default_collate

from softaug import SoftCrop, SoftLoss

crop, loss_fn = SoftCrop(sigma=0.1, k=2), SoftLoss()


def load():  # for CIFAR-10: uint8 tensors of torchvision.datasets.CIFAR10(...).data
    digits = load_digits()
    images = torch.tensor(digits.images * 15).to(torch.uint8).unsqueeze(1)
    labels = torch.tensor(digits.target)
    return TensorDataset(images[:1000], labels[:1000]), TensorDataset(images[1000:], labels[1000:])


def soft_collate(samples):
    return crop(*default_collate(samples))


def main(epochs=5):
    accelerator = Accelerator(gradient_accumulation_steps=2)
    set_seed(0)
    train, test = load()
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    loader = DataLoader(train, batch_size=25, shuffle=True, collate_fn=soft_collate)
    model, optimizer, loader, test_loader = accelerator.prepare(
        model, optimizer, loader, DataLoader(test, batch_size=200)
    )
    for _ in range(epochs):
        model.train()
        for images, soft in loader:  # Accelerate has moved the SoftLabel to the device
            with accelerator.accumulate(model):
                accelerator.backward(loss_fn(model(images / 127.5 - 1), soft))
                optimizer.step()
                optimizer.zero_grad()

    model.eval()
    correct = []
    for images, labels in test_loader:
        with torch.no_grad():
            guess = model(images / 127.5 - 1).argmax(1)
        correct.append(accelerator.gather_for_metrics(guess == labels))
    accelerator.print(f"accuracy {torch.cat(correct).float().mean():.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
