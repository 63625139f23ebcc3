"""Where the files about the image are, and the programs that check them."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JOBS = ("corpus", "traces")


def tool(name: str) -> str | None:
    """The path of a program that the test extra installs, beside this Python."""
    return shutil.which(name, path=str(Path(sys.executable).parent))


def check(name: str, *arguments: str) -> None:
    """Runs a linter of the test extra, which must find nothing."""
    program = tool(name)
    assert program, f"{name} is not installed; it is part of the test extra"
    done = subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
