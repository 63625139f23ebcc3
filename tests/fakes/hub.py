"""The Hugging Face hub on loopback: one file of a gated repository, for the real client."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

_FILE = "{repo_id}/resolve/{revision}/{filename}"


@contextmanager
def gated_repo(repo: str, file: Path, token: str, cache: Path) -> Iterator[list[str | None]]:
    """Serves a file to who has the token.

    Args:
      repo: `owner/name`.
      token: others get the answer that the hub has for gated repositories.
      cache: where the client keeps what it has downloaded.

    Yields:
      the tokens with which the file was asked for so far.
    """
    asked: list[str | None] = []
    content = file.read_bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.answer():
                self.wfile.write(content)

        def do_HEAD(self) -> None:
            self.answer()

        def answer(self) -> bool:
            # The client asks for other things too, which are not under test.
            found = self.path == f"/{repo}/resolve/main/{file.name}"
            if found:
                given = self.headers.get("Authorization")
                asked.append(given and given.removeprefix("Bearer "))
            allowed = found and asked[-1] == token
            self.send_response(200 if allowed else 401 if found else 404)
            if allowed:
                self.send_header("ETag", hashlib.sha256(content).hexdigest())
                self.send_header("X-Repo-Commit", "0" * 40)
                self.send_header("Content-Length", str(len(content)))
            else:
                self.send_header("X-Error-Code", "GatedRepo" if found else "RepoNotFound")
                self.send_header("Content-Length", "0")
            self.end_headers()
            return allowed

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    constants = "huggingface_hub.constants"
    try:
        with (
            mock.patch(f"{constants}.ENDPOINT", address),
            mock.patch(f"{constants}.HUGGINGFACE_CO_URL_TEMPLATE", f"{address}/{_FILE}"),
            mock.patch(f"{constants}.HF_HUB_CACHE", str(cache)),
        ):
            yield asked
    finally:
        server.shutdown()
        server.server_close()
