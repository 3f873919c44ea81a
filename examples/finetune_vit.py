"""Fine-tune a ViT with soft crops: python examples/finetune_vit.py [epochs]."""

import sys
import tempfile
from functools import partial

import torch
from safetensors.torch import load_file, save_file
from sklearn.datasets import load_digits
from torch.optim.lr_scheduler import OneCycleLR
from torchvision.models import VisionTransformer

from softaug import SoftCrop, SoftLoss

crop, loss_fn = SoftCrop(sigma=0.05, k=2, fill=-1), SoftLoss()  # -1 is black
make_vit = partial(VisionTransformer, 8, 4, 3, 4, hidden_dim=64, mlp_dim=128)


def group_by_depth(model, lr, decay, num_blocks=3):
    """Multiply the learning rate by `decay` from each block to the one before it."""
    for name, weight in model.named_parameters():
        block = name.partition("encoder_layer_")[2].partition(".")[0]
        patches = name.startswith(("conv_proj", "class_token", "encoder.pos"))
        rate = lr * decay ** (num_blocks - int(block or (-1 if patches else num_blocks)))
        yield {"params": weight, "lr": rate, "weight_decay": 0.05 if weight.ndim > 1 else 0}


def train(model, images, labels, epochs, decay=1.0):
    batches = [part for _ in range(epochs) for part in torch.randperm(len(images)).split(32)]
    optimizer = torch.optim.AdamW(group_by_depth(model, lr=3e-3, decay=decay))
    rates = [group["lr"] for group in optimizer.param_groups]
    scheduler = OneCycleLR(optimizer, rates, total_steps=len(batches))  # warm-up, then cosine
    for index in batches:
        batch, soft = crop(images[index], labels[index])
        loss = loss_fn(model(batch), soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()


def main(epochs=6):
    torch.manual_seed(0)
    images, labels = map(torch.tensor, load_digits(return_X_y=True))
    images = (images / 8 - 1).float().view(-1, 1, 8, 8).expand(-1, 3, -1, -1)
    train(pretrained := make_vit(num_classes=10), images[:900], labels[:900], epochs=6)
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        save_file(pretrained.state_dict(), file.name)  # in place of one that you have
        weights = load_file(file.name)  # of a .pth file: torch.load(path, weights_only=True)
    model, is_odd = make_vit(num_classes=2), labels % 2
    body = {name: weight for name, weight in weights.items() if not name.startswith("heads.")}
    print(f"new: {model.load_state_dict(body, strict=False).missing_keys}")
    train(model, images[900:1000], is_odd[900:1000], epochs, decay=0.75)
    guess = model.eval()(images[1000:]).argmax(1)
    print(f"accuracy {(guess == is_odd[1000:]).float().mean():.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
