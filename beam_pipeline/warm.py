"""Compiles every numba kernel into the cache ahead of time: `python -m beam_pipeline.warm`.

Kernels have signatures, so importing a module compiles what is not in the cache of the CPU that
numba compiles for (`NUMBA_CPU_NAME`, `NUMBA_CPU_FEATURES`). An image that ships a filled
`NUMBA_CACHE_DIR` saves every worker process that work.
"""

import argparse
import importlib
import pkgutil
from dataclasses import dataclass
from types import ModuleType

from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

import transforms


@dataclass(frozen=True)
class Kernels:
    """What became of the kernels when they were imported.

    Attributes:
      loaded: how many came from the cache; those that they call are part of them.
      compiled: the names of those that were compiled.
    """

    loaded: int
    compiled: list[str]


def warm() -> Kernels:
    """Imports every module below `transforms`."""
    kernels = {
        f"{kernel.py_func.__module__}.{kernel.py_func.__name__}": kernel
        for module in pkgutil.walk_packages(transforms.__path__, "transforms.")
        for kernel in _kernels(importlib.import_module(module.name))
    }
    used = {name: kernel for name, kernel in kernels.items() if kernel.signatures}
    compiled = sorted(name for name, kernel in used.items() if not kernel.stats.cache_hits)
    return Kernels(len(used) - len(compiled), compiled)


def main(argv: list[str] | None = None) -> int:
    """Fills the cache, or checks that it is full.

    Returns:
      1 if `--check` was given and a kernel had to be compiled, else 0.
    """
    parser = argparse.ArgumentParser(description="Compile the numba kernels into their cache.")
    parser.add_argument("--check", action="store_true", help="fail if anything is compiled")
    arguments = parser.parse_args(argv)
    kernels = warm()
    _, cpu, _ = cpu_target.target_context.codegen().magic_tuple()
    print(f"kernels for {cpu}: {kernels.loaded} loaded, {len(kernels.compiled)} compiled")
    if arguments.check and kernels.compiled:
        print("not in the cache:", *kernels.compiled)
        return 1
    return 0


def _kernels(module: ModuleType) -> list[Dispatcher]:
    return [value for value in vars(module).values() if isinstance(value, Dispatcher)]


if __name__ == "__main__":
    raise SystemExit(main())
