"""Each case of bad input with its message: who, rule, value received, remedy."""

import math

import numpy as np
import pytest
import torch
from PIL import Image

from softaug import (
    DrawKey,
    MixedLabel,
    SoftAffine,
    SoftBCELoss,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftLabel,
    SoftLoss,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
    UniformCrop,
    UniformResizedCrop,
    confidence,
    pair_weight,
    retained,
)
from softaug.label import mix_labels
from softaug.transforms import CropParams, Mixture, Uniform

NAN, HUGE, FLOAT8 = math.nan, 10**400, torch.float8_e4m3fn
LABELS = torch.tensor([0, 1, 2])
WHOLE = torch.ones(3)
IMAGES = torch.zeros(3, 3, 8, 8)
FAR = torch.zeros(3, 4, device="meta")
KEY = DrawKey(0, 0, LABELS)
TWO = CropParams(LABELS[:2], LABELS[:2], WHOLE[:2])


def lossy(logits=None, labels=LABELS, kept=WHOLE, **settings):
    """A call of the loss on three samples of four classes, with one thing changed."""
    logits = torch.zeros(3, 4) if logits is None else logits
    return lambda: SoftLoss(**settings)(logits, SoftLabel(labels, kept))


def with_nan(sample, value=NAN):
    logits = torch.zeros(3, 4)
    logits[sample, 1] = value
    return logits


def crop(images=IMAGES, labels=LABELS, **options):
    return lambda: SoftCrop()(images, labels, **options)


def filled(fill):
    return lambda: SoftErase(fill=fill)(IMAGES.byte(), LABELS)


SETTINGS = [
    (lambda: SoftCrop(sigma=0), "SoftCrop: sigma must be > 0 and finite, got 0"),
    (lambda: SoftErase(strength=Uniform(2)), "SoftErase: strength must be at most 1, got Unif"),
    (lambda: Mixture(mild=0.4, far=0.3), "Mixture: mild must be at most 0.3, which far is, got"),
    (lambda: SoftCrop(sigma=NAN), "SoftCrop: sigma must be > 0 and finite, got nan"),
    (lambda: SoftCrop(sigma="0.3"), "SoftCrop: sigma must be a number > 0, got str 0.3"),
    (lambda: SoftCrop(sigma=True), "SoftCrop: sigma must be a number > 0, got bool True"),
    (lambda: SoftNoise(noise_sd=0), "SoftNoise: noise_sd must be > 0 and finite, got 0"),
    (lambda: SoftNoise(k=None), "SoftNoise: k must be a number > 0, got NoneType None"),
    (lambda: retained(0.5, k=0), "retained: k must be > 0, got 0"),
    (lambda: confidence(0.5, 1), "confidence: the number of classes must be at least 2, got 1"),
    (lambda: UniformCrop(-1), "UniformCrop: max_shift must be a whole number >= 0, got int -1"),
    (lambda: UniformCrop(1.5), "UniformCrop: max_shift must be a whole number >= 0, got float 1.5"),
    (lambda: SoftCutout(0), "SoftCutout: length must be a whole number >= 1, got int 0"),
    (lambda: SoftErase(area=0.3), "SoftErase: area must be a pair (low, high), got float 0.3"),
    (lambda: SoftErase(area=(0, 1)), "SoftErase: area must be 0 < low <= high <= 1, got (0, 1)"),
    (lambda: SoftErase(area=(0.4, 0.2)), "area must be 0 < low <= high <= 1, got (0.4, 0.2)"),
    (lambda: SoftErase(ratio=(1, math.inf)), "ratio must be 0 < low <= high, got (1, inf)"),
    (lambda: SoftAffine(scale=(0, 1)), "SoftAffine: scale must be 0 < low <= high, got (0,"),
    (lambda: SoftPolicy("random"), "SoftPolicy: policy must be one of 'trivial', 'rand', got"),
    (lambda: SoftPolicy(num_ops=2), 'SoftPolicy: policy "trivial" has no num_ops, got 2; leave'),
    (lambda: SoftErase(p=1.5), "SoftErase: p must be a number in 0..1, got float 1.5"),
    (
        lambda: SoftCrop(fill="man"),
        'must be a finite number, one per channel, or "mean", got str man',
    ),
    (lambda: SoftCrop(fill=NAN), 'a finite number, one per channel, or "mean", got float nan'),
    (lambda: SoftCrop(fill=math.inf), 'a finite number, one per channel, or "mean", got float in'),
    (lambda: SoftCrop(fill=HUGE), "got an integer of 1329 bits"),
    (lambda: SoftCrop(sigma=1e307), "sigma must be at most 1e+30, got float 1e+307"),
    (lambda: SoftCrop(sigma=HUGE), "sigma must be at most 1e+30, got an integer of 1329 bits"),
    (lambda: SoftCrop(k=HUGE), "SoftCrop: k must be at most 1e+30, got an integer of 1329 bits"),
    (lambda: SoftCutout(HUGE), "length must be at most 9223372036854775807, got an integer of 13"),
    (lambda: SoftErase(ratio=(1, HUGE)), "ratio must be a pair (low, high), got tuple (1, 1000"),
    (lambda: SoftErase(ratio=(1, 1e300)), "0 < low <= high <= 1e+30, got (1, 1e+300)"),
    (lambda: SoftAffine(degrees=HUGE), "degrees must be a number >= 0 or low <= high, got an int"),
    (lambda: SoftLoss(focal_gamma=HUGE), "a finite number >= 0, at most 1e+30, got an integer"),
    (lambda: SoftLoss(label_smoothing=HUGE), "in 0..1, at most 1e+30, got an integer of 1329"),
    (lambda: SoftLoss(prior=None), "SoftLoss: prior must be a tensor or numbers, got NoneType"),
    (lambda: SoftLoss(prior=[HUGE, 0]), "SoftLoss: prior must be a tensor or numbers, got list"),
    (lambda: SoftLoss(prior=[[1.0], []]), "prior must be a tensor or numbers, got list [[1.0], []"),
    (lambda: SoftBCELoss(prior=None), "SoftBCELoss: prior must be a tensor or numbers, got None"),
    (lambda: retained(1.5, 0.5), "retained: visible must be a number in 0..1, got float 1.5"),
    (lambda: retained(-1, 2), "retained: visible must be a number in 0..1, got int -1"),
    (lambda: retained(NAN), "retained: visible must be a number in 0..1, got float nan"),
    (lambda: retained("a"), "retained: visible must be a number in 0..1, got str a"),
    (lambda: retained(WHOLE * NAN), "retained: visible must be in [0, 1], got nan (sample 0)"),
    (lambda: retained(WHOLE.to(FLOAT8)), "of a type that torch computes with, got float8"),
    (lambda: retained(WHOLE, WHOLE.to("meta")), "k must be on the device cpu of visible, got met"),
    (lambda: confidence(2.0, 10), "confidence: retained must be a number in 0..1, got float 2.0"),
    (lambda: confidence(WHOLE + 1, 10), "confidence: retained must be in [0, 1], got 2.0"),
    (lambda: confidence(0.5, 2.5), "number of classes must be a whole number, got float 2.5"),
    (lambda: SoftLabel(1, 2.0).confidence(10), "retained must be a number in 0..1, got float 2.0"),
    (lambda: SoftCrop(fill=()), 'fill must be a finite number, one per channel, or "mean", got t'),
    (lambda: SoftCrop(fill=("a",)), 'fill must be a finite number, one per channel, or "mean"'),
    (lambda: SoftLoss(soften="targets"), "got 'targets'; did you mean 'target'?"),
    (
        lambda: SoftLoss(soften=np.ones(2)),
        "SoftLoss: soften must be one of 'none', 'target', 'weig",
    ),
    (
        lambda: SoftErase(area=torch.tensor([1j])),
        "SoftErase: area must be a pair (low, high), got c",
    ),
    (lambda: SoftAffine(degrees=torch.tensor([1j])), "SoftAffine: degrees must be"),
    (lambda: confidence(0.5, torch.ones(2)), "the number of classes must be a whole number, got f"),
    (lambda: retained(torch.tensor([1j]), 2), "retained: visible must be of a type that torch com"),
    (lambda: SoftLoss(soften=None), "SoftLoss: soften must be one of 'none', 'target', 'weight',"),
    (lambda: SoftLoss(weighting="normalised"), "did you mean 'normalized'?"),
    (lambda: SoftLoss(reduction="avg"), "reduction must be one of 'mean', 'sum', 'none', got"),
    (lambda: SoftLoss(validate="no"), "validate must be True or False, got str no"),
    (lambda: SoftLoss(prior="unifrom"), "prior must be one of 'uniform', got 'unifrom'; did you"),
    (lambda: SoftLoss(label_smoothing=2), "label_smoothing must be a number in 0..1, got int 2"),
    (lambda: SoftLoss(label_smoothing=NAN), "label_smoothing must be a number in 0..1, got float"),
    (lambda: SoftLoss(focal_gamma=-1), "SoftLoss: focal_gamma must be a finite number >= 0, got"),
    (lambda: SoftLoss(focal_gamma="2"), "focal_gamma must be a finite number >= 0, got str 2"),
    (lambda: SoftLoss(prior=[0.5, 0.4]), "rows of prior must be >= 0 and sum to 1, got float64"),
    (lambda: SoftLoss(prior=[NAN, 1.0]), "sum to 1, got float64 tensor of shape [2]; divide each"),
    (lambda: SoftLoss(prior=[[1.0, 0.0]]), 'prior must be "uniform", [C] or [C, C], got'),
    (lambda: SoftBCELoss(prior=1.5), "SoftBCELoss: prior must be a number in 0..1, or one for"),
]
MIXED = MixedLabel(torch.zeros(3, 2).long(), torch.ones(3, 2), torch.full((3, 2), 0.5))


def mixed(**changes):
    return lambda: SoftLoss()(torch.zeros(3, 4), MIXED._replace(**changes))


LOSSES = [
    (lossy(kept=torch.tensor([1, -0.1, 1])), "retained must be in [0, 1], got -0.1"),
    (lossy(kept=torch.tensor([1, 1, 1.5])), "retained must be in [0, 1], got 1.5 (sample 2)"),
    (lossy(kept=torch.tensor([1, NAN, 1])), "retained must be in [0, 1], got nan (sample 1)"),
    (lossy(labels=torch.tensor([0, 4, 1])), "SoftLoss: label 4 is outside the model's 4 classes"),
    (lossy(labels=torch.tensor([0, -1, 1])), "SoftLoss: label -1 is outside the model's 4 classes"),
    (lossy(labels=LABELS[:2]), "label must be a tensor [B] with one value for each of the 3"),
    (lossy(labels=LABELS.float()), "label must be integers, got float32 tensor of shape [3]"),
    (lossy(labels=torch.ones(3, 4)), "sum to 1, got [1.0, 1.0, 1.0, 1.0] (sample 0); a multi-labe"),
    (lossy(kept=WHOLE[:2]), "retained must be a tensor [B] with one value for each of the 3 logit"),
    (lossy(kept=WHOLE[:, None]), "got float32 tensor of shape [3, 1]; [B, 1] is not broadcast"),
    (lossy(labels=LABELS[:, None]), "got int64 tensor of shape [3, 1]; [B, 1] is not broadcast"),
    (lossy(kept=LABELS), "retained must be floating point, got int64 tensor of shape [3]"),
    (lossy(torch.zeros(3, 4).long()), "logits must be floating point, got int64 tensor of shape"),
    (lossy(torch.zeros(0, 4), LABELS[:0], WHOLE[:0]), "logits must be a non-empty [B, C]"),
    (lossy(torch.zeros(3, 4).to(FLOAT8)), "SoftLoss: logits must be floating point, got float8_e4"),
    (lossy(kept=WHOLE.to(FLOAT8)), "retained must be floating point, got float8_e4m3fn"),
    (lossy(np.zeros((3, 4))), "logits must be a non-empty [B, C], got ndarray"),
    (lossy(torch.zeros(3, 1), LABELS * 0), "the number of classes must be at least 2, got 1"),
    (lossy(with_nan(1)), "sample must be finite, got logits from nan to nan (sample 1)"),
    (lossy(with_nan(2, math.inf)), "got logits from 0.0 to inf (sample 2)"),
    (lossy(with_nan(0, -math.inf), kept=WHOLE / 2), "got logits from -inf to 0.0 (sample 0)"),
    (lossy(soften="none", prior=[0.5, 0.5]), "prior must be for the model's 4 classes, got one fo"),
    (lossy(FAR, FAR[:, 0].long(), FAR[:, 0], prior=[0.25] * 4), "got cpu; move the loss: loss.to("),
    (lossy(labels=LABELS.to("meta")), "label must be on the logits' device cpu, got meta; use"),
    (lambda: SoftLoss()(torch.zeros(3, 4), LABELS + 9), "label 11 is outside the model's 4 classe"),
    (mixed(labels=LABELS), "labels must be a tensor [B, 2] with two values for each"),
    (mixed(labels=MIXED.share), "labels must be integers"),
    (mixed(labels=MIXED.labels + 4), "label 4 is outside the model's 4 classes"),
    (mixed(retained=WHOLE), "retained must be a tensor [B, 2]"),
    (mixed(retained=MIXED.retained + 0.5), "retained must be in [0, 1], got 1.5 (sample 0)"),
    (mixed(share=MIXED.labels), "share must be floating point"),
    (mixed(share=MIXED.share - 1), "share must be in [0, 1], got -0.5 (sample 0)"),
    (mixed(share=MIXED.share * WHOLE[:2] / 2), "sum to 1, got [0.25, 0.25] (sample 0)"),
    (lambda: SoftBCELoss()(torch.zeros(3, 4), torch.full((3, 4), 1.5)), "label must be in [0, 1]"),
    (lambda: SoftBCELoss()(torch.zeros(3, 4), torch.ones(3, 5)), "label must be a tensor [B, C]"),
    (lambda: SoftBCELoss()(torch.zeros(3, 4), MIXED), "got MixedLabel"),
    (lambda: SoftBCELoss()(torch.zeros(3, 4), LABELS), "label must be a tensor [B, C], or a Soft"),
]


def dense(label, kept, num_classes=4):
    return lambda: SoftLabel(label, kept).dense(num_classes)


DENSE = [
    (dense(LABELS[:2], WHOLE), "of one, got int64 tensor of shape [2] and float32 tensor of shape"),
    (
        dense(LABELS, 1.0),
        "label and retained must be of the same [B] samples, or of one, got int64",
    ),
    (dense(1, WHOLE), "label and retained must be of the same [B] samples, or of one, got int64"),
    (dense(LABELS[:2], WHOLE[:2, None]), "must be of the same [B] samples, or of one, got int64"),
    (dense(torch.eye(4)[:2], WHOLE), "must be of the same [B] samples, or of one, got float32"),
    (dense(torch.eye(3), WHOLE), "SoftLabel.dense: probabilities must be of 4 classes, got floa"),
    (dense(LABELS + 3, WHOLE), "SoftLabel.dense: label must be in 0..3, got 4"),
    (dense(-1, 1.0), "SoftLabel.dense: label must be in 0..3, got -1"),
    (dense(None, 1.0), "SoftLabel.dense: label must be a tensor or numbers, got NoneType"),
    (dense(1, "a"), "SoftLabel.dense: retained must be a tensor or numbers, got str a"),
    (dense(1, 1.5), "SoftLabel.dense: retained must be in [0, 1], got 1.5 (sample 0)"),
    (dense(1, 1.0, 10**400), "the number of classes must be at most 9223372036854775807, got an"),
    (dense(1, 1.0, None), "the number of classes must be a whole number, got NoneType"),
    (lambda: MIXED._replace(labels=LABELS).dense(4), "MixedLabel.dense: labels must be a tensor ["),
    (lambda: MIXED._replace(share=WHOLE[:2, None].expand(2, 2)).dense(4), "share must be [3, 2] l"),
    (lambda: mix_labels(LABELS, FAR[:, 0].long(), 0.5), "labels must be on one device, cpu, got m"),
    (lambda: mix_labels(SoftLabel(LABELS, FAR[:, 0]), LABELS, 1), "on the labels' device cpu, got"),
    (lambda: pair_weight(IMAGES[0, :, :4, 0].to(FLOAT8), WHOLE), "boxes_a must be"),
]
TRANSFORMS = [
    (crop(labels=LABELS[:2]), "SoftCrop: labels of 3 images must be [B], got int64 tensor of shap"),
    (crop(labels=LABELS.float()), "labels must be integers, got float32 tensor of shape [3]"),
    (crop(labels=[0, 1, 2]), "labels of 3 images must be [B], got list [0, 1, 2]"),
    (crop(labels=SoftLabel(LABELS, WHOLE[:, None])), "got float32 tensor of shape [3, 1]"),
    (
        crop(labels=SoftLabel(LABELS, WHOLE * 1.5)),
        "SoftCrop: retained must be in [0, 1], got 1.5 (",
    ),
    (
        crop(labels=SoftLabel(LABELS, WHOLE * NAN)),
        "SoftCrop: retained must be in [0, 1], got nan (",
    ),
    (
        crop(labels=SoftLabel(LABELS, WHOLE.to(FLOAT8))),
        "retained must be floating point, on the im",
    ),
    (crop(labels=SoftLabel(LABELS, FAR[:, 0])), "on the images' device cpu, got float32 tensor o"),
    (crop(IMAGES[0], SoftLabel(1, 1.5)), "SoftCrop: retained must be a number in 0..1, got float"),
    (crop(IMAGES[0], SoftLabel(1, None)), "SoftCrop: retained must be a number in 0..1, got NoneT"),
    (crop(IMAGES[0], SoftLabel(1, WHOLE[0] * 2)), "SoftCrop: retained must be in [0, 1], got 2.0"),
    (crop(key=KEY._replace(index=None)), "key.index must be a tensor or numbers, got NoneType"),
    (crop(key=KEY._replace(index=HUGE)), "key.index must be a tensor or numbers, got an integer o"),
    (crop(IMAGES[0], LABELS), "the label of one image must be an int or probabilities [C], got in"),
    (crop(IMAGES[0], "cat"), "one image must be an int or probabilities [C], got str cat"),
    (crop(IMAGES[0, 0], 1), "images must be [C, H, W] or [B, C, H, W], got float32 tensor of shap"),
    (crop(IMAGES.int()), "images must be uint8 or floating point, got int32 tensor of shape"),
    (crop(IMAGES[:0], LABELS[:0]), "images must not be empty, got float32 tensor of shape [0, 3,"),
    (crop(Image.new("RGB", (8, 8)), 1), "got Image; put torchvision.transforms.v2.PILToTensor()"),
    (crop(np.zeros((3, 8, 8)), 1), "images must be a tensor, got ndarray"),
    (crop(generator=torch.Generator(), key=KEY), "SoftCrop: give a generator or a key, not both"),
    (crop(key=KEY._replace(index=LABELS[:2])), "key.index must hold one sample index for each of"),
    (crop(key=KEY._replace(index=WHOLE)), "key.index must be integers, got float32 tensor of shap"),
    (crop(key=(0, 0, LABELS)), "SoftCrop: key must be a DrawKey, got tuple"),
    (crop(key=KEY._replace(seed=0.5)), "key.seed must be a whole number, got float 0.5"),
    (crop(key=KEY._replace(stream=65536)), "key.stream must be in 0..65535, got 65536"),
    (lambda: UniformCrop(8)(IMAGES, LABELS), "max_shift must be below the image's edge 8, got 8;"),
    (filled((1, 2)), "SoftErase: fill must be one number or 3, one per channel, got [1, 2]"),
    (filled(256), "SoftErase: fill of uint8 images must be whole numbers in 0..255, got [256]"),
    (filled(-1), "must be whole numbers in 0..255, got [-1]"),
    (filled(255.5), "in 0..255, got [255.5]"),
    (lambda: SoftCrop().apply(IMAGES, TWO), "SoftCrop: apply needs parameters for each of the 3"),
    (lambda: SoftCrop().apply(IMAGES), "apply needs the images and their drawn parameters"),
    (lambda: SoftCrop().draw(IMAGES[0, 0]), "images must be [C, H, W] or [B, C, H, W]"),
]


def refused(call):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (each test compares the message)
        call()
    return str(caught.value)


ALL = SETTINGS + LOSSES + DENSE + TRANSFORMS


@pytest.mark.parametrize(("call", "message"), ALL, ids=[message for _, message in ALL])
def test_bad_settings_and_bad_input_are_refused(call, message):
    assert message in refused(call)


KINDS = [
    SoftAffine,
    SoftCrop,
    UniformCrop,
    SoftErase,
    SoftCutout,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
    UniformResizedCrop,
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_transform_names_itself(kind):
    assert refused(lambda: kind()(torch.zeros(8, 8), 0)).startswith(
        f"{kind.__name__}: images must be"
    )
    assert refused(lambda: kind()(IMAGES, LABELS[:1])).startswith(f"{kind.__name__}: labels of 3")
    if kind is not SoftPolicy:  # it has curves
        assert refused(lambda: kind(k=0)) == f"{kind.__name__}: k must be > 0, got 0"


def test_validate_false_skips_value_checks_but_not_those_of_shape_and_type():
    loss = SoftLoss("weight", validate=False)
    heavy = loss(torch.zeros(3, 4), SoftLabel(LABELS, torch.full((3,), 1.5)))
    assert heavy.item() == pytest.approx(1.375 * math.log(4))  # 1/4 + 3/4 * 1.5
    assert loss(with_nan(1), LABELS).isnan()
    column = refused(lambda: loss(torch.zeros(3, 4), SoftLabel(LABELS, WHOLE[:, None])))
    assert "[B, 1] is not broadcast" in column
    assert "label must be integers" in refused(lambda: loss(torch.zeros(3, 4), WHOLE))


def test_a_masked_class_of_a_hard_label_is_not_refused():
    logits = with_nan(0, -math.inf)
    expected = torch.nn.functional.cross_entropy(logits, LABELS)
    assert SoftLoss()(logits, LABELS) == expected
    logits.requires_grad_()
    loss = SoftLoss()(logits, SoftLabel(LABELS, WHOLE))
    assert torch.isclose(loss, expected)
    loss.backward()
    assert logits.grad.isfinite().all()


def test_large_finite_losses_are_not_refused():
    logits = torch.tensor([[3e38, 0.0], [3e38, 0.0]])  # their sum overflows float32
    loss = SoftLoss(reduction="none")(logits, torch.tensor([1, 1]))
    assert loss.isfinite().all()


def test_numbers_of_numpy_are_settings_too():
    assert SoftCrop(sigma=np.float32(0.25)).sigma == 0.25
