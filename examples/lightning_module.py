"""Soft augmentation with Lightning: python examples/lightning_module.py [epochs]."""

import sys

import lightning as L
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, default_collate, random_split

from softaug import SoftCrop, SoftLoss

crop = SoftCrop(sigma=0.1, k=2)


class Classifier(L.LightningModule):
    """A small network; only `training_step` knows that labels are soft."""

    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(32 * 4 * 4, 128), nn.ReLU(), nn.Linear(128, 10),
        )  # fmt: skip
        self.loss_fn = SoftLoss()

    def forward(self, images):
        return self.model(images.float() / 127.5 - 1)

    def training_step(self, batch, batch_idx):
        images, soft = batch  # a SoftLabel, which Lightning has moved to the device
        return self.loss_fn(self(images), soft)

    def test_step(self, batch, batch_idx):
        images, labels = batch
        self.log("accuracy", (self(images).argmax(1) == labels).float().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-3)


def soft_collate(samples):
    images, labels = default_collate(samples)
    return crop(images, labels)  # or call it in `on_after_batch_transfer`, on the device


def load():  # for CIFAR-10: uint8 tensors of torchvision.datasets.CIFAR10(...).data
    digits = load_digits()
    images = torch.tensor(digits.images * 15).to(torch.uint8).unsqueeze(1)
    data = TensorDataset(images, torch.tensor(digits.target))
    return random_split(data, [1000, 797], torch.Generator().manual_seed(0))


def main(epochs=8):
    L.seed_everything(0)
    train, test = load()
    model = Classifier()
    trainer = L.Trainer(
        max_epochs=epochs, accelerator="auto", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(model, DataLoader(train, batch_size=50, shuffle=True, collate_fn=soft_collate))
    (result,) = trainer.test(model, DataLoader(test, batch_size=797), verbose=False)
    print(f"accuracy {result['accuracy']:.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
