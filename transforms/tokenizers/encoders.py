"""Encoders: from a batch of texts to one flat array of token ids."""

import threading
from typing import Protocol

import numpy as np

from transforms.documents import TextBatch
from transforms.errors import InternalError
from transforms.tokenizers import fetch
from transforms.tokenizers.engines import load_fastokens, load_tokenizers
from transforms.tokenizers.spec import PreparedTokenizer


class Encoder(Protocol):
    """Encodes texts; may be called from several threads at once."""

    def encode(self, texts: TextBatch) -> tuple[np.ndarray, np.ndarray]:
        """Encodes each text by itself, without control tokens.

        Returns:
          The ids of all texts one after the other, in the tokenizer's dtype [n_tokens], and how
          many each text has, int64 [n_texts].

        Raises:
          InternalError: an id is outside of the vocabulary, or is that of bos.
        """
        ...

    def decode(self, ids: np.ndarray) -> str:
        """The text of ids [n]; bytes that are not UTF-8, as at a cut, become U+FFFD."""
        ...


class BytesEncoder:
    """The ids of a text are its UTF-8 bytes."""

    def __init__(self, prepared: PreparedTokenizer):
        self._dtype = np.dtype(prepared.dtype)

    def encode(self, texts: TextBatch) -> tuple[np.ndarray, np.ndarray]:
        """See `Encoder`."""
        return texts.data.astype(self._dtype), texts.sizes()

    def decode(self, ids: np.ndarray) -> str:
        """See `Encoder`."""
        return ids.astype(np.uint8).tobytes().decode(errors="replace")


class FastokensEncoder:
    """Encodes with fastokens, outside of the GIL and on the caller's thread."""

    def __init__(self, prepared: PreparedTokenizer, tokenizer_json: bytes):
        self._prepared = prepared
        self._tokenizer = load_fastokens(tokenizer_json)

    def encode(self, texts: TextBatch) -> tuple[np.ndarray, np.ndarray]:
        """See `Encoder`."""
        ids, offsets = self._tokenizer.encode_batch_flat(
            texts.strings(), add_special_tokens=False, split_special_tokens=True
        )
        lengths = np.diff(np.frombuffer(offsets, "<u8").astype(np.int64))
        return _checked(np.frombuffer(ids, "<u4"), self._prepared), lengths

    def decode(self, ids: np.ndarray) -> str:
        """See `Encoder`."""
        return self._tokenizer.decode(ids.tolist(), skip_special_tokens=False)


class HFEncoder:
    """Encodes with Hugging Face tokenizers: the reference, and the way for models beyond BPE."""

    def __init__(self, prepared: PreparedTokenizer, tokenizer_json: bytes):
        self._prepared = prepared
        self._tokenizer = load_tokenizers(tokenizer_json)

    def added_tokens(self) -> list[str]:
        """What the tokenizer would take out of a text before the model sees it."""
        return [token.content for token in self._tokenizer.get_added_tokens_decoder().values()]

    def encode(self, texts: TextBatch) -> tuple[np.ndarray, np.ndarray]:
        """See `Encoder`."""
        encodings = self._tokenizer.encode_batch_fast(texts.strings(), add_special_tokens=False)
        lengths = np.fromiter(map(len, encodings), np.int64, len(encodings))
        ids = np.empty(int(lengths.sum()), np.uint32)
        stop = 0
        for encoding, length in zip(encodings, lengths.tolist(), strict=True):
            start, stop = stop, stop + length
            ids[start:stop] = encoding.ids
        return _checked(ids, self._prepared), lengths

    def decode(self, ids: np.ndarray) -> str:
        """See `Encoder`."""
        return self._tokenizer.decode(ids.tolist(), skip_special_tokens=False)


def _checked(ids: np.ndarray, prepared: PreparedTokenizer) -> np.ndarray:
    if len(ids) and int(ids.max()) >= prepared.vocab_size:
        raise InternalError(
            f"tokenizer {prepared.name} gave id {ids.max()} with a vocabulary of "
            f"{prepared.vocab_size}"
        )
    if (ids == prepared.bos_id).any():
        raise InternalError(f"tokenizer {prepared.name} gave bos {prepared.bos!r} inside of a text")
    return ids.astype(prepared.dtype, copy=False)


_encoders: dict[PreparedTokenizer, Encoder] = {}
_lock = threading.Lock()


def load_encoder(prepared: PreparedTokenizer) -> Encoder:
    """The encoder of a tokenizer that is ready to travel; made once in a process.

    Raises:
      InternalError: `prepared.backend` has not been chosen.
      TokenizerError: the file at `prepared.path` cannot be read.
    """
    with _lock:
        if prepared not in _encoders:
            _encoders[prepared] = _make(prepared)
        return _encoders[prepared]


def _make(prepared: PreparedTokenizer) -> Encoder:
    match prepared.backend:
        case "bytes":
            return BytesEncoder(prepared)
        case "fastokens":
            return FastokensEncoder(prepared, fetch.read(prepared.path))
        case "tokenizers":
            return HFEncoder(prepared, fetch.read(prepared.path))
    raise InternalError(f"tokenizer {prepared.name}: no backend has been chosen")
