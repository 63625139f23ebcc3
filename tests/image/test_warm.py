"""The image's kernels are compiled when it is built, not on its workers."""

import subprocess
import sys

import pytest

from beam_pipeline import warm


def test_after_warming_a_new_process_compiles_nothing() -> None:
    assert warm.main([]) == 0
    done = subprocess.run(
        [sys.executable, "-m", "beam_pipeline.warm", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 compiled" in done.stdout


def test_a_kernel_that_is_not_in_the_cache_fails_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warm, "warm", lambda: warm.Kernels(17, ["transforms.kernels.x"]))
    assert warm.main([]) == 0
    assert warm.main(["--check"]) == 1
    assert "transforms.kernels.x" in capsys.readouterr().out
