"""Chooses who encodes: fastokens where its ids are those of Hugging Face tokenizers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from transforms.documents import TextBatch
from transforms.errors import InternalError, TokenizerError
from transforms.tokenizers import fetch
from transforms.tokenizers.encoders import Encoder, HFEncoder, load_encoder
from transforms.tokenizers.spec import Backend, BackendChoice, PreparedTokenizer

# Each is a place where tokenizers have been seen to differ: what counts as white space or as a
# digit, where a run is cut, how a character outside of the vocabulary falls back to bytes.
ADVERSARIAL = (
    "",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t\t \n\n \r\n x",
    " leading and trailing ",
    "a" + " " * 300 + "b",
    "\n" * 300,
    " \n" * 200,
    "    def f(x):\n\treturn x  # \\t\r\n",
    "one\r\ntwo\rthree\n\r\nfour",
    "no\u00a0break\u2009thin\u3000wide\u200bzero\ufeffmark",
    "line\u2028separator\u2029paragraph\u0085next\u000bvertical\u000cfeed",
    "nul\x00nul\x00\x00 \x01\x1b[0m\x7f",
    "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 🇩🇪🇫🇷 ❤️",
    "e\u0301 n\u0303 a\u0328\u0301 Z" + "\u0300\u0316" * 40,
    "ﬁ Å Å Ω ² ½ Ⅷ",
    "שלום עולם العربية ١٢٣ \u202bembedded\u202c",
    "汉字、かな。カタカナ 한국어 ไทย हिन्दी क्षत्रिय",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 \U0010ffff \ue000 \ufffd \ufffe",
    "0 00 000 0000 1234567890 3.14159 1,000,000 ٣٤٥ ५६७ x2y3",
    "I'm you're WE'LL they'd it’s 's 'S 'Tis rock'n'roll",
    "CamelCase snake_case kebab-case SCREAMING_CASE dotted.name a/b\\c",
    "!!!???...---===***###@@@$$$%%%^^^&&&((([[[{{{<<<>>>}}}])))",
    "x" * 5000,
    "ab" * 3000,
    "the " * 1000,
    "9" * 1000,
    "é" * 1000,
    "İı ſ ẞß ǅ Σς",
    "▁under▁▁score▁ ▁",
    "Ġhello Ċ â",
    "<0x0A><0xFF>",
    "<s>a</s><pad><unk><|endoftext|>[CLS][MASK]<think>b</think><|im_start|>user",
    "< s > <s <|endoftext| |> </ s><<s>>",
)


def choose_backend(
    prepared: PreparedTokenizer,
    sample: Sequence[str],
    asked: BackendChoice = "auto",
) -> tuple[Backend, str]:
    """Compares both backends on a sample and on texts made to tell them apart.

    Args:
      prepared: its rewritten JSON has been written to `prepared.path`.
      sample: texts of the real input; 2 MB of them take a second or two.
      asked: the recipe's backend.

    Returns:
      The backend, and why, for the log.

    Raises:
      TokenizerError: fastokens is asked for and its ids are not those of tokenizers, or the file
        at `prepared.path` cannot be read.
    """
    if prepared.backend == "bytes":
        return "bytes", "bytes are ids already"
    if asked == "tokenizers":
        return "tokenizers", "the recipe asks for it"
    tokenizer_json = fetch.read(prepared.path)
    reference = HFEncoder(prepared, tokenizer_json)
    texts = [*ADVERSARIAL, *_around(reference.added_tokens()), *sample]
    problem = _difference(prepared, reference, texts)
    if problem is None:
        return "fastokens", f"same ids as tokenizers on {len(texts)} texts"
    if asked == "fastokens":
        raise TokenizerError(
            f"tokenizer {prepared.name}: fastokens {problem}: set `backend: auto` to use tokenizers"
        )
    return "tokenizers", f"fastokens {problem}"


def _around(added_tokens: list[str]) -> list[str]:
    """Texts in which each added token of the tokenizer stands in different company."""
    return [
        text
        for content in added_tokens
        for text in (content, f"a{content}b", f" \n{content} {content}{content}\n")
    ]


def _difference(
    prepared: PreparedTokenizer, reference: HFEncoder, texts: Sequence[str]
) -> str | None:
    """What fastokens does differently on the texts, to follow its name in a message."""
    batch = TextBatch.from_strings(texts)
    try:
        fast = _encode_each(load_encoder(replace(prepared, backend="fastokens")), batch)
    except (ValueError, InternalError) as error:
        return f"cannot serve it ({error})"
    for text, fast_ids, ids in zip(texts, fast, _encode_each(reference, batch), strict=True):
        if not np.array_equal(fast_ids, ids):
            return f"gives other ids than tokenizers for {text[:60]!r}"
    return None


def _encode_each(encoder: Encoder, texts: TextBatch) -> list[np.ndarray]:
    ids, lengths = encoder.encode(texts)
    return np.split(ids, np.cumsum(lengths)[:-1])
