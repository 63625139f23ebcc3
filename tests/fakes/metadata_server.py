"""Answers what google-auth asks the metadata server of a virtual machine.

Without one, Beam's GCS client waits half a minute for credentials in every process.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson

_TOKEN = {"access_token": "fake", "expires_in": 3600, "token_type": "Bearer"}
_ACCOUNT = {"email": "worker@example.com", "aliases": ["default"], "scopes": ["cloud-platform"]}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if "/token" in self.path:
            body = orjson.dumps(_TOKEN)
        elif "/service-accounts/" in self.path:
            body = orjson.dumps(_ACCOUNT)
        elif "universe" in self.path:
            body = b"googleapis.com"
        else:
            body = b"test-project"
        self.send_response(200)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", "application/json" if body[:1] == b"{" else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def metadata_server() -> Iterator[dict[str, str]]:
    """Runs the server; yields the environment with which google-auth finds it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    address = f"127.0.0.1:{server.server_port}"
    try:
        yield dict.fromkeys(("GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT"), address)
    finally:
        server.shutdown()
        server.server_close()
