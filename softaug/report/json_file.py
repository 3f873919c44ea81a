"""Reading a result file."""

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from softaug.checks import refuse


def read_json(file: Path, who: str, remedy: str) -> Any:
    """What a UTF-8 JSON file with finite numbers holds; anything else is refused."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        refuse(who, "the result file must be readable", error.strerror, remedy)
    except UnicodeDecodeError as error:
        refuse(who, "the result file must be UTF-8 text", error.reason, remedy)
    try:
        return json.loads(text, parse_constant=_not_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        refuse(who, "the result file must be JSON with finite numbers", error, remedy)


def _finite(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _not_finite(text)


def _not_finite(text: str) -> NoReturn:
    raise ValueError(f"{text} is no finite number")
