"""Wall time, CPU time and memory of a command and all processes that it starts (Linux).

python -m benchmarks.measure LOG COMMAND...
"""

import ctypes
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_INTERVAL = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SHOWN_LINES = 15


@dataclass(frozen=True)
class Usage:
    """What a command took.

    Attributes:
      wall: seconds from its start to its end.
      cpu: seconds, user and system, of all its processes.
      rss: bytes, the largest sum of its processes' resident memory.
    """

    wall: float
    cpu: float
    rss: int


class CommandFailedError(Exception):
    """A measured command did not end well."""


def measure(command: Sequence[str], log: Path) -> Usage:
    """Runs a command under a process that does nothing else, its output going to a file.

    Raises:
      CommandFailedError: it failed; the message ends with the last lines of its output.
    """
    wrapper = [sys.executable, "-m", "benchmarks.measure", str(log), *command]
    done = subprocess.run(wrapper, stdout=subprocess.PIPE)
    if done.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:])
        raise CommandFailedError(f"{' '.join(command)} failed; see {log}\n{tail}")
    return Usage(**json.loads(done.stdout))


def main() -> int:
    log, *command = sys.argv[1:]
    # Servers that a command leaves behind become children of this process, and so count too.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    with open(log, "wb") as out, _Sampler() as sampler:
        start = time.perf_counter()
        child = os.posix_spawnp(
            command[0],
            command,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), fd) for fd in (1, 2)],
        )
        wall, cpu, rss, status = _wait_for_all(child, start)
    print(json.dumps(asdict(Usage(wall, cpu, max(rss, sampler.peak)))))
    return status


def _wait_for_all(main_child: int, start: float) -> tuple[float, float, int, int]:
    wall = cpu = 0.0
    rss = status = 0
    while True:
        try:
            pid, ended, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return wall, cpu, rss, status
        cpu += usage.ru_utime + usage.ru_stime
        # Exact where there is one process, and the samples may miss the top.
        rss = max(rss, usage.ru_maxrss * 1024)
        if pid == main_child:
            wall = time.perf_counter() - start
            status = os.waitstatus_to_exitcode(ended)


class _Sampler:
    """Samples the resident memory of this process's descendants.

    Attributes:
      peak: largest sum seen, in bytes.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "_Sampler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_INTERVAL):
            self.peak = max(self.peak, sum(map(_resident, _descendants(os.getpid()))))


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in path.read_text().split()]
        except OSError:  # ended meanwhile
            continue
        for child in children:
            found += [child, *_descendants(child)]
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:  # ended meanwhile
        return 0


if __name__ == "__main__":
    sys.exit(main())
