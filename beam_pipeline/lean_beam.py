"""Spares a graph that runs in this process what Beam does for graphs that travel.

Beam's own code is not changed; a few of its names stand for something lighter while a graph is
built and run here. Each costs more than a job on a small corpus has time for (benchmarks/README.md
has the figures), and none shows in what the graph computes. The version of Beam is pinned, and a
test fails if one of the names is gone.
"""

import contextlib
import functools
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.internal import cloudpickle_pickler
from apache_beam.runners.portability.fn_api_runner import worker_handlers
from apache_beam.runners.worker import statesampler
from apache_beam.transforms import core, userstate


class _NoSampler(statesampler.StateSampler):
    """Does not sample how long each step takes.

    Beam's has a thread for each bundle, which sleeps up to 200 ms at a time, and a bundle is not
    done before it has woken up.
    """

    def start(self) -> None:
        self.tracked_thread = threading.current_thread()
        statesampler.set_current_tracker(self)
        self.started = True

    def stop(self) -> None:
        statesampler.set_current_tracker(None)
        self.finished = True


class _Zlib:
    """Stands for bz2, which takes 1.6 ms to unpack a function of any size, and there are 250."""

    compress = staticmethod(lambda raw, compresslevel: zlib.compress(raw, 1))
    decompress = staticmethod(zlib.decompress)


_DoFnSpecs = tuple[set[userstate.StateSpec], set[userstate.TimerSpec]]
_read_dofn_specs = userstate.get_dofn_specs


@functools.cache
def _class_specs(dofn_class: type[beam.DoFn]) -> _DoFnSpecs:
    return _read_dofn_specs(dofn_class.__new__(dofn_class))


def _dofn_specs(dofn: beam.DoFn) -> _DoFnSpecs:
    """Looks for state and timers once a class.

    Beam looks at the signatures of all methods of every DoFn some eight times. A function that is
    wrapped into a DoFn may bring parameters of its own.
    """
    if not isinstance(dofn, core.CallableWrapperDoFn):
        # mypy takes the hash of a DoFn for that of its class.
        return _class_specs(type(dofn))  # type: ignore[arg-type]
    # State and timers are declared by defaults.
    return _read_dofn_specs(dofn) if getattr(dofn._fn, "__defaults__", True) else (set(), set())


_LIGHTER: tuple[tuple[Any, str, Any], ...] = (
    (userstate, "get_dofn_specs", _dofn_specs),
    (statesampler, "StateSampler", _NoSampler),
    (cloudpickle_pickler, "bz2", _Zlib),
    # A bundle reads a side input once; to keep it, Beam would measure it object by object.
    (worker_handlers, "STATE_CACHE_SIZE_MB", 0),
)


@contextlib.contextmanager
def lean() -> Iterator[None]:
    """Within it, a graph is built and run in this process the lighter way."""
    usual = [getattr(module, name) for module, name, _ in _LIGHTER]
    for module, name, lighter in _LIGHTER:
        setattr(module, name, lighter)
    try:
        yield
    finally:
        for (module, name, _), before in zip(_LIGHTER, usual, strict=True):
            setattr(module, name, before)
