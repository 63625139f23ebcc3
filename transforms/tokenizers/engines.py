"""The two libraries that encode, with a tokenizer loaded; the last one of each is kept.

Loading takes 0.1 to 0.3 seconds, and checks, comparison and encoders want the same ones.
"""

import functools
import os

import fastokens
import tokenizers


@functools.lru_cache(maxsize=1)
def load_tokenizers(tokenizer_json: bytes) -> tokenizers.Tokenizer:
    """A tokenizer of Hugging Face tokenizers that takes control tokens in a text for text.

    Raises:
      Exception: it is no tokenizer.json; the library has nothing narrower.
    """
    tokenizer = tokenizers.Tokenizer.from_str(tokenizer_json.decode())
    tokenizer.encode_special_tokens = True
    return tokenizer


@functools.lru_cache(maxsize=1)
def load_fastokens(tokenizer_json: bytes) -> fastokens.Tokenizer:
    """A tokenizer of fastokens that encodes on the thread of its caller.

    Raises:
      ValueError: fastokens does not have what the tokenizer needs.
    """
    # A runner has a bundle for every core already. Threads of fastokens' own would compete with
    # them: a sixth less text per CPU second, and no more in all.
    os.environ.setdefault("FASTOKENS_BPE_THREADS", "1")
    return fastokens.Tokenizer.from_json_str(tokenizer_json.decode())
