"""Objects on Google Cloud Storage, `gs://bucket/name`, through Beam's client.

The client tries each request again for two minutes where the service answers 408, 429 or 5xx or a
connection is lost, and every request made here may be repeated. Beam is imported at the first use.
"""

import contextlib
import errno
import io
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, BinaryIO, cast

from transforms import credentials
from transforms.errors import CloudError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from apache_beam.io.gcp.gcsio import GcsIO

SCHEME = "gs://"

# Sequential reading asks for so much at a time: a piece of a large file is about as long, and
# Beam's 16 MB would fetch each byte of such a file four times.
READ_BYTES = 4 << 20
# A writer holds what it is given at once, besides the 16 MB of a request.
_WRITE_BYTES = 4 << 20
# Answers for an upload that the service does not know (any more), or knows otherwise: among other
# reasons because an answer was lost. Google asks to start anew.
_LOST_UPLOAD = (400, 404, 410)
_UPLOADS = 3
_DELETED_AT_ONCE = 100
_CONCURRENT_DELETES = 16

_MAGIC = re.compile(r"[*?[]")
_WHOLE_PATH = re.compile(r"gs://[^/]+/.+", re.DOTALL)

# Beam makes a client for each request, and each client would ask for its bucket on the side, for
# traces that nobody collects: twice the requests.
_NO_BUCKET_REQUESTS = "DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA"


def exists(path: str) -> bool:
    """Whether there is an object of this name."""
    with _told(path):
        return _client(path).exists(path)


def size(path: str) -> int:
    """Stored bytes of an object; raises FileNotFoundError where there is none."""
    with _told(path):
        return _client(path).size(path)


def fingerprint(path: str) -> str:
    """An object's crc32c; raises FileNotFoundError where there is none."""
    with _told(path):
        return _client(path).checksum(path)


def expand(glob: str) -> list[tuple[str, int]]:
    """Names and sizes of the objects that a glob matches, sorted by name.

    A path that names an object is taken as it stands. What the console makes to show an empty
    folder, an object whose name ends with a slash, is left out.
    """
    try:
        return [(glob, size(glob))]
    except FileNotFoundError:
        if not _MAGIC.search(glob):
            return []
    from apache_beam.io.filesystems import FileSystems

    with _told(glob, "list"):
        found = FileSystems.match([glob])[0].metadata_list
    return sorted(
        (entry.path, entry.size_in_bytes) for entry in found if not entry.path.endswith("/")
    )


def check_bucket(path: str) -> None:
    """Raises CloudError where there is no bucket for an object of this name."""
    with _told(path, "list"):
        next(_client(path).list_files(path), None)


def is_empty(folder: str) -> bool:
    """Whether there is no object below a folder."""
    prefix = f"{folder.rstrip('/')}/"
    with _told(prefix, "list"):
        return next(_client(prefix).list_files(prefix), None) is None


def open_read(path: str) -> BinaryIO:
    """The stored bytes of an object, seekable, whatever its Content-Encoding says."""
    return cast(BinaryIO, io.BufferedReader(_Reader(path), READ_BYTES))


def read_range(path: str, start: int, stop: int) -> bytes:
    """Bytes `start` to `stop` of an object, asked for at once; fewer where it ends before."""
    file = _Reader(path)
    file.seek(start)
    return file.read(stop - start) or b""


def write(path: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
    """Writes an object that appears whole or not at all, holding some parts of it at a time.

    An object is visible once the last request of its upload is answered, and that request is not
    made before `parts` has ended. What was there before stays until then.

    Args:
      parts: where they are no iterator, an upload that the service has lost is started anew.
    """
    for attempt in range(1, _UPLOADS + 1):
        try:
            _upload(path, parts)
        except Exception as error:
            lost = error.__cause__ is not None and _status(error.__cause__) in _LOST_UPLOAD
            if not lost or attempt == _UPLOADS or isinstance(parts, Iterator):
                raise
        else:
            return


def _upload(path: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
    with _told(path, "write"):
        file = _client(path).open(path, "wb")
    try:
        for part in parts:
            view = memoryview(part).cast("B")
            for start in range(0, len(view), _WRITE_BYTES):
                with _told(path, "write"):
                    file.write(view[start : start + _WRITE_BYTES])
        with _told(path, "write"):
            file.close()
    except BaseException:
        # A writer that is dropped closes itself, and closing publishes what it was given so far.
        file.close = _nothing
        with contextlib.suppress(Exception):
            file.terminate()
        raise


def remove(path: str) -> None:
    """Removes an object; nothing happens where there is none."""
    with _told(path, "write"):
        _client(path).delete(path)


def remove_tree(folder: str) -> None:
    """Removes all objects below a folder; nothing happens where there are none."""
    prefix = f"{folder.rstrip('/')}/"
    with _told(prefix, "list"):
        names = [name for name, _ in _client(prefix).list_files(prefix)]
    batches = [
        names[start : start + _DELETED_AT_ONCE] for start in range(0, len(names), _DELETED_AT_ONCE)
    ]
    with ThreadPoolExecutor(_CONCURRENT_DELETES) as pool:
        for failed in pool.map(_remove_batch, batches):
            if failed:
                raise CloudError(f"{failed[0][0]} could not be removed (status {failed[0][1]})")


def _remove_batch(names: list[str]) -> list[tuple[str, int]]:
    with _told(names[0], "write"):
        try:
            return [entry for entry in _client(names[0]).delete_batch(names) if entry[1]]
        except AttributeError as error:
            # Beam takes it for an answer that there was none.
            raise CloudError(f"{names[0]} and others could not be removed: no answer") from error


class _Reader(io.RawIOBase):
    """An object's bytes, as of when it was opened; each read is one request."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        with _told(path):
            self._file = _client(path).open(path, "rb", read_buffer_size=1)
            self._size = self._file.seek(0, os.SEEK_END)
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        raw = self._fetch(len(view))
        view[: len(raw)] = raw
        return len(raw)

    def readall(self) -> bytes:
        return self._fetch(self._size)

    def _fetch(self, count: int) -> bytes:
        count = min(count, self._size - self._place)
        if count <= 0:
            return b""
        with _told(self._path, "read on"):
            self._file.seek(self._place)
            raw = self._file.read(count)
        self._place += len(raw)
        return raw


def _client(path: str) -> "GcsIO":
    """Beam's client with the options of the running job, which its file system keeps."""
    if not _WHOLE_PATH.fullmatch(path):
        raise CloudError(f"{path!r} names no object: give a path such as gs://bucket/folder/file")
    credentials.require()
    os.environ.setdefault(_NO_BUCKET_REQUESTS, "true")
    from apache_beam.io.filesystems import FileSystems

    return FileSystems.get_filesystem(path)._gcsIO()  # type: ignore[attr-defined]


@contextlib.contextmanager
def _told(path: str, doing: str = "read") -> Iterator[None]:
    """Turns what the client raises into FileNotFoundError or one line for people."""
    try:
        yield
    except (CloudError, FileNotFoundError):
        raise
    except Exception as error:
        if not isinstance(error, _client_errors()):
            raise
        raise _explained(path, doing, error) from error


def _client_errors() -> tuple[type[Exception], ...]:
    """Errors of the service, of the way to it, and NotImplementedError of what Beam cannot read."""
    from apache_beam.io.filesystem import BeamIOError
    from google.api_core.exceptions import GoogleAPIError
    from google.auth.exceptions import GoogleAuthError
    from google.cloud.storage.exceptions import InvalidResponse

    # Beam says NotImplementedError of objects that it cannot read; requests' errors are OSError.
    return (
        GoogleAPIError,
        GoogleAuthError,
        InvalidResponse,
        BeamIOError,
        NotImplementedError,
        OSError,
    )


def _explained(path: str, doing: str, error: Exception) -> Exception:
    from google.auth.exceptions import GoogleAuthError

    cause = _cause(error)
    status = _status(cause)
    bucket = "/".join(path.split("/")[:3])
    reason = _reason(cause)
    if isinstance(cause, NotImplementedError):
        return CloudError(
            f"{path} has Content-Encoding gzip and a Content-Type that says gzip too, which cannot "
            f"be read: run `gcloud storage objects update {path} --content-type=text/plain`"
        )
    if status == 404 and doing == "read":
        return FileNotFoundError(errno.ENOENT, "no such object", path)
    if status == 404 and doing == "read on":
        return CloudError(f"{path} was changed or removed while it was read: start again")
    if status == 404:
        return CloudError(f"{path}: there is no bucket {bucket}: check its name, or create it")
    if status == 403:
        return CloudError(
            f"{path}: no permission ({reason}): ask for the role Storage Object User on {bucket}"
        )
    if status == 401 or isinstance(cause, GoogleAuthError):
        return CloudError(
            f"{path}: the credentials were not accepted ({reason}): {credentials.SIGN_IN}"
        )
    return CloudError(
        f"{path}: Google Cloud Storage cannot {doing} it now ({type(cause).__name__}: {reason}): "
        "try again later; a job goes on with --resume"
    )


def _cause(error: Exception) -> Exception:
    """What lies at the bottom of an error of Beam's file systems, or of a retry that gave up."""
    from apache_beam.io.filesystem import BeamIOError
    from google.api_core.exceptions import RetryError

    if isinstance(error, BeamIOError) and error.exception_details:
        inner = next(iter(error.exception_details.values()))
        return _cause(inner) if isinstance(inner, Exception) else error
    if isinstance(error, RetryError) and isinstance(error.cause, Exception):
        return error.cause
    return error


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    status = getattr(error, "code", None) or getattr(response, "status_code", None)
    return int(status) if isinstance(status, int) else None


def _reason(error: Exception) -> str:
    """What the service says, else what the client says."""
    try:
        said = error.response.json()["error"]["message"]  # type: ignore[attr-defined]
    except (AttributeError, LookupError, TypeError, ValueError):
        status = _status(error)
        said = f"status {status}" if status else str(error)
    return str(said).strip().partition("\n")[0][:300]


def _nothing() -> None:
    pass
