"""Fine-tuning: weights of another run, file or hub to begin from, and learning rates by depth."""

from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import safetensors.torch
import torch
from torch import Tensor, nn

from softaug.checks import refuse
from softaug.lab.models.backbone import find_classifier
from softaug.lab.models.registry import HUBS, TIMM, import_timm
from softaug.lab.recipes.config import SIBLING
from softaug.lab.training import checkpoint
from softaug.lab.training.checkpoint import CHECKPOINTS

WRAPPERS = ("state_dict", "model")  # under which training scripts keep a network's weights
LEAST_SHARE = 0.5  # of the numbers of a network without its classifier that must be loaded
MAX_LISTED = 4


def find_weights_file(weights: str, runs: Path | None = None) -> Path | None:
    """Return the file that `weights` stands for: itself, or that of a run's newest checkpoint.

    None for a network of a hub, whose tag says what it is. `run:NAME` is a run in `runs`.
    """
    path = Path(weights).expanduser()
    if weights.startswith(HUBS):
        return None
    if weights.startswith(SIBLING):
        path = _find_sibling(weights.removeprefix(SIBLING), runs)
    if path.is_dir():
        newest, damages = checkpoint.newest_whole(path / CHECKPOINTS)
        if newest is not None:
            part = "ema" if "ema" in newest.state else "model"
            return newest.path / f"{part}{checkpoint.TENSORS}"
        if damages:
            _refuse(f"a checkpoint in {path} must be whole", "; ".join(damages))
    if not path.is_file():
        _refuse("weights must be a file, a run's folder, timm:TAG or torchvision:TAG", weights)
    return path


def _find_sibling(name: str, runs: Path | None) -> Path:
    path = (runs or Path()) / name
    if runs is None or not checkpoint.steps(path / CHECKPOINTS):
        recipe, _, seed = name.rpartition("-seed")
        remedy = f"first `softaug train {recipe} --seed {seed} --out {path}`"
        refuse("finetune", f"weights {SIBLING}{name} must be of a run in {path}", "none", remedy)
    return path


def read_weights(weights: str, runs: Path | None = None) -> dict[str, Tensor]:
    """Read a state dict without executing anything in it.

    Of a hub, "normalize.mean" and "normalize.sd" say in pixels 0..255 what its images were
    normalized by.
    """
    file = find_weights_file(weights, runs)
    if file is None:
        return _download(weights)
    content: Any
    try:
        if file.suffix == ".safetensors":
            return safetensors.torch.load_file(file)
        content = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as broken:  # a damaged pickle ends in any error: IndexError, TypeError, ...
        rule = f"{file} must hold a state dict of tensors alone: nothing pickled is executed"
        _refuse(rule, f"{type(broken).__name__} {str(broken)[:200]}")
    for key in WRAPPERS:
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping):
        _refuse(f"{file} must hold a state dict", type(content).__name__)
    return {str(key): value for key, value in content.items() if isinstance(value, Tensor)}


def _download(weights: str) -> dict[str, Tensor]:
    """Return the weights of one of timm's or torchvision's pretrained networks."""
    hub, _, tag = weights.partition(":")
    try:
        if weights.startswith(TIMM):
            net = import_timm("finetune").create_model(tag, pretrained=True)
            state, normalize = net.state_dict(), net.pretrained_cfg
        else:
            entry = import_module("torchvision.models").get_weight(tag)
            state = entry.get_state_dict(check_hash=True, weights_only=True)
            normalize = vars(entry.transforms())
    except Exception as failed:  # each hub, and each of its transports, has errors of its own
        remedy = "where the hub cannot be reached, get the file elsewhere and give its path"
        reason = (str(failed) or type(failed).__name__).splitlines()[0]
        refuse("finetune", f"weights {weights} must be a tag that {hub} can load", reason, remedy)
    for name, key in (("mean", "mean"), ("sd", "std")):
        state[f"normalize.{name}"] = 255 * torch.tensor(normalize[key]).view(-1, 1, 1)
    return dict(state)


class LoadReport(NamedTuple):
    """Which tensors of a network were loaded, which were not, and which have no counterpart."""

    loaded: list[str]
    new: list[str]
    left_out: list[str]

    def __str__(self) -> str:
        total = len(self.loaded) + len(self.new)
        return (
            f"{len(self.loaded)} of {total} tensors loaded; new: {_list_keys(self.new)}; "
            f"left out: {_list_keys(self.left_out)}"
        )


def load_weights(net: nn.Module, tensors: Mapping[str, Tensor]) -> LoadReport:
    """Load what fits into a network, whatever its keys begin with; a classifier may be new.

    Tensors of another shape or name are left out. Refused if less than half of the network's
    numbers, its classifier aside, are there.

    >>> net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4, 2))
    >>> print(load_weights(net, {"module.0.weight": torch.ones(4, 3, 3, 3)}))
    1 of 4 tensors loaded; new: 0.bias, 2.weight, 2.bias; left out: none
    """
    wanted, keys = net.state_dict(), _match_keys(tensors, net.state_dict())
    fitting = {
        name: tensors[key] for name, key in keys.items() if tensors[key].shape == wanted[name].shape
    }
    head = f"{find_classifier(net)}."
    sizes = {name: value.numel() for name, value in wanted.items() if not name.startswith(head)}
    new = [name for name in wanted if name not in fitting]
    used = {keys[name] for name in fitting}
    report = LoadReport(list(fitting), new, [key for key in tensors if key not in used])
    share = sum(size for name, size in sizes.items() if name in fitting) / sum(sizes.values())
    if share < LEAST_SHARE:
        rule = f"weights must hold at least {LEAST_SHARE:.0%} of the network's numbers"
        got = f"{share:.0%}: it needs {_list_keys(new)}; they have {_list_keys(list(tensors))}"
        refuse("finetune", rule, got, "choose the model that they are of")
    net.load_state_dict(fitting, strict=False)
    return report


def _match_keys(tensors: Mapping[str, Tensor], wanted: Mapping[str, Any]) -> dict[str, str]:
    """Return the key in `tensors` of each wanted name: all have the one prefix that most have."""
    prefixes = Counter[str]()
    for key in tensors:
        cuts = (-1, *(position for position, char in enumerate(key) if char == "."))
        prefixes.update(key[: cut + 1] for cut in cuts if key[cut + 1 :] in wanted)
    prefix = max(prefixes, key=lambda key: (prefixes[key], -len(key)), default="")
    return {name: prefix + name for name in wanted if prefix + name in tensors}


def take_normalization(normalize: nn.Module, tensors: dict[str, Tensor]) -> bool:
    """Move mean and standard deviation of images from `tensors` to `normalize`, if they are there.

    A network then sees images as it did where its weights were trained.
    """
    keys = _match_keys(tensors, {f"normalize.{name}": None for name in ("mean", "sd")})
    statistics = {name.removeprefix("normalize."): tensors.pop(key) for name, key in keys.items()}
    if len(statistics) == 2:
        normalize.load_state_dict(statistics)
    return len(statistics) == 2


def lr_scales(net: nn.Module, decay: float) -> dict[str, float]:
    """Return the factor of each parameter's learning rate: 1 for the classifier, less before it.

    Layers are the members of the outermost `nn.Sequential` or `nn.ModuleList`: blocks of a ResNet,
    of a ViT, stages of a ConvNeXt. Each has `decay` times the rate of the next. What stands before
    the first one is a layer of its own; what stands after the last belongs to the classifier.

    >>> net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4, 2))
    >>> lr_scales(net, 0.5)
    {'0.weight': 0.5, '0.bias': 0.5, '2.weight': 1.0, '2.bias': 1.0}
    """
    blocks = [f"{name}." for name in _blocks(net, "")]
    head = f"{find_classifier(net)}."
    names = [name for name, _ in net.named_parameters()]
    layers, layer, last = dict[str, int](), 0, ""
    for name in names:
        block = next(filter(name.startswith, blocks), "")
        if block and block != last and not name.startswith(head):
            layer, last = layer + 1, block
        layers[name] = layer
    total = layer + 1
    after = max((index for index, name in enumerate(names) if name.startswith(last)), default=-1)
    for index, name in enumerate(names):
        if name.startswith(head) or (last and index > after):
            layers[name] = total
    return {name: decay ** (total - layer) for name, layer in layers.items()}


def _blocks(module: nn.Module, prefix: str) -> Iterator[str]:
    """Name the members of the outermost containers, in their order."""
    for name, child in module.named_children():
        if isinstance(module, nn.Sequential | nn.ModuleList):
            yield prefix + name
        else:
            yield from _blocks(child, f"{prefix}{name}.")


def _list_keys(keys: list[str]) -> str:
    more = f" and {len(keys) - MAX_LISTED} more" if len(keys) > MAX_LISTED else ""
    return ", ".join(keys[:MAX_LISTED]) + more if keys else "none"


def _refuse(rule: str, got: object) -> NoReturn:
    refuse("finetune", rule, got)
