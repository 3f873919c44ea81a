"""Vision transformers (Dosovitskiy et al. 2021) for small images, of torchvision's parts."""

from functools import partial

from torch import nn
from torchvision.models import VisionTransformer


def _make_vit(image_size: int, num_classes: int) -> nn.Module:
    """Make 6 layers, 192 wide, over 8 x 8 patches of an image."""
    return VisionTransformer(
        image_size,
        patch_size=image_size // 8,
        num_layers=6,
        num_heads=3,
        hidden_dim=192,
        mlp_dim=768,
        num_classes=num_classes,
    )


# Functions of the number of classes; the edge of the images is part of a name.
vit_tiny_32 = partial(_make_vit, 32)
vit_tiny_64 = partial(_make_vit, 64)
