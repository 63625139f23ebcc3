import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.shared import needs_shared
from tests.tokenizers import samples
from transforms.documents import TextBatch
from transforms.errors import TokenizerError
from transforms.tokenizers import agreement, encoders
from transforms.tokenizers.agreement import choose_backend
from transforms.tokenizers.encoders import FastokensEncoder, HFEncoder
from transforms.tokenizers.prepare import prepare
from transforms.tokenizers.spec import TokenizerSpec


def test_equal_ids_choose_fastokens(tmp_path):
    prepared = samples.written(prepare(samples.small_spec(tmp_path)), tmp_path)
    backend, reason = choose_backend(prepared, samples.TEXTS)
    assert backend == "fastokens"
    assert "same ids" in reason


def test_the_sample_alone_can_tell_them_apart(tmp_path, monkeypatch):
    prepared = samples.written(prepare(samples.small_spec(tmp_path)), tmp_path)

    class Differs(FastokensEncoder):
        def encode(self, texts: TextBatch):
            ids, lengths = super().encode(texts)
            return (ids[::-1], lengths) if b"sat on" in texts.data.tobytes() else (ids, lengths)

    monkeypatch.setattr(encoders, "FastokensEncoder", Differs)
    assert choose_backend(prepared, [])[0] == "fastokens"
    backend, reason = choose_backend(prepared, ["the cat sat on the mat"])
    assert backend == "tokenizers"
    assert "other ids" in reason
    with pytest.raises(TokenizerError, match=r"other ids than tokenizers for .*backend: auto"):
        choose_backend(prepared, ["the cat sat on the mat"], "fastokens")


def test_a_model_beyond_fastokens_goes_to_tokenizers(tmp_path):
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    spec = samples.small_spec(tmp_path, tokenizer, add_missing=True)
    prepared = samples.written(prepare(spec), tmp_path)
    backend, reason = choose_backend(prepared, samples.TEXTS)
    assert backend == "tokenizers"
    assert "cannot serve it" in reason
    with pytest.raises(TokenizerError, match="cannot serve it"):
        choose_backend(prepared, samples.TEXTS, "fastokens")


def test_the_recipe_can_ask_for_tokenizers(tmp_path):
    prepared = samples.written(prepare(samples.small_spec(tmp_path)), tmp_path)
    assert choose_backend(prepared, [], "tokenizers")[0] == "tokenizers"


def test_bytes_need_no_choice():
    assert choose_backend(prepare(TokenizerSpec("bytes"))[0], [])[0] == "bytes"


SEEDS = ["<s>", "</s>", "<think>", "<|endoftext|>", "[INST]", "\u200d", "👩", "\u0301", "ש", "▁"]
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(SEEDS),
        st.text(alphabet=" \t\r\n\u00a0\u2028\u0085\u3000", max_size=12),
        st.text(alphabet="0123456789.,'stIlm ", max_size=12),
    ),
    max_size=8,
).map("".join)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    prepared = prepare(samples.small_spec(tmp_path_factory.mktemp("small")))
    return FastokensEncoder(*prepared), HFEncoder(*prepared)


def assert_equal(pair: tuple[FastokensEncoder, HFEncoder], texts: list[str]) -> None:
    batch = TextBatch.from_strings(texts)
    (fast_ids, fast_lengths), (ids, lengths) = (encoder.encode(batch) for encoder in pair)
    assert fast_lengths.tolist() == lengths.tolist()
    assert fast_ids.tolist() == ids.tolist()


@given(st.lists(TEXTS, max_size=5))
@settings(max_examples=200, deadline=None)
def test_small_tokenizer_agrees_on_any_text(pair, texts):
    assert_equal(pair, texts)


@pytest.fixture(scope="module", params=samples.REAL)
def real_pair(request):
    prepared = prepare(samples.real_spec(request.param))
    return FastokensEncoder(*prepared), HFEncoder(*prepared)


@needs_shared
@given(texts=st.lists(TEXTS, max_size=5))
@settings(max_examples=100, deadline=None)
def test_real_tokenizers_agree_on_any_text(real_pair, texts):
    assert_equal(real_pair, texts)


@needs_shared
def test_real_tokenizers_agree_on_real_documents(real_pair):
    assert_equal(real_pair, [*samples.bench_documents(every=80), *agreement.ADVERSARIAL])
