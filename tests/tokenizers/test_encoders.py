import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from tokenizers import Tokenizer, processors

from tests.shared import needs_shared
from tests.tokenizers import samples
from transforms.documents import TextBatch
from transforms.errors import InternalError, TokenizerError
from transforms.tokenizers import encoders
from transforms.tokenizers.encoders import Encoder, FastokensEncoder, HFEncoder, load_encoder
from transforms.tokenizers.prepare import prepare
from transforms.tokenizers.spec import TokenizerSpec

both = pytest.mark.parametrize("make", [FastokensEncoder, HFEncoder])
LITERALS = [
    "a<|endoftext|>b",
    "<s>",
    "x</s><pad> <s>",
    "<think>hm</think>  so",
    "<｜begin▁of▁sentence｜><think>",
    "[INST] [/INST]",
]


def encode(encoder: Encoder, *texts: str) -> list[list[int]]:
    ids, lengths = encoder.encode(TextBatch.from_strings(texts))
    assert lengths.dtype == np.int64
    assert len(ids) == lengths.sum()
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])]


def test_bytes_are_their_own_ids():
    encoder = load_encoder(prepare(TokenizerSpec("bytes"))[0])
    assert encode(encoder, "ab", "", "é") == [[97, 98], [], [0xC3, 0xA9]]
    assert encoder.decode(np.array([97, 0xC3, 0xA9, 0xC3], np.uint16)) == "aé\ufffd"
    assert encoder.encode(TextBatch.from_strings(["ab"]))[0].dtype == np.uint16


@both
def test_ids_decode_to_the_text(tmp_path, make):
    encoder = make(*prepare(samples.small_spec(tmp_path)))
    texts = ["", *samples.TEXTS, "", "a\x00b\r\n\u2028 👩‍👧", *LITERALS, ""]
    assert [encoder.decode(np.array(ids, np.uint16)) for ids in encode(encoder, *texts)] == texts


@both
def test_no_texts_give_no_ids(tmp_path, make):
    ids, lengths = make(*prepare(samples.small_spec(tmp_path))).encode(TextBatch.from_strings([]))
    assert len(ids) == len(lengths) == 0


@both
@pytest.mark.parametrize(("dtype", "expected"), [(None, np.uint16), ("uint32", np.uint32)])
def test_ids_have_the_width_of_the_tokenizer(tmp_path, make, dtype, expected):
    encoder = make(*prepare(samples.small_spec(tmp_path, dtype=dtype)))
    assert encoder.encode(TextBatch.from_strings(["ab"]))[0].dtype == expected


@both
def test_control_tokens_in_a_text_are_plain_text(tmp_path, make):
    original = samples.small_tokenizer()
    control = {
        original.token_to_id(name) for name in ("<s>", "</s>", "<pad>", "<think>", "</think>")
    }
    assert control & {id_ for text in LITERALS for id_ in original.encode(text).ids}
    encoder = make(*prepare(samples.small_spec(tmp_path)))
    assert not control & {id_ for ids in encode(encoder, *LITERALS) for id_ in ids}


@both
def test_added_white_space_stays_a_token(tmp_path, make):
    tokenizer = samples.small_tokenizer()
    encoder = make(*prepare(samples.small_spec(tmp_path)))
    for content in ("    ", "\n\n"):
        [ids] = encode(encoder, f"a{content}<think>")
        assert ids[1] == tokenizer.token_to_id(content)


@both
def test_an_id_outside_of_the_vocabulary_is_an_internal_error(tmp_path, make):
    prepared, tokenizer_json = prepare(samples.small_spec(tmp_path))
    encoder = make(replace(prepared, vocab_size=10), tokenizer_json)
    with pytest.raises(InternalError, match="vocabulary of 10"):
        encode(encoder, "abc")


@both
def test_bos_inside_of_a_text_is_an_internal_error(tmp_path, make):
    prepared, tokenizer_json = prepare(samples.small_spec(tmp_path))
    letter = samples.small_tokenizer().token_to_id("z")
    encoder = make(replace(prepared, bos_id=letter), tokenizer_json)
    with pytest.raises(InternalError, match="bos"):
        encode(encoder, "zzz")


@both
def test_no_control_tokens_are_put_around_a_text(tmp_path, make):
    tokenizer = samples.small_tokenizer()
    template = {"single": "<s> $A </s>", "special_tokens": [("<s>", 0), ("</s>", 1)]}
    tokenizer.post_processor = processors.TemplateProcessing(**template)
    assert tokenizer.encode("ab").ids[0] == 0
    [ids] = encode(make(*prepare(samples.small_spec(tmp_path, tokenizer))), "ab")
    assert not {0, 1} & set(ids)


def ready(tmp_path, backend: str):
    return replace(
        samples.written(prepare(samples.small_spec(tmp_path)), tmp_path), backend=backend
    )


def test_a_process_loads_an_encoder_once_whatever_its_threads(tmp_path, monkeypatch):
    prepared = ready(tmp_path, "fastokens")
    loads = []
    start = threading.Barrier(8)
    make = encoders.FastokensEncoder
    monkeypatch.setattr(encoders, "FastokensEncoder", lambda *args: loads.append(1) or make(*args))

    def load(_: int) -> Encoder:
        start.wait()
        return load_encoder(prepared)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(map(id, pool.map(load, range(8))))) == 1
    assert len(loads) == 1


def test_threads_share_an_encoder(tmp_path):
    encoder = load_encoder(ready(tmp_path, "fastokens"))
    texts = [f"{text} {i}" for i, text in enumerate(samples.TEXTS * 50)]
    expected = [encode(encoder, text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: encode(encoder, text), texts)) == expected


def test_another_tokenizer_is_another_encoder(tmp_path):
    prepared = ready(tmp_path, "tokenizers")
    wide = load_encoder(replace(prepared, dtype="uint32"))
    assert load_encoder(prepared) is not wide
    assert wide.encode(TextBatch.from_strings(["a"]))[0].dtype == np.uint32


def test_what_is_not_ready_to_travel_is_refused(tmp_path):
    prepared = ready(tmp_path, "fastokens")
    with pytest.raises(InternalError, match="backend"):
        load_encoder(replace(prepared, backend=None))
    with pytest.raises(TokenizerError, match=r"gone\.json"):
        load_encoder(replace(prepared, path=str(tmp_path / "gone.json")))


@needs_shared
@both
@pytest.mark.parametrize("name", samples.REAL)
def test_real_tokenizers_write_no_control_token_for_text(name, make):
    prepared, tokenizer_json = prepare(samples.real_spec(name))
    added = Tokenizer.from_str(tokenizer_json.decode()).get_added_tokens_decoder()
    texts = [text for token in added.values() for text in (token.content, f"a{token.content}b")]
    produced = {id_ for ids in encode(make(prepared, tokenizer_json), *texts) for id_ in ids}
    assert not produced & added.keys()


@needs_shared
@pytest.mark.parametrize("name", samples.REAL)
def test_cut_anywhere_ids_decode_to_the_same_text_with_both(name):
    prepared = prepare(samples.real_spec(name))
    one, other = FastokensEncoder(*prepared), HFEncoder(*prepared)
    text = "  ".join((*samples.TEXTS, "👩‍👧 한국어 \n\n\t x"))
    ids, _ = one.encode(TextBatch.from_strings([text]))
    for start in range(len(ids)):
        for stop in (start + 1, start + 2, start + 9, len(ids)):
            assert one.decode(ids[start:stop]) == other.decode(ids[start:stop])


@needs_shared
@both
def test_gpt2_ids_are_those_of_gpt2(make):
    encoder = make(*prepare(samples.real_spec("gpt2_50257")))
    assert encode(encoder, "Hello world", "a<|endoftext|>b") == [
        [15496, 995],
        [64, 27, 91, 437, 1659, 5239, 91, 29, 65],
    ]
