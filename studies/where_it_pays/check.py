"""Measure the study's published networks on your CIFAR-10, and compare with its numbers.

    python -m studies.where_it_pays.check [DATA_DIR]

networks/ has seed 0 of the hard and of the soft crop, as `softaug export --format state-dict`
wrote them. Takes about a minute of one core; exits with 1 if a number differs by more than 0.05
points. DATA_DIR is where `softaug data cifar10` put the images (default: $SOFTAUG_DATA).
"""

import hashlib
import json
import sys
from pathlib import Path

import safetensors.torch
import torch
from rich.console import Console
from torch import Tensor, nn

from softaug.checks import refuse
from softaug.lab.data.images import Source, load
from softaug.lab.evaluation.metrics import make_corruptions
from softaug.lab.models.backbone import Normalize, with_normalization
from softaug.lab.models.registry import create
from softaug.lab.training.evaluate import chunks, predict
from softaug.metrics import calibration_error, error, nll
from studies.collect import as_table

FOLDER = Path(__file__).parent
NETWORKS = {"hard crop": "hard", "soft crop": "soft"}
MEASURES = {"error": "error, %", "nll": "NLL", "ece_15": "ECE, %", "occlusion/0.4": "40 % hidden"}
DRAWS = 3  # of the hidden square, as `softaug evaluate` has it
TOLERANCE = 5e-4


def load_network(path: Path) -> nn.Module:
    """Load an exported network with its normalization; refuse a file that has changed."""
    about = json.loads(path.with_name(f"{path.name}.json").read_text())
    if hashlib.sha256(path.read_bytes()).hexdigest() != about["sha256"]:
        refuse("check", f"{path.name} must have its published sha256", "another", "fetch it again")
    network = create(about["model"], len(about["class_names"]))
    network.load_state_dict(safetensors.torch.load_file(path))
    mean, std = ([255 * value for value in about[key]] for key in ("mean", "std"))
    return with_normalization(Normalize(mean, std), network).eval()


@torch.no_grad()
def measure(net: nn.Module, test: Source) -> dict[str, float]:
    """Measure error, NLL, ECE, and accuracy with 40 % of each image hidden."""
    logits = torch.cat([predict(net, images) for images in chunks(test, 0)])
    normalize = net.get_submodule("normalize")
    assert isinstance(normalize, Normalize)
    fill = [round(level) for level in normalize.mean.flatten().tolist()]
    (hidden,) = make_corruptions(fill, ("occlusion",))
    level, correct = hidden.levels.index(0.4), 0
    for number, (images, labels) in enumerate(zip(chunks(test, 0), split(test), strict=True)):
        for draw in range(DRAWS):
            answers = predict(net, hidden.corrupt(images, level, draw, number)).argmax(1)
            correct += int((answers == labels).sum())
    return {
        "error": float(error(logits, test.labels)),
        "nll": float(nll(logits, test.labels)),
        "ece_15": float(calibration_error(logits.softmax(1), test.labels, bins=15)),
        "occlusion/0.4": correct / (DRAWS * len(test.labels)),
    }


def split(test: Source) -> list[Tensor]:
    """Split the labels as `chunks` splits the images."""
    sizes = [len(images) for images in chunks(test, 0)]
    return list(torch.split(test.labels, sizes))


def main() -> int:
    """Print published and measured numbers; return 1 if one differs."""
    data = load("cifar10", Path(sys.argv[1]) if sys.argv[1:] else None)
    assert data.test is not None
    lines, agree = [["network", "", *MEASURES.values()]], True
    for label, name in NETWORKS.items():
        file = FOLDER / "runs" / f"cifar10-resnet8-s2-5000x400-{name}-seed0.json"
        published = json.loads(file.read_text())
        net = load_network(FOLDER / "networks" / f"{name}.safetensors")
        here = measure(net, data.test)
        for words, numbers in (("published", published["measures"]), ("here", here)):
            cells = [f"{numbers[key] * (1 if key == 'nll' else 100):.3f}" for key in MEASURES]
            lines.append([label, words, *cells])
        agree &= all(abs(here[key] - published["measures"][key]) < TOLERANCE for key in MEASURES)
    Console().print(as_table(lines), markup=False, highlight=False, soft_wrap=True)
    print("The numbers agree." if agree else "The numbers DIFFER.")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
