"""Users' code calls these: a change here is a change of the API and goes to the changelog.

The import contracts of pyproject.toml hold, and a bare `import softaug` stays light.
"""

import inspect
import subprocess
import sys
from pathlib import Path

import softaug
from softaug.mixing import BatchMix
from softaug.transforms import SoftTransform, WindowCrop

ROOT = Path(__file__).parent.parent
HEAVY = {"matplotlib", "jinja2", "rich", "tyro", "sklearn", "scipy", "safetensors", "ray"}
SIGNATURES = {
    "CutMix": "alpha=1.0",
    "DrawKey": "seed epoch index stream=0",
    "MixedLabel": "labels retained share",
    "Mixup": "alpha=1.0",
    "OnlineSmoothing": "num_classes share=0.5",
    "Pacer": "transform epochs rule=AccuracyHold(since=None) * by='all' num=None first=None "
    "least=None most=None factor=1.3 settle=None first_k=2.0",
    "SoftAffine": "degrees=30.0 translate=(0.0, 0.0) scale=(1.0, 1.0) shear=0.0 k=2.0 fill=0 "
    "strength=1.0",
    "SoftBCELoss": "soften='both' weighting='sample' prior=0.5 reduction='mean' validate=None",
    "SoftCrop": "sigma=0.3 k=2.0 fill=0",
    "SoftCutout": "length=8 k=2.0 fill=0 strength=1.0",
    "SoftErase": "area=(0.02, 0.33) ratio=(0.3, 3.3) k=2.0 fill=0 p=1.0 strength=1.0",
    "SoftLabel": "label retained",
    "SoftLoss": "soften='both' weighting='sample' prior='uniform' reduction='mean' validate=None "
    "label_smoothing=0.0 focal_gamma=0.0 base=None max_suppression=0.0",
    "SoftNoise": "sigma=0.1 noise_sd=0.1 k=1.0",
    "SoftPolicy": "policy='trivial' num_ops=None magnitude=None curves='naive' fill=0 strength=1.0",
    "SoftResizedCrop": "size=224 sigma=0.3 k=2.0 min_size=None fill=0 antialias=True "
    "offsets='half' relative_to='edges' share_of='image'",
    "UniformCrop": "max_shift=4 k=2.0 fill=0",
    "UniformResizedCrop": "size=224 scale=(0.08, 1.0) ratio=(0.75, 1.3333333333333333) k=2.0 "
    "antialias=True",
    "confidence": "retained num_classes",
    "pair_weight": "boxes_a boxes_b k=4.0 mode='SA1' p_min=0.0",
    "retained": "visible k=2.0",
    "update_batchnorm": "model loader transform=None device=None",
}
METHODS = {
    SoftTransform.forward: "self images labels=None others * generator=None key=None",
    SoftTransform.draw: "self images * labels=None generator=None key=None",
    SoftTransform.apply: "self images params=None",
    SoftTransform.report: "self labels params * key=None",
    WindowCrop.forward: "self images labels=None others * generator=None key=None",
    WindowCrop.draw_for: "self height width key labels=None",
    WindowCrop.resize: "self part corners offset out",
    BatchMix.forward: "self images labels * generator=None key=None",
    BatchMix.draw: "self num height width * generator=None key=None",
    BatchMix.apply: "self images partners=None params=None",
    BatchMix.report: "self first second params",
    softaug.SoftPolicy.describe: "self params",
    softaug.SoftLabel.confidence: "self num_classes",
    softaug.SoftLabel.dense: "self num_classes",
    softaug.SoftLabel.to: "self device non_blocking=False",
    softaug.MixedLabel.dense: "self num_classes",
    softaug.MixedLabel.to: "self device non_blocking=False",
    softaug.OnlineSmoothing.gather: "self logits label",
    softaug.OnlineSmoothing.next_epoch: "self",
    softaug.OnlineSmoothing.target: "self labels",
    softaug.Pacer.load_state_dict: "self state",
    softaug.Pacer.next_epoch: "self",
    softaug.Pacer.share: "self",
    softaug.Pacer.state_dict: "self",
    softaug.Pacer.watch: "self logits label * sample=None",
    softaug.SoftLoss.forward: "self logits label",
}


def shown(function):
    """Names and defaults of the parameters; `*` starts those given by name only."""
    parts = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        bare = parameter.default is parameter.empty
        parts.append(parameter.name if bare else f"{parameter.name}={parameter.default!r}")
    return " ".join(parts)


def test_public_names_and_signatures_are_these():
    assert sorted(softaug.__all__) == sorted(SIGNATURES)
    assert {name: shown(getattr(softaug, name)) for name in SIGNATURES} == SIGNATURES
    assert {method: shown(method) for method in METHODS} == METHODS
    assert all((getattr(softaug, name).__doc__ or "").strip() for name in SIGNATURES)


def test_transforms_share_one_interface():
    kinds = [getattr(softaug, name) for name in SIGNATURES]
    transforms = [one for one in kinds if inspect.isclass(one) and issubclass(one, SoftTransform)]
    assert len(transforms) == 9
    for kind in transforms:
        base = WindowCrop if issubclass(kind, WindowCrop) else SoftTransform  # takes PIL images too
        for method in ("forward", "draw", "apply", "report"):
            assert getattr(kind, method) is getattr(base, method), (kind, method)


def run(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_imports_go_one_way():
    done = run("from importlinter.cli import lint_imports_command as c; c()")
    assert done.returncode == 0, done.stdout


def test_import_of_the_library_loads_nothing_of_the_lab():
    loaded = set(run("import sys, softaug; print(*sys.modules)").stdout.split())
    assert "softaug" in loaded
    assert not loaded & HEAVY
    assert not any(name.startswith("softaug.lab") for name in loaded)
