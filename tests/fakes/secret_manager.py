"""Google's Secret Manager on loopback: the one call that reads a secret."""

import base64
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

import orjson

from transforms import credentials, hub_token


@contextmanager
def secret_manager(secrets: Mapping[str, bytes | int]) -> Iterator[list[str]]:
    """Serves secrets to this process, which is taken to have credentials.

    Args:
      secrets: by name of a version: what it holds, or the status with which it is refused.

    Yields:
      the names that were asked for so far.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.partition("?")[0].removeprefix("/v1/").removesuffix(":access")
            asked.append(name)
            held = secrets.get(name, 404)
            if isinstance(held, bytes):
                status = 200
                answer = {"name": name, "payload": {"data": base64.b64encode(held).decode()}}
            else:
                status = held
                answer = {"error": {"code": held, "message": "the service says no"}}
            body = orjson.dumps(answer)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()

    def client() -> object:
        from google.auth.credentials import AnonymousCredentials
        from google.cloud.secretmanager import SecretManagerServiceClient

        return SecretManagerServiceClient(
            transport="rest",
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": f"http://127.0.0.1:{server.server_port}"},
        )

    hub_token.fetch.cache_clear()
    try:
        with (
            mock.patch.object(hub_token, "_client", client),
            mock.patch.object(credentials, "_found", True),
        ):
            yield asked
    finally:
        hub_token.fetch.cache_clear()
        server.shutdown()
        server.server_close()
