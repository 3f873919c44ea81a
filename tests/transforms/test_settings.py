"""Settings and inputs that transforms refuse: who, rule, value received, remedy."""

import math
import re

import pytest
import torch

from softaug import (
    SoftAffine,
    SoftCrop,
    SoftErase,
    SoftPolicy,
    SoftResizedCrop,
    UniformResizedCrop,
    retained,
)
from softaug.transforms import ColorJitter, HorizontalFlip, TwoViews
from softaug.transforms.curves import NAIVE
from softaug.transforms.operations import apply_operation, measure_in_frame
from tests.transforms.pictures import key_of, pictures

IMAGES, LABELS, WHOLE = pictures(3), torch.arange(3), torch.ones(3).long()
SIZES = "SoftResizedCrop: height and width must be [B] int64, one for each image, got"
RANGE = "must be a number >= 0 or low <= high, got"
SHARE = "must be a number in 0..1, got"
SOME_CURVES = {name: c for name, c in NAIVE.items() if name not in ("rotate", "color")}

BAD = [  # kind, settings, message
    (SoftCrop, {"k": []}, "k must be a number > 0, or one for each class, got none"),
    (SoftCrop, {"k": [1, 0]}, "k of class 1 must be > 0, got 0"),
    (SoftCrop, {"k": [1, "2"]}, "k of class 1 must be a number > 0, got str 2"),
    (SoftCrop, {"k": "12"}, "k must be a number > 0, got str 12"),
    (SoftErase, {"strength": 0}, "strength must be > 0 and finite, got 0"),
    (SoftErase, {"strength": 1.5}, "strength must be at most 1, got 1.5"),
    (SoftErase, {"strength": "full"}, "strength must be a number > 0, got str full"),
    (HorizontalFlip, {"p": 1.1}, f"p {SHARE} float 1.1"),
    (HorizontalFlip, {"p": "half"}, f"p {SHARE} str half"),
    (SoftAffine, {"degrees": -1}, f"degrees {RANGE} int -1"),
    (SoftAffine, {"degrees": (3, 1)}, f"degrees {RANGE} tuple (3, 1)"),
    (SoftAffine, {"degrees": (1, 2, 3, 4)}, f"degrees {RANGE} tuple"),
    (SoftAffine, {"degrees": math.inf}, f"degrees {RANGE} float inf"),
    (SoftAffine, {"degrees": (0, math.nan)}, f"degrees {RANGE} tuple"),
    (SoftAffine, {"degrees": "30"}, f"degrees {RANGE} str 30"),
    (SoftAffine, {"shear": 90}, "shear must be below 90 degrees, got 90"),
    (SoftAffine, {"shear": (1, 2, 3)}, f"shear {RANGE} tuple (1, 2, 3)"),
    (SoftAffine, {"scale": 1.5}, "scale must be a pair (low, high), got float 1.5"),
    (SoftAffine, {"translate": 0.1}, "translate must be two numbers in 0..1"),
    (SoftAffine, {"translate": (0.1, 1.5)}, "of width and height, got tuple (0.1, 1.5)"),
    (SoftPolicy, {"num_ops": 2}, 'policy "trivial" has no num_ops, got 2; leave it out, or use'),
    (SoftPolicy, {"magnitude": 9}, 'policy "trivial" has no magnitude, got 9'),
    (SoftPolicy, {"policy": "rand", "num_ops": 0}, "num_ops must be a whole number >= 1"),
    (SoftPolicy, {"policy": "rand", "magnitude": 31}, "magnitude must be at most 30, got 31"),
    (SoftPolicy, {"policy": "rand", "magnitude": 9.5}, "magnitude must be a whole number >= 0"),
    (SoftPolicy, {"curves": "naiv"}, "curves must be one of 'naive'"),
    (SoftPolicy, {"curves": SOME_CURVES}, "every graded operation, got none of ['rotate', 'color'"),
    (ColorJitter, {"brightness": -0.1}, "brightness must be a finite number >= 0, got float -0.1"),
    (ColorJitter, {"contrast": math.inf}, "contrast must be a finite number >= 0, got float inf"),
    (ColorJitter, {"hue": 0.6}, "hue must be a number in 0..0.5, got float 0.6"),
    (ColorJitter, {"gray_p": True}, f"gray_p {SHARE} bool True"),
    (TwoViews, {"jitter": (0.4, 0.4, 0.4)}, "jitter must be four numbers: brightness"),
    (TwoViews, {"jitter": 0.4}, "jitter must be four numbers: brightness"),
    (SoftResizedCrop, {"size": 1.5}, "size must be a whole number >= 1, got float 1.5"),
    (SoftResizedCrop, {"sigma": math.nan}, "sigma must be > 0 and finite, got nan"),
    (SoftResizedCrop, {"min_size": 0}, "min_size must be a whole number >= 1, got int 0"),
    (SoftResizedCrop, {"min_size": 225}, "min_size must be at most size, 224, got 225; it is what"),
    (SoftResizedCrop, {"offsets": "litteral"}, "got 'litteral'; did you mean 'literal'?"),
    (SoftResizedCrop, {"antialias": 1}, "antialias must be True or False, got int 1"),
    (SoftResizedCrop, {"relative_to": "edge"}, "got 'edge'; did you mean 'edges'?"),
    (SoftResizedCrop, {"share_of": "images"}, "got 'images'; did you mean 'image'?"),
    (UniformResizedCrop, {"scale": 0.5}, "scale must be a pair (low, high), got float"),
    (UniformResizedCrop, {"scale": (0.5, 2)}, "scale must be 0 < low <= high <= 1, got (0.5, 2"),
    (UniformResizedCrop, {"scale": (0.5, math.nan)}, "scale must be 0 < low <= high <= 1, got"),
    (UniformResizedCrop, {"ratio": (2, 1)}, "ratio must be 0 < low <= high, got (2, 1)"),
    (UniformResizedCrop, {"ratio": ("a", 1)}, "ratio must be a pair (low, high), got tuple"),
]


@pytest.mark.parametrize(("kind", "settings", "message"), BAD, ids=[m for *_, m in BAD])
def test_bad_settings_are_refused(kind, settings, message):
    with pytest.raises(ValueError, match=f"^{kind.__name__}: .*{re.escape(message)}"):
        kind(**settings)


def power(num, k):
    return lambda: retained(torch.ones(num), torch.tensor(k))


def color(images, strength=(0.0,) * 3):
    return lambda: apply_operation("color", images, torch.tensor(strength))


CALLS = [
    (lambda: SoftCrop(k=[1, 2])(IMAGES[0], 3), "SoftCrop: k is for 2 classes, so labels must be"),
    (lambda: SoftCrop(k=[1, 2])(IMAGES, LABELS - 1), "in 0..1, got -1; give one k for each class"),
    (lambda: retained(0.5, torch.ones(1)), "retained: k must be a number, or a tensor with one"),
    (power(2, [1.0] * 3), "a tensor with one for each visible share"),
    (power(2, [1.0, math.nan]), "k must be > 0, got nan"),
    (color(IMAGES[0]), "apply_operation: images must be [B, C, H, W] with 1 or 3"),
    (color(torch.zeros(3, 4, 8, 8)), "1 or 3 channels, got float32 tensor of shape [3, 4, 8, 8]"),
    (color(IMAGES, [0.0]), "strength must be one number for each of the 3 images"),
    (color(IMAGES, [0, 0, 0]), "3 images, got int64 tensor"),
    (color(torch.full((3, 3, 8, 8), 1.01)), "must be in 0..1, got 1.01 to 1.01; put it before"),
    (color(torch.full((3, 3, 8, 8), math.nan)), "float images must be in 0..1, got nan to nan"),
    (lambda: apply_operation("rotat", IMAGES, torch.zeros(3)), "did you mean 'rotate'?"),
    (lambda: apply_operation("rotate", IMAGES, torch.zeros(3), "x"), "fill must be"),
    (lambda: measure_in_frame("shear", torch.zeros(3), 8, 8), "name must be one of 'identity'"),
    (lambda: SoftPolicy()(torch.zeros(3, 4, 8, 8), LABELS), "SoftPolicy: images must be [B"),
    (lambda: SoftPolicy()(IMAGES / 32 - 2, LABELS), "SoftPolicy: float images must be in 0..1"),
    (lambda: ColorJitter()(IMAGES / 32 - 2, LABELS), "ColorJitter: float images must be in 0..1"),
    (lambda: SoftResizedCrop(8).draw_for(WHOLE.float(), WHOLE, key_of(3)), SIZES),
    (lambda: SoftResizedCrop(8).draw_for(WHOLE, WHOLE[:2], key_of(3)), SIZES),
    (lambda: SoftResizedCrop(8).draw_for(WHOLE[:, None], WHOLE, key_of(3)), SIZES),
    (lambda: TwoViews()(IMAGES[0]), "TwoViews: images must be [B, C, H, W], got uint8 tensor"),
    (lambda: TwoViews().draw(IMAGES, 2, key=key_of(3)), "TwoViews: view must be 0 or 1, got int 2"),
]


@pytest.mark.parametrize(("call", "message"), CALLS, ids=[m for _, m in CALLS])
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
