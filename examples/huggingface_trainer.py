"""Soft augmentation with transformers: python examples/huggingface_trainer.py [epochs]."""

import sys
import tempfile

import torch
from sklearn.datasets import load_digits
from torch.utils.data import StackDataset, default_collate
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification

from softaug import SoftCrop, SoftLoss

crop, loss_fn = SoftCrop(sigma=0.1, k=2), SoftLoss()


def load():
    images, labels = map(torch.tensor, load_digits(return_X_y=True))
    images = (images * 15).to(torch.uint8).view(-1, 1, 8, 8)
    test = StackDataset(pixel_values=images[1000:] / 127.5 - 1, labels=labels[1000:])
    return StackDataset(image=images[:1000], label=labels[:1000]), test


def collate(samples):
    batch = default_collate(samples)
    if "pixel_values" in batch:  # the test set has the model's inputs already
        return batch
    images, soft = crop(batch["image"], batch["label"])
    return {"pixel_values": images / 127.5 - 1, "labels": soft}


def compute_loss(outputs, labels, num_items_in_batch=None):
    return loss_fn(outputs.logits, labels)  # in evaluation labels are [B]: cross entropy


def main(epochs=6):
    torch.manual_seed(0)
    config = ViTConfig(
        image_size=8, patch_size=2, num_channels=1, num_labels=10, hidden_size=64,
        num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, initializer_range=0.1,
    )  # fmt: skip
    model = ViTForImageClassification(config)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            folder, num_train_epochs=epochs, per_device_train_batch_size=25, learning_rate=3e-3,
            remove_unused_columns=False,  # the collator needs image and label
            average_tokens_across_devices=False,  # or a mean is multiplied by their number
            save_strategy="no", report_to="none",
        )  # fmt: skip
        trainer = Trainer(
            model, args, collate, *load(), compute_loss_func=compute_loss,
            compute_metrics=lambda p: {"accuracy": (p.predictions.argmax(1) == p.label_ids).mean()},
        )  # fmt: skip
        trainer.loss_is_scaled_for_ga = False  # SoftLoss is a mean: accumulation must divide it
        trainer.train()
        print(f"accuracy {trainer.evaluate()['eval_accuracy']:.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
