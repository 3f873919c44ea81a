"""The command `softaug export`: a trained network as one file, checked, with its preprocessing.

network.onnx         uint8 images [B, 3, size, size] in, logits [B, C] out; normalization inside
network.pt2          the same program, for torch.export.load
network.safetensors  the network's own weights: `create(model, num_classes)` loads them
network.onnx.json    what is needed beside each: class names, size, normalization, temperature
"""

import hashlib
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import safetensors.torch
import torch
import tyro
from rich.console import Console
from torch import Tensor

import softaug
from softaug.checks import check_choice, refuse
from softaug.lab.evaluation.network import TrainedNetwork, load_run
from softaug.lab.io import write_bytes, write_json
from softaug.lab.models.registry import create
from softaug.lab.recipes.config import Recipe

WHO = "export"
NAME = "network"
TOLERANCE = 1e-4  # of logits, absolute and relative
Format = Literal["onnx", "torch-export", "state-dict"]
SUFFIXES: dict[Format, str] = {
    "onnx": ".onnx",
    "torch-export": ".pt2",
    "state-dict": ".safetensors",
}
Run = Callable[[Tensor], Tensor]
FOR_ONNX = ("onnx", "onnxscript", "onnxruntime")


def export(
    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")],
    format: Format = "onnx",  # noqa: A002
    out: Path | None = None,
    data_dir: Path | None = None,
) -> None:
    """Write a trained network to one file, read it back and compare its logits.

    Args:
        run: Folder that `softaug train` made.
        format: onnx and torch-export hold normalization too; state-dict is the bare network's.
        out: The file (default: network.onnx, .pt2 or .safetensors in the run's folder).
        data_dir: Where data sets are; needed only for runs of versions before 0.2.
    """
    net = load_run(run, data_dir=data_dir)
    path = out or run / f"{NAME}{SUFFIXES[format]}"
    difference = export_network(net, path, format)
    line = f"{path}: logits differ by at most {difference:.1e} from the run's; {path.name}.json"
    Console().print(line, soft_wrap=True, highlight=False, markup=False)


def export_network(net: TrainedNetwork, path: Path, style: Format) -> float:
    """Write a network and its description; return the largest difference of logits when read back.

    Where it is too large this is refused, and no file is left.
    """
    check_choice(WHO, "format", style, get_args(Format))
    if path.suffix != SUFFIXES[style]:
        refuse(WHO, f"the file of format {style} must end in {SUFFIXES[style]}", path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    unchecked = path.with_name(f".unchecked-{path.name}")
    try:
        read_back = _WRITERS[style](net, unchecked)
        difference, limit = compare_logits(net, read_back)
        if not difference <= limit:
            rule = f"logits of {path.name} must agree with the run's to {limit:.1e}"
            refuse(WHO, rule, f"{difference:.1e}", "nothing was written")
        unchecked.replace(path)
    finally:
        unchecked.unlink(missing_ok=True)
    write_json(describe_network(net, path, style), path.with_name(f"{path.name}.json"), indent=1)
    return difference


@torch.no_grad()
def compare_logits(net: TrainedNetwork, other: Run) -> tuple[float, float]:
    """Return the largest difference of logits on random images, and what it may be.

    Batches of three sizes show that the number of images is free.
    """
    generator = torch.Generator().manual_seed(0)
    difference = largest = 0.0
    for num in (1, 2, 5):
        shape = (num, 3, net.size, net.size)
        images = torch.randint(256, shape, generator=generator, dtype=torch.uint8)
        expected = net(images)
        difference = max(difference, float((other(images) - expected).abs().max()))
        largest = max(largest, float(expected.abs().max()))
    return difference, TOLERANCE * max(1.0, largest)


def describe_network(net: TrainedNetwork, path: Path, style: Format) -> dict[str, Any]:
    """Return what is needed beside the file."""
    bare = style == "state-dict"
    pixels = "float32 [B, 3, size, size], (pixels / 255 - mean) / std"
    return {
        "format": style,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "model": net.recipe.model,
        "recipe": net.recipe.name,
        "class_names": list(net.class_names),
        "size": net.size,
        "resize_short_edge": net.short_edge,
        "mean": [value / 255 for value in net.normalize.mean.flatten().tolist()],
        "std": [value / 255 for value in net.normalize.sd.flatten().tolist()],
        "input": pixels if bare else "uint8 [B, 3, size, size], normalized inside",
        "output": "logits [B, classes]; divide by temperature, then softmax",
        "temperature": net.temperature,
        "weights_sha256": net.weights_sha256,
        "softaug": softaug.__version__,
    }


def _write_onnx(net: TrainedNetwork, path: Path) -> Run:
    missing = [name for name in FOR_ONNX if find_spec(name) is None]
    if missing:
        remedy = "pip install 'softaug[export]'"
        refuse(
            WHO, "format onnx needs onnx, onnxscript and onnxruntime", f"no {missing[0]}", remedy
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter's own parts, which users cannot mend
        torch.onnx.export(
            net,
            (_example(net),),
            path,
            dynamo=True,
            dynamic_shapes={"images": {0: torch.export.Dim("batch")}},
            input_names=["images"],
            output_names=["logits"],
            external_data=False,
            verbose=False,
        )
    session = import_module("onnxruntime").InferenceSession(
        path, providers=["CPUExecutionProvider"]
    )
    return lambda images: torch.from_numpy(session.run(["logits"], {"images": images.numpy()})[0])


def _write_program(net: TrainedNetwork, path: Path) -> Run:
    shapes = {"images": {0: torch.export.Dim("batch")}}
    torch.export.save(torch.export.export(net, (_example(net),), dynamic_shapes=shapes), path)
    loaded: Run = torch.export.load(path).module()
    return loaded


def _write_state(net: TrainedNetwork, path: Path) -> Run:
    """Write the network's own keys, without those of normalization."""
    if not isinstance(net.recipe, Recipe):
        remedy = "choose another format"
        refuse(WHO, "state-dict is for networks that learned labels", net.recipe.name, remedy)
    tensors = {name: value.contiguous() for name, value in net.network.state_dict().items()}
    write_bytes(safetensors.torch.save(tensors, metadata={"model": net.recipe.model}), path)
    bare = create(net.recipe.model, len(net.class_names)).eval()
    bare.load_state_dict(safetensors.torch.load_file(path))
    return lambda images: bare(net.normalize(images))


def _example(net: TrainedNetwork) -> Tensor:
    return torch.zeros(2, 3, net.size, net.size, dtype=torch.uint8)


_WRITERS: dict[Format, Callable[[TrainedNetwork, Path], Run]] = {
    "onnx": _write_onnx,
    "torch-export": _write_program,
    "state-dict": _write_state,
}
