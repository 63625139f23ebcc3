"""Puts a checked tokenizer where workers load it from, and chooses who encodes."""

from collections.abc import Sequence
from dataclasses import replace

from transforms import storage
from transforms.tokenizers.agreement import choose_backend
from transforms.tokenizers.engines import load_tokenizers
from transforms.tokenizers.spec import BackendChoice, PreparedTokenizer


def settle(
    prepared: PreparedTokenizer,
    tokenizer_json: bytes,
    path: str,
    sample: Sequence[str],
    asked: BackendChoice,
) -> tuple[PreparedTokenizer, str]:
    """Writes the tokenizer and compares the backends; bytes needs neither.

    Args:
      prepared, tokenizer_json: from `prepare`.
      path: where the file goes.
      sample: texts of the real input.
      asked: "auto" takes fastokens where its ids are those of tokenizers.

    Returns:
      The tokenizer, ready to travel, and why its backend was chosen; nothing for bytes.

    Raises:
      TokenizerError: fastokens is asked for and its ids are not those of tokenizers.
    """
    if prepared.backend is not None:
        return prepared, ""
    storage.write_whole(path, tokenizer_json)
    prepared = replace(prepared, path=path)
    backend, reason = choose_backend(prepared, sample, asked)
    if backend != "tokenizers":
        # What the other is compared with has served.
        load_tokenizers.cache_clear()
    return replace(prepared, backend=backend), reason
