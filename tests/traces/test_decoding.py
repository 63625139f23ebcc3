"""From text through a real tokenizer and each layout, and back to text."""

from dataclasses import replace

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from beam_pipeline.train_tokenizer import train
from tests.traces.examples import LAYOUT
from transforms.documents import TextBatch
from transforms.tokenizers.encoders import FastokensEncoder, HFEncoder
from transforms.tokenizers.prepare import prepare
from transforms.tokenizers.spec import TokenizerSpec
from transforms.traces.example import Example
from transforms.traces.geometry import Geometry
from transforms.traces.layouts import KEPT, ExampleIds, encode
from transforms.traces.readback import texts
from transforms.traces.special_tokens import DEFAULT_NAMES, SpecialTokens, special_names

GEOMETRY = Geometry(seq_len=256, block=8, max_slots=20, sizes=(4, 16))

# What looks like a special token in a text stays text.
PIECES = st.sampled_from([*DEFAULT_NAMES.values(), "<size_4>"]) | st.text(max_size=20)
TEXTS = st.lists(PIECES, min_size=1, max_size=6).map("".join)
EXAMPLES = st.lists(
    st.builds(Example, TEXTS, st.lists(TEXTS, max_size=4).map(tuple), TEXTS), max_size=3
)


@pytest.fixture(scope="module", params=[FastokensEncoder, HFEncoder])
def tokenizer(request, tmp_path_factory):
    """An encoder, the special tokens, the vocabulary's size, and what decodes."""
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    samples = ["Let me see. 12 + 34 = 46, so the answer is 46.", "<think> and </think>"] * 4
    names = special_names(GEOMETRY.sizes)
    train(samples, 400, list(names.values())).save(str(path))
    spec = TokenizerSpec("file", str(path), bos="<s>", eos="</s>", pad="<pad>")
    prepared, rewritten = prepare(spec)
    decoder = tokenizers.Tokenizer.from_str(rewritten.decode())
    vocabulary = decoder.get_vocab()
    special = SpecialTokens.from_roles({role: vocabulary[name] for role, name in names.items()})
    encoder = request.param(replace(prepared, path=str(path)), rewritten)
    return encoder, special, prepared.vocab_size, decoder


@given(layout=LAYOUT, examples=EXAMPLES)
def test_texts_come_back_exactly(tokenizer, layout, examples):
    encoder, special, vocab_size, decoder = tokenizer
    flat = TextBatch.from_strings(text for example in examples for text in example.texts())
    ids, lengths = encoder.encode(flat)
    offsets = np.cumsum([0, *(len(example.texts()) for example in examples)])
    batch = ExampleIds(ids, np.r_[0, np.cumsum(lengths)], offsets)
    windows = encode(layout, batch, GEOMETRY, special)
    assert (windows.tokens < vocab_size).all()
    kept = np.flatnonzero(windows.outcomes == KEPT)
    for place, tokens, regions in zip(kept, windows.tokens, windows.regions, strict=True):
        problem, thoughts, answer = texts(tokens, regions, special)
        decoded = [
            decoder.decode(part.tolist(), skip_special_tokens=False)
            for part in (problem, *thoughts, answer)
        ]
        assert tuple(decoded) == examples[place].texts()
