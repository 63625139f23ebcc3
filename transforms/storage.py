"""The only place that touches files: local paths here, `gs://` ones in `transforms.objects`.

Bytes are never decompressed or otherwise changed on the way.
"""

import contextlib
import glob as globbing
import io
import os
import posixpath
import re
import shutil
import threading
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from transforms import objects
from transforms.errors import CloudError, OutputError

Buffer = bytes | bytearray | memoryview

# numpy parses a header with `ast`, which in CPython 3.11 may fail in two threads at once, with
# "SystemError: AST constructor recursion depth mismatch" (python/cpython#106905; seen here).
_HEADERS = threading.Lock()

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def is_remote(path: str) -> bool:
    """Whether the path is on Google Cloud Storage.

    Raises:
      CloudError: it has another scheme.
    """
    if path.startswith(objects.SCHEME):
        return True
    if _SCHEME.match(path):
        raise CloudError(
            f"{path} is neither a local path nor on Google Cloud Storage (gs://bucket/name)"
        )
    return False


def join(folder: str, *parts: str) -> str:
    """The path of something inside a folder."""
    if is_remote(folder):
        return "/".join([folder.rstrip("/"), *parts])
    return os.path.join(folder, *parts)


def relative_to(folder: str, path: str) -> str:
    """A path that starts at a folder, unless it is absolute or on Google Cloud Storage."""
    if is_remote(path) or os.path.isabs(path):
        return path
    if is_remote(folder):
        # To a bucket `..` is a name like any other.
        place = join(folder, path).removeprefix(objects.SCHEME)
        return objects.SCHEME + posixpath.normpath(place)
    return join(folder, path)


def nearby(path: str) -> str:
    """An absolute path as seen from the current folder, where that is shorter; for people."""
    return min(path, os.path.relpath(path), key=len) if os.path.isabs(path) else path


def parent(path: str) -> str:
    """The folder that holds the path; that of a bucket is itself."""
    if is_remote(path):
        place, slash, _ = path.rstrip("/").removeprefix(objects.SCHEME).rpartition("/")
        return objects.SCHEME + place if slash else path
    return os.path.dirname(path)


def exists(path: str) -> bool:
    """Whether there is a file (or, locally, a folder) of this name."""
    if is_remote(path):
        return objects.exists(path)
    return os.path.exists(path)


def check_bucket(path: str) -> None:
    """Tells a missing bucket from a missing object; nothing happens for a local path.

    Raises:
      CloudError: there is no bucket for the path.
    """
    if is_remote(path):
        objects.check_bucket(path)


def size(path: str) -> int:
    """Bytes of a file; raises FileNotFoundError where there is none."""
    if is_remote(path):
        return objects.size(path)
    return os.path.getsize(path)


def fingerprint(path: str) -> str:
    """What changes when a file does: size and time of change, or an object's checksum."""
    if is_remote(path):
        return objects.fingerprint(path)
    found = os.stat(path)
    return f"{found.st_size} bytes, changed at {found.st_mtime_ns}"


def expand(glob: str) -> list[tuple[str, int]]:
    """Paths and sizes in bytes of the files that a glob matches, sorted by path.

    A path that names a file is taken as it stands, brackets and all.
    """
    if is_remote(glob):
        return objects.expand(glob)
    paths = [glob] if os.path.isfile(glob) else globbing.glob(glob, recursive=True)
    return sorted((path, os.path.getsize(path)) for path in set(paths) if os.path.isfile(path))


def is_empty(folder: str) -> bool:
    """Whether no file is below a folder, or there is no such folder."""
    if is_remote(folder):
        return objects.is_empty(folder)
    return not any(files for _, _, files in os.walk(folder))


def open_read(path: str) -> BinaryIO:
    """The file's raw bytes, seekable."""
    if is_remote(path):
        return objects.open_read(path)
    return open(path, "rb")


def read_bytes(path: str) -> bytes:
    """All bytes of a file."""
    with open_read(path) as file:
        return file.read()


def read_range(path: str, start: int, stop: int) -> bytes:
    """Bytes `start` to `stop` of a file; fewer where the file ends before."""
    if is_remote(path):
        return objects.read_range(path, start, stop)
    with open_read(path) as file:
        file.seek(start)
        return file.read(stop - start)


def read_ranges(path: str, ranges: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """The bytes of each range (start, stop) of a file, which is opened once.

    Raises:
      EOFError: the file ends within a range.
    """
    with open_read(path) as file:
        for start, stop in ranges:
            file.seek(start)
            raw = file.read(stop - start)
            if len(raw) != stop - start:
                raise EOFError(f"{path} ends before byte {stop}")
            yield raw


def write_whole(path: str, data: Buffer | Iterable[Buffer]) -> None:
    """Writes a file that appears under its name whole or not at all.

    Missing folders are made. A failure leaves neither a part of the file nor a temporary one.

    Raises:
      OutputError: a local file cannot be written: no right to, no room, a file for a folder.
      CloudError: an object cannot be written.
      Exception: whatever `data` raises.
    """
    parts = [data] if isinstance(data, (bytes, bytearray, memoryview)) else data
    if is_remote(path):
        objects.write(path, parts)
    else:
        _write_local(path, parts)


def remove_temporaries(folder: str) -> None:
    """Removes what `write_whole` leaves in a local folder when its process is killed."""
    if not is_remote(folder):
        for temporary in Path(folder).glob(".*.tmp"):
            temporary.unlink(missing_ok=True)


def _write_local(path: str, parts: Iterable[Buffer]) -> None:
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{uuid.uuid4().hex}.tmp")
    with _told(path, "written"):
        os.makedirs(folder or ".", exist_ok=True)
        # Closed below, as closing may find the disk full and `parts` may fail for other reasons.
        file = open(temporary, "xb")  # noqa: SIM115
    try:
        for part in parts:
            with _told(path, "written"):
                file.write(part)
        with _told(path, "written"):
            file.close()
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()
        Path(temporary).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _told(path: str, done: str) -> Iterator[None]:
    """Makes one line for people of what the system says of a local path."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path} cannot be {done} ({error.strerror or error}): check the path, your rights to "
            "it and the room on its disk"
        ) from error


def remove_file(path: str) -> None:
    """Removes a file; nothing happens where there is none."""
    if is_remote(path):
        objects.remove(path)
    else:
        with _told(path, "removed"):
            Path(path).unlink(missing_ok=True)


def remove_tree(path: str) -> None:
    """Removes a folder and all in it; nothing happens where there is none."""
    if is_remote(path):
        objects.remove_tree(path)
    else:
        with _told(path, "removed"), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)


def load_array(path: str) -> np.ndarray:
    """The array of an npy file; memory-mapped and read-only where the file is local."""
    file = io.BytesIO(read_bytes(path)) if is_remote(path) else path
    with _HEADERS:
        return np.load(file, None if is_remote(path) else "r", allow_pickle=False)


def save_array(path: str, array: np.ndarray) -> None:
    """Writes an npy file, whole or not at all."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    write_whole(path, buffer.getbuffer())
