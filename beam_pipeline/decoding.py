"""From token ids back to text, with the tokenizer that a corpus keeps beside its shards."""

from collections.abc import Callable
from typing import Any

import numpy as np

from beam_pipeline.manifest import TOKENIZER
from transforms import storage

Decode = Callable[[np.ndarray], str]


def decoder(folder: str, manifest: dict[str, Any]) -> Decode:
    """What decodes the ids of a finished output; control tokens come out by name."""
    if manifest["tokenizer"]["name"] == "bytes":
        return lambda ids: ids.astype(np.uint8).tobytes().decode(errors="replace")
    from tokenizers import Tokenizer

    raw = storage.read_bytes(storage.join(folder, TOKENIZER))
    tokenizer = Tokenizer.from_str(raw.decode())
    return lambda ids: tokenizer.decode(ids.tolist(), skip_special_tokens=False)
