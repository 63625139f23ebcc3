"""The folder of real data beside the repository; tests that need it are skipped without it."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="no folder of shared data")
