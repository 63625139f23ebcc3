"""Inputs with right answers, made by running the reference behaviour."""

import json
from pathlib import Path
from typing import Any


def read_vectors(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(__file__).parent / name).open(encoding="utf-8")]
