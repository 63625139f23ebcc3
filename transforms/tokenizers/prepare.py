"""Checks a recipe's tokenizer at launch and rewrites it so that texts cannot hold control tokens.

A tokenizer.json lists added tokens, which are matched in a text before the model sees it. Encoders
can leave those flagged special to the model as plain text; `prepare` therefore flags them all,
`<think>` and its like included. Taking them out of the list would do as well for the text, but it
would renumber the added tokens that stay: white space, which is text and is left as it is.
"""

import difflib
import hashlib
from pathlib import PurePosixPath
from typing import Any

import orjson
import tokenizers

from transforms.errors import TokenizerError
from transforms.tokenizers import fetch
from transforms.tokenizers.engines import load_tokenizers
from transforms.tokenizers.spec import Dtype, PreparedTokenizer, TokenizerSpec

UINT16_IDS = 1 << 16
BYTE_IDS = 256
SENTENCEPIECE_SPACE = "▁"


def prepare(spec: TokenizerSpec) -> tuple[PreparedTokenizer, bytes]:
    """Loads and checks the tokenizer; no text has been read yet.

    Returns:
      The tokenizer, with `backend` (but for bytes) and `path` still to be set, and the rewritten
      tokenizer.json, which the job writes to that path; empty for bytes.

    Raises:
      CloudError: the secret that holds the hub's token cannot be read.
      TokenizerError: it cannot be loaded, lacks a control token, could not mark where documents
        begin, writes a control token for plain text, or does not fit the pinned dtype.
    """
    if spec.kind == "bytes":
        return _prepare_bytes(spec), b""
    original = _load(spec)
    name = spec.location if spec.kind == "huggingface" else PurePosixPath(spec.location).name
    try:
        description = orjson.loads(original)
        rewritten = orjson.dumps(_rewrite(description))
        tokenizer = load_tokenizers(rewritten)
    except Exception as error:  # tokenizers raises nothing narrower
        raise TokenizerError(
            f"tokenizer {name} is not a tokenizer.json that the tokenizers library can load "
            f"({error}): save it with `Tokenizer.save`"
        ) from error
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    control = [token["content"] for token in description["added_tokens"] if token["special"]]
    ids, added = _resolve(spec, name, vocabulary, control)
    vocab_size = max(0, *vocabulary.values(), *ids.values()) + 1
    prepared = PreparedTokenizer(
        name=name,
        sha256=hashlib.sha256(original).hexdigest(),
        vocab_size=vocab_size,
        bos=spec.bos or "",
        eos=spec.eos or "",
        pad=spec.pad or "",
        bos_id=ids["bos"],
        eos_id=ids["eos"],
        pad_id=ids["pad"],
        added=tuple(added.items()),
        dtype=_dtype(spec, name, vocab_size),
        further=tuple((role, token, ids[role]) for role, token in spec.further),
    )
    _check_unreachable(prepared, tokenizer)
    return prepared, rewritten


def _prepare_bytes(spec: TokenizerSpec) -> PreparedTokenizer:
    return PreparedTokenizer(
        name="bytes",
        sha256=hashlib.sha256(b"").hexdigest(),
        vocab_size=BYTE_IDS + 3,
        bos="<bos>",
        eos="<eos>",
        pad="<pad>",
        bos_id=BYTE_IDS,
        eos_id=BYTE_IDS + 1,
        pad_id=BYTE_IDS + 2,
        added=(),
        dtype=spec.dtype or "uint16",
        backend="bytes",
    )


def _load(spec: TokenizerSpec) -> bytes:
    if spec.kind == "huggingface":
        return fetch.download(spec.location, spec.token_secret)
    return fetch.read(spec.location)


def _rewrite(description: dict[str, Any]) -> dict[str, Any]:
    """Flags control tokens special; drops what makes ids depend on more than the text."""
    for token in description.setdefault("added_tokens", []):
        if not _is_white_space(token["content"]):
            token["special"] = True
    description["truncation"] = None
    description["padding"] = None
    if "dropout" in description.get("model", {}):
        description["model"]["dropout"] = None
    return description


def _is_white_space(content: str) -> bool:
    return not content.replace(SENTENCEPIECE_SPACE, "").strip()


def _resolve(
    spec: TokenizerSpec, name: str, vocabulary: dict[str, int], control: list[str]
) -> tuple[dict[str, int], dict[str, int]]:
    """The ids of control tokens by role, and those of the names that were added, by name."""
    ids: dict[str, int] = {}
    added: dict[str, int] = {}
    lacking: dict[str, str] = {}
    free = max(vocabulary.values(), default=-1) + 1
    for role, token in spec.control():
        if not token:
            raise TokenizerError(f"tokenizer {name}: name its {role} token, as in `{role}: <name>`")
        if token in vocabulary:
            ids[role] = vocabulary[token]
        elif token in added:
            ids[role] = added[token]
        elif spec.add_missing:
            ids[role] = added[token] = free
            free += 1
        else:
            lacking[role] = token
    if lacking:
        raise _lacks(name, lacking, control, free)
    for role in ("eos", "pad"):
        if ids["bos"] == ids[role]:
            raise TokenizerError(
                f"tokenizer {name}: bos and {role} are both {spec.bos!r} (id {ids['bos']}), so "
                f"where documents begin could not be read back: give bos a name of its own, "
                f"with `add_missing: true` if the vocabulary lacks it"
            )
    return ids, added


def _lacks(name: str, lacking: dict[str, str], control: list[str], free: int) -> TokenizerError:
    if len(lacking) > 1:
        return TokenizerError(
            f"tokenizer {name} lacks the special tokens {', '.join(lacking.values())}: name others "
            "that it has, or set `add_missing: true` to give them free ids"
        )
    ((role, token),) = lacking.items()
    close = difflib.get_close_matches(token, control, cutoff=0.4) or control[:3]
    known = " and ".join(map(repr, close)) or "no control tokens"
    return TokenizerError(
        f"tokenizer {name} has no token {token!r} for {role}, but it has {known}: "
        f"name another, or set `add_missing: true` to give it the free id {free}"
    )


def _dtype(spec: TokenizerSpec, name: str, vocab_size: int) -> Dtype:
    if vocab_size <= UINT16_IDS:
        return spec.dtype or "uint16"
    if spec.dtype == "uint16":
        raise TokenizerError(
            f"tokenizer {name}: a vocabulary of {vocab_size} does not fit uint16 (at most "
            f"{UINT16_IDS}): leave `dtype` out, or set it to uint32"
        )
    return "uint32"


def _check_unreachable(prepared: PreparedTokenizer, tokenizer: tokenizers.Tokenizer) -> None:
    """Refuses a control token that the model itself writes for plain text.

    Not matching added tokens does not help where the model spells one: Unigram and WordLevel look
    up whole words such as `<s>` in their vocabulary, and any model does for an ordinary piece.
    """
    for role, token, id_ in prepared.control():
        spelled = tokenizer.decode([id_], skip_special_tokens=False)
        for text in (token, f"a{token}b", f"a {token} b", spelled):
            if id_ in tokenizer.encode(text, add_special_tokens=False).ids:
                raise TokenizerError(
                    f"tokenizer {prepared.name} writes its {role} token {token!r} (id {id_}) for "
                    f"the plain text {text!r}: choose a {role} that it keeps apart, such as a new "
                    f"name with `add_missing: true`"
                )
