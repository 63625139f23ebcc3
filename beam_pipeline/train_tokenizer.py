"""Trains a byte-level BPE tokenizer on the documents of a recipe's sources."""

from collections.abc import Iterator, Sequence

from tokenizers import Tokenizer

from transforms import readers, storage
from transforms.documents import RowBatch
from transforms.errors import SourceError
from transforms.readers.planning import plan
from transforms.sources import SourceSpec
from transforms.tokenizers.train import train

MAX_BYTES = 256 << 20


def train_from_sources(
    specs: Sequence[SourceSpec], vocab_size: int, output_path: str, max_bytes: int = MAX_BYTES
) -> Tokenizer:
    """Trains on documents of the sources and writes the tokenizer.json.

    Args:
      output_path: where to write it; local or with a scheme such as `gs://`.
      max_bytes: how much text to read at most, an equal share from each source. A source that has
        more gives its first documents, so that then the order of its files matters.

    Raises:
      SourceError: a source cannot be read, or there is no text in any.
    """
    share = max_bytes // len(specs)
    texts = (text for place, spec in enumerate(specs) for text in _texts(place, spec, share))
    tokenizer = train(_not_empty(texts), vocab_size)
    storage.write_whole(output_path, tokenizer.to_str().encode())
    return tokenizer


def _texts(place: int, spec: SourceSpec, max_bytes: int) -> Iterator[str]:
    """The first documents of a source, up to the one that reaches the limit."""
    left = max_bytes
    planned = plan(place, spec, 0)
    for piece in planned.pieces:
        for batch in readers.read(piece, planned.spec):
            if not isinstance(batch, RowBatch):
                continue
            for text in batch.texts.bytes_list():
                if left <= 0:
                    return
                yield text.decode()
                left -= len(text)


def _not_empty(texts: Iterator[str]) -> Iterator[str]:
    """The same texts, if there are any.

    Raises:
      SourceError: there are none.
    """
    first = next(texts, None)
    if first is None:
        raise SourceError(
            "no source has a document to train the tokenizer on: check `files` and `text_column`"
        )
    yield first
    yield from texts
