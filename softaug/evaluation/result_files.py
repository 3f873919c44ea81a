"""The files of an evaluation: evaluation.json and the predictions that belong to it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from softaug.checks import refuse
from softaug.files import write_json

SCHEMA = 2
EVALUATION = "evaluation.json"
PREDICTIONS = "predictions.safetensors"


def write_evaluation(found: Mapping[str, Any], kept: dict[str, Tensor], out: Path) -> None:
    """Write both files into `out`: the predictions, then what knows their sha256."""
    out.mkdir(parents=True, exist_ok=True)
    unfinished = out / f".{PREDICTIONS}"
    content = safetensors.torch.save(kept)
    unfinished.write_bytes(content)
    unfinished.replace(out / PREDICTIONS)
    sha256 = hashlib.sha256(content).hexdigest()
    write_json({**found, "predictions_sha256": sha256}, out / EVALUATION)


def read_evaluation(folder: Path) -> dict[str, Any]:
    """The evaluation in a folder; refused where there is none that can be compared."""
    path = folder / EVALUATION
    if not path.is_file():
        got = f"no {EVALUATION}" if folder.is_dir() else "no such folder"
        refuse("compare", f"{folder} must be evaluated", got, _remedy(folder))
    try:
        content = json.loads(path.read_text())
    except ValueError as broken:
        refuse("compare", f"{path} must be JSON", broken, _remedy(folder))
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        refuse("compare", f"{path} must have schema {SCHEMA}", schema, _remedy(folder))
    found: dict[str, Any] = content
    return found


def read_predictions(folder: Path, evaluation: Mapping[str, Any]) -> dict[str, Tensor]:
    """The predictions that the evaluation was made from; others are refused."""
    return safetensors.torch.load(_checked(folder, evaluation))


def check_predictions(folder: Path, evaluation: Mapping[str, Any]) -> None:
    """Refuse predictions that are missing or not those of the evaluation."""
    _checked(folder, evaluation)


def _checked(folder: Path, evaluation: Mapping[str, Any]) -> bytes:
    path = folder / PREDICTIONS
    try:
        content = path.read_bytes()
    except OSError as missing:
        refuse("compare", f"{path} must be readable", missing.strerror, _remedy(folder))
    sha256, wanted = hashlib.sha256(content).hexdigest(), evaluation["predictions_sha256"]
    if sha256 != wanted:
        rule = f"{path} must have the sha256 {wanted[:12]}... that {EVALUATION} names"
        refuse("compare", rule, f"{sha256[:12]}...", _remedy(folder))
    return content


def _remedy(folder: Path) -> str:
    return f"run `softaug evaluate {folder}` again"
