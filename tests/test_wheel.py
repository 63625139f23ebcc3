"""The wheel alone serves as worker: it holds all that is needed, with what it depends on."""

import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import jobs
from tests.test_same_bytes import math_rows, recipe, web_rows

REPO = Path(__file__).resolve().parents[1]


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *map(str, arguments)], check=True, timeout=120)


def installed_wheel(folder: Path) -> Path:
    """The Python of an environment that has the wheel, and all else from the one of the tests."""
    source, python = folder / "source", folder / "venv" / "bin" / "python"
    for package in ("beam_pipeline", "transforms"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPO / package, source / package, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(REPO / name, source)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source)
    shutil.rmtree(source)
    venv.create(folder / "venv", symlinks=True)
    (wheel,) = folder.glob("*.whl")
    pip("--python", python, "install", "--no-deps", "--no-index", wheel)
    (site_packages,) = (folder / "venv").glob("lib/*/site-packages")
    # A path that is named here is searched, but the links to working copies in it are not followed.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    return python


@contextmanager
def worker_pool(python: Path) -> Iterator[str]:
    """Starts workers on demand, away from the working copy; gives the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [python, "-m", "apache_beam.runners.worker.worker_pool_main", f"--service_port={port}"],
        cwd="/",
        env={"PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(python.parent)},
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            with socket.socket() as ask:
                if ask.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield f"localhost:{port}"
    finally:
        process.terminate()
        process.wait(30)


def test_workers_that_have_only_the_wheel_give_the_same_bytes(tmp_path):
    jobs.write_rows(tmp_path / "in" / "web.jsonl", web_rows())
    jobs.write_rows(tmp_path / "in" / "math.jsonl", math_rows())
    python = installed_wheel(tmp_path / "wheel")
    where = "import transforms, beam_pipeline as b; print(transforms.__file__, b.__file__)"
    files = subprocess.check_output([python, "-c", where], cwd="/", text=True).split()
    assert all(Path(file).is_relative_to(tmp_path) for file in files)

    here = jobs.build(tmp_path / "here", recipe(tmp_path / "in"))
    with worker_pool(python) as address:
        there = jobs.build(
            tmp_path / "there",
            recipe(tmp_path / "in"),
            "--runner=PortableRunner",
            "--job_endpoint=embed",
            "--environment_type=EXTERNAL",
            f"--environment_config={address}",
        )
    assert there.hashes() == here.hashes()
    # What workers compile they keep beside the package that they use.
    assert list((tmp_path / "wheel").rglob("minhash*.nbi"))
