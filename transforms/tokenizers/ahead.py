"""Loads a tokenizer on a thread of its own, while the process imports what it needs."""

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor

from transforms import storage
from transforms.tokenizers.engines import load_fastokens
from transforms.tokenizers.prepare import prepare
from transforms.tokenizers.spec import PreparedTokenizer, TokenizerSpec

_ahead: dict[TokenizerSpec, Future[tuple[PreparedTokenizer, bytes]]] = {}


def prepare_ahead(spec: TokenizerSpec) -> None:
    """Starts to prepare a tokenizer that `prepared` will be asked for.

    One that Google's clients have to read, or its token, waits until Beam is imported: two threads
    that import them would meet modules that are only half there, and Beam's options, which say as
    whom they read, are not known yet.
    """
    if spec.token_secret is not None or storage.is_remote(spec.location):
        return
    pool = ThreadPoolExecutor(1)
    _ahead[spec] = pool.submit(_prepare, spec)
    pool.shutdown(wait=False)


def prepared(spec: TokenizerSpec) -> tuple[PreparedTokenizer, bytes]:
    """See `prepare`; takes what `prepare_ahead` has been asked to make."""
    started = _ahead.pop(spec, None)
    return started.result() if started else prepare(spec)


def _prepare(spec: TokenizerSpec) -> tuple[PreparedTokenizer, bytes]:
    done = prepare(spec)
    if spec.kind != "bytes":
        # What fastokens cannot load is found out again, and told, where the backends are compared.
        with contextlib.suppress(ValueError):
            load_fastokens(done[1])
    return done
