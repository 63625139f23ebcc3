"""Names of what steps count; Beam-free, for whoever shows it."""

NAMESPACE = "corpusbeam"
DOCUMENTS = "documents"
TEXT_BYTES = "text_bytes"
TOKENS = "tokens"
# Documents whose work an earlier run has done.
RESUMED = "documents_resumed"
# `Piece.size` of the pieces that a step is done with.
INPUT_BYTES = "input_bytes"
