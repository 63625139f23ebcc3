"""The only place that touches files: local paths, and `scheme://` ones through Beam's FileSystems.

Bytes are never decompressed or otherwise changed on the way. Beam is imported at the first use of
a remote path, so that local work does not pay for it.
"""

import contextlib
import glob as globbing
import io
import os
import shutil
import threading
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from apache_beam.io.filesystems import FileSystems

Buffer = bytes | bytearray | memoryview

# numpy parses a header with `ast`, which in CPython 3.11 may fail in two threads at once, with
# "SystemError: AST constructor recursion depth mismatch" (python/cpython#106905; seen here).
_HEADERS = threading.Lock()


def is_remote(path: str) -> bool:
    """Whether the path has a scheme, such as `gs://`."""
    return "://" in path


def join(folder: str, *parts: str) -> str:
    """The path of something inside a folder."""
    if is_remote(folder):
        return "/".join([folder.rstrip("/"), *parts])
    return os.path.join(folder, *parts)


def parent(path: str) -> str:
    """The folder that holds the path."""
    if is_remote(path):
        return path.rstrip("/").rpartition("/")[0]
    return os.path.dirname(path)


def exists(path: str) -> bool:
    """Whether there is a file (or, locally, a folder) of this name."""
    if is_remote(path):
        return _filesystems().exists(path)
    return os.path.exists(path)


def size(path: str) -> int:
    """Bytes of a file; raises FileNotFoundError where there is none."""
    if is_remote(path):
        if not exists(path):
            raise FileNotFoundError(path)
        return _filesystems().match([path])[0].metadata_list[0].size_in_bytes
    return os.path.getsize(path)


def fingerprint(path: str) -> str:
    """What changes when a file does: size and time of change, or an object's checksum."""
    if is_remote(path):
        return _filesystems().checksum(path)
    found = os.stat(path)
    return f"{found.st_size} bytes, changed at {found.st_mtime_ns}"


def expand(glob: str) -> list[tuple[str, int]]:
    """Paths and sizes in bytes of the files that a glob matches, sorted by path.

    A path that names a file is taken as it stands, brackets and all.
    """
    if is_remote(glob):
        found = _filesystems().match([glob])[0].metadata_list
        return sorted((entry.path, entry.size_in_bytes) for entry in found)
    paths = [glob] if os.path.isfile(glob) else globbing.glob(glob, recursive=True)
    return sorted((path, os.path.getsize(path)) for path in set(paths) if os.path.isfile(path))


def open_read(path: str) -> BinaryIO:
    """The file's raw bytes, seekable."""
    if is_remote(path):
        from apache_beam.io.filesystem import CompressionTypes

        return _filesystems().open(path, compression_type=CompressionTypes.UNCOMPRESSED)
    return open(path, "rb")


def read_bytes(path: str) -> bytes:
    """All bytes of a file."""
    with open_read(path) as file:
        return file.read()


def read_range(path: str, start: int, stop: int) -> bytes:
    """Bytes `start` to `stop` of a file; fewer where the file ends before."""
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

    Missing folders are made. Whatever `data` or the disk raises passes through, and leaves neither
    a part of the file nor a temporary one.
    """
    parts = [data] if isinstance(data, (bytes, bytearray, memoryview)) else data
    if is_remote(path):
        _write_remote(path, parts)
    else:
        _write_local(path, parts)


def remove_temporaries(folder: str) -> None:
    """Removes what `write_whole` leaves in a local folder when its process is killed."""
    if not is_remote(folder):
        for temporary in Path(folder).glob(".*.tmp"):
            temporary.unlink(missing_ok=True)


def _write_local(path: str, parts: Iterable[Buffer]) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder or ".", exist_ok=True)
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            for part in parts:
                file.write(part)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _write_remote(path: str, parts: Iterable[Buffer]) -> None:
    from apache_beam.io.filesystem import CompressionTypes

    filesystems = _filesystems()
    # An object store shows an object when its writer is closed, and a dropped writer closes
    # itself: what `parts` may raise has to be raised before there is a writer.
    parts = list(parts)
    file = filesystems.create(path, compression_type=CompressionTypes.UNCOMPRESSED)
    try:
        for part in parts:
            file.write(part)
        file.close()
    except BaseException:
        with contextlib.suppress(Exception):
            file.close()
        with contextlib.suppress(Exception):
            filesystems.delete([path])
        raise


def remove_file(path: str) -> None:
    """Removes a file; nothing happens where there is none."""
    if not exists(path):
        return
    if is_remote(path):
        _filesystems().delete([path])
    else:
        os.remove(path)


def remove_tree(path: str) -> None:
    """Removes a folder and all in it; nothing happens where there is none."""
    if is_remote(path):
        filesystems = _filesystems()
        found = filesystems.match([join(path, "**")])[0].metadata_list
        if found:
            filesystems.delete([entry.path for entry in found])
    else:
        with contextlib.suppress(FileNotFoundError):
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


def _filesystems() -> type["FileSystems"]:
    from apache_beam.io.filesystems import FileSystems

    return FileSystems
