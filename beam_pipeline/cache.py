"""Local copies of files on Google Cloud Storage, so that they can be mapped into memory.

A copy is named by its sha256, which the manifest gives: a file that was written anew has another
name, and what two corpora share is kept once. Nothing is ever removed.
"""

import hashlib
import os
from collections.abc import Iterator

from filelock import FileLock

from transforms import storage
from transforms.errors import OutputError

_BLOCK = 4 << 20


def default_folder() -> str:
    """`corpusbeam` in the user's cache folder, as XDG has it."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(caches, "corpusbeam")


def fetch(path: str, sha256: str, size: int, folder: str, verify: bool = False) -> str:
    """The path of a local copy, which is made if there is none; one process at a time makes it.

    Args:
      path: the file on gs://.
      sha256, size: hex digest and bytes that it must have.
      folder: of the cache.
      verify: look at the sha256 of a copy that is there, too, not at its size alone.

    Raises:
      OutputError: the file is not the one that was asked for.
    """
    copy = os.path.join(folder, sha256[:2], f"{sha256}.bin")
    if _is_whole(copy, sha256, size, verify):
        return copy
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    with FileLock(f"{copy}.lock"):
        if not _is_whole(copy, sha256, size, verify):
            storage.write_whole(copy, _checked(path, sha256))
    return copy


def sha256_of(path: str) -> str:
    """Hex digest of a file, local or on gs://."""
    digest = hashlib.sha256()
    for block in _blocks(path):
        digest.update(block)
    return digest.hexdigest()


def _is_whole(copy: str, sha256: str, size: int, verify: bool) -> bool:
    try:
        found = os.path.getsize(copy)
    except FileNotFoundError:
        return False
    return found == size and (not verify or sha256_of(copy) == sha256)


def _checked(path: str, sha256: str) -> Iterator[bytes]:
    """The bytes of a file; raises OutputError at its end if they are others than expected."""
    digest = hashlib.sha256()
    for block in _blocks(path):
        digest.update(block)
        yield block
    if digest.hexdigest() != sha256:
        raise OutputError(
            f"{path}: sha256 is {digest.hexdigest()}, not {sha256}: copy or build the folder again"
        )


def _blocks(path: str) -> Iterator[bytes]:
    with storage.open_read(path) as file:
        while block := file.read(_BLOCK):
            yield block
