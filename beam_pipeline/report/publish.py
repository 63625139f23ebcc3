"""Puts the page of a report in its place."""

import hashlib
from typing import Any

from beam_pipeline.manifest import REPORT
from transforms import storage


def publish(page: bytes, whole: dict[str, Any], output: str) -> str:
    """Writes a report, and adds `report` to the manifest of the whole.

    Returns:
      the path of the report.
    """
    path = storage.join(output, REPORT)
    storage.write_whole(path, page)
    whole["report"] = {"file": REPORT, "sha256": hashlib.sha256(page).hexdigest()}
    return path
