"""What heavy steps count while they work, for whoever watches a run; see beam_pipeline/progress.

A runner may lose or repeat what is counted, so nothing that is kept is built from it: the ledger
travels as elements. Beam keeps the counts by transform, and Dataflow shows them at each.
"""

from apache_beam.metrics import Metrics

from transforms.counter_names import DOCUMENTS, INPUT_BYTES, NAMESPACE, RESUMED, TEXT_BYTES, TOKENS

_documents = Metrics.counter(NAMESPACE, DOCUMENTS)
_text_bytes = Metrics.counter(NAMESPACE, TEXT_BYTES)
_tokens = Metrics.counter(NAMESPACE, TOKENS)
_resumed = Metrics.counter(NAMESPACE, RESUMED)
_input_bytes = Metrics.counter(NAMESPACE, INPUT_BYTES)


def count(documents: int, text_bytes: int = 0, tokens: int = 0) -> None:
    """Counts what a DoFn has just worked on; once a batch, not once a document."""
    _documents.inc(documents)
    if text_bytes:
        _text_bytes.inc(text_bytes)
    if tokens:
        _tokens.inc(tokens)


def count_resumed(documents: int) -> None:
    """Counts documents whose work an earlier run has done."""
    _resumed.inc(documents)


def count_input(size: int) -> None:
    """Counts the `Piece.size` of a piece that a DoFn works on, whatever there is to do to it."""
    _input_bytes.inc(size)
