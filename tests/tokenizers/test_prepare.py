import pickle
import re

import orjson
import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers

from tests.shared import needs_shared
from tests.tokenizers import samples
from transforms.errors import TokenizerError
from transforms.tokenizers import fetch
from transforms.tokenizers.prepare import prepare
from transforms.tokenizers.spec import TokenizerSpec


def test_bytes_has_three_control_tokens_above_the_byte_values():
    prepared, tokenizer_json = prepare(TokenizerSpec("bytes"))
    assert (prepared.bos_id, prepared.eos_id, prepared.pad_id) == (256, 257, 258)
    assert (prepared.vocab_size, prepared.dtype, prepared.backend) == (259, "uint16", "bytes")
    assert tokenizer_json == b""


def test_control_tokens_are_found_by_name(tmp_path):
    prepared, _ = prepare(samples.small_spec(tmp_path))
    assert (prepared.bos_id, prepared.eos_id, prepared.pad_id) == (0, 1, 2)
    assert prepared.added == ()
    assert prepared.vocab_size == samples.small_tokenizer().get_vocab_size()


def test_what_travels_is_small(tmp_path):
    prepared, tokenizer_json = prepare(samples.small_spec(tmp_path))
    assert len(pickle.dumps(prepared)) < 1000 < len(tokenizer_json)
    assert pickle.loads(pickle.dumps(prepared)) == prepared


def test_ids_of_added_white_space_do_not_move(tmp_path):
    _, tokenizer_json = prepare(samples.small_spec(tmp_path))
    rewritten = Tokenizer.from_str(tokenizer_json.decode())
    for content in ("    ", "\n\n"):
        assert rewritten.token_to_id(content) == samples.small_tokenizer().token_to_id(content)


def test_settings_that_would_cut_fill_or_vary_texts_are_turned_off(tmp_path):
    tokenizer = samples.small_tokenizer()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding()
    tokenizer.model.dropout = 0.5
    _, tokenizer_json = prepare(samples.small_spec(tmp_path, tokenizer))
    rewritten = orjson.loads(tokenizer_json)
    assert rewritten["truncation"] is rewritten["padding"] is rewritten["model"]["dropout"] is None


def test_a_missing_name_is_an_error_that_names_close_ones_and_the_way_out(tmp_path):
    spec = samples.small_spec(tmp_path, eos="</S>")
    with pytest.raises(TokenizerError, match=r"no token '</S>' for eos.*'</s>'.*add_missing"):
        prepare(spec)


FURTHER = (("mask", "<mask>"), ("fill", "<fill>"))


def test_further_control_tokens_are_checked_like_the_others(tmp_path):
    spec = samples.small_spec(tmp_path, further=FURTHER)
    with pytest.raises(TokenizerError, match=r"lacks the special tokens <mask>, <fill>: .*add_mis"):
        prepare(spec)
    size = samples.small_tokenizer().get_vocab_size()
    prepared, _ = prepare(samples.small_spec(tmp_path, further=FURTHER, add_missing=True))
    assert prepared.further == (("mask", "<mask>", size), ("fill", "<fill>", size + 1))
    assert [role for role, _, _ in prepared.control()] == ["bos", "eos", "pad", "mask", "fill"]
    assert prepared.vocab_size == size + 2


def test_a_further_control_token_must_not_be_a_piece_of_text(tmp_path):
    with pytest.raises(TokenizerError, match=r"fill token 't' .* for the plain text"):
        prepare(samples.small_spec(tmp_path, further=(("fill", "t"),)))


def test_add_missing_gives_the_next_free_ids(tmp_path):
    size = samples.small_tokenizer().get_vocab_size()
    spec = samples.small_spec(tmp_path, bos="<bos>", pad="<fill>", add_missing=True)
    prepared, _ = prepare(spec)
    assert (prepared.bos_id, prepared.eos_id, prepared.pad_id) == (size, 1, size + 1)
    assert prepared.added == (("<bos>", size), ("<fill>", size + 1))
    assert prepared.vocab_size == size + 2


def test_one_missing_name_in_two_roles_takes_one_id(tmp_path):
    spec = samples.small_spec(tmp_path, eos="<end>", pad="<end>", add_missing=True)
    prepared, _ = prepare(spec)
    assert prepared.eos_id == prepared.pad_id
    assert len(prepared.added) == 1


@pytest.mark.parametrize("role", ["eos", "pad"])
def test_bos_must_be_a_token_of_its_own(tmp_path, role):
    with pytest.raises(TokenizerError, match=f"bos and {role} are both '<s>'.*read back"):
        prepare(samples.small_spec(tmp_path, **{role: "<s>"}))


@pytest.mark.parametrize("role", ["bos", "eos", "pad"])
def test_no_role_is_guessed(tmp_path, role):
    with pytest.raises(TokenizerError, match=f"name its {role} token"):
        prepare(samples.small_spec(tmp_path, **{role: None}))


@pytest.mark.parametrize("token", ["t", "Ġthe"])
def test_an_ordinary_piece_cannot_mark_where_documents_begin(tmp_path, token):
    with pytest.raises(TokenizerError, match=r"bos token .* for the plain text"):
        prepare(samples.small_spec(tmp_path, bos=token))


def test_a_model_that_spells_control_tokens_itself_is_refused(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "<s>": 1, "</s>": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["[UNK]", "<s>", "</s>"])
    spec = samples.small_spec(tmp_path, tokenizer, pad="</s>")
    with pytest.raises(TokenizerError, match=r"'<s>' .*for the plain text '<s>'"):
        prepare(spec)


def tokenizer_of(size: int) -> Tokenizer:
    tokenizer = samples.small_tokenizer()
    missing = size - tokenizer.get_vocab_size()
    tokenizer.add_tokens([AddedToken(f"<extra_{i}>") for i in range(missing)])
    return tokenizer


def test_65_536_ids_fit_uint16(tmp_path):
    prepared, _ = prepare(samples.small_spec(tmp_path, tokenizer_of(65_536), dtype="uint16"))
    assert (prepared.vocab_size, prepared.dtype) == (65_536, "uint16")


def test_65_537_ids_take_uint32_unless_uint16_is_pinned(tmp_path):
    spec = samples.small_spec(tmp_path, tokenizer_of(65_537))
    assert prepare(spec)[0].dtype == "uint32"
    pinned = samples.small_spec(tmp_path, tokenizer_of(65_537), dtype="uint16")
    with pytest.raises(TokenizerError, match="vocabulary of 65537 does not fit uint16"):
        prepare(pinned)


def test_an_added_token_counts_for_the_width(tmp_path):
    changes = {"bos": "<new>", "add_missing": True, "dtype": "uint16"}
    with pytest.raises(TokenizerError, match="65537 does not fit"):
        prepare(samples.small_spec(tmp_path, tokenizer_of(65_536), **changes))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": "1.0"}', b"\xff\xfe"])
def test_a_file_that_is_no_tokenizer_is_one_clear_line(tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=r"^tokenizer broken\.json is not a .*$") as caught:
        prepare(TokenizerSpec("file", str(path), "<s>", "</s>", "<pad>"))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "nowhere.json"
    with pytest.raises(TokenizerError, match=re.escape(str(path))):
        prepare(TokenizerSpec("file", str(path), "<s>", "</s>", "<pad>"))


def test_a_hub_repo_gives_its_tokenizer_json(tmp_path, monkeypatch):
    local = samples.small_spec(tmp_path)

    def hub(repo: str, filename: str, token: str | None) -> str:
        assert (repo, filename, token) == ("org/model", "tokenizer.json", None)
        return local.location

    monkeypatch.setattr("huggingface_hub.hf_hub_download", hub)
    prepared, _ = prepare(TokenizerSpec("huggingface", "org/model", "<s>", "</s>", "<pad>"))
    assert prepared.name == "org/model"
    assert prepared.sha256 == prepare(local)[0].sha256


def test_a_hub_repo_name_that_cannot_be_is_one_clear_line():
    with pytest.raises(TokenizerError, match=r"^tokenizer repo a/b/c does not exist"):
        fetch.download("a/b/c")


@needs_shared
def test_gpt2_takes_its_only_control_token_as_eos_and_gets_a_bos():
    prepared, _ = prepare(samples.real_spec("gpt2_50257"))
    assert (prepared.eos_id, prepared.pad_id, prepared.bos_id) == (50256, 50256, 50257)
    assert prepared.added == (("<s>", 50257),)
    assert prepared.vocab_size == 50258
    with pytest.raises(TokenizerError, match=r"'<\|endoftext\|>'.*add_missing"):
        prepare(samples.real_spec("gpt2_50257", add_missing=False))
    with pytest.raises(TokenizerError, match="bos and eos are both"):
        prepare(samples.real_spec("gpt2_50257", bos="<|endoftext|>"))


@needs_shared
def test_deepseek_needs_uint32():
    prepared, _ = prepare(samples.real_spec("deepseek_v4"))
    assert (prepared.vocab_size, prepared.dtype) == (129_280, "uint32")


@needs_shared
@pytest.mark.parametrize(
    ("name", "size"), [("mistral_v1_32000", 32_000), ("mistral_v3_32768", 32_768)]
)
def test_mistral_fits_uint16(name, size):
    prepared, _ = prepare(samples.real_spec(name))
    assert (prepared.vocab_size, prepared.dtype) == (size, "uint16")


def test_unigram_spells_its_control_tokens_and_is_refused(tmp_path):
    tokenizer = Tokenizer(models.Unigram())
    trainer = trainers.UnigramTrainer(
        vocab_size=60,
        special_tokens=["<unk>", "<s>", "</s>"],
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator(samples.TEXTS, trainer)
    with pytest.raises(TokenizerError, match="for the plain text"):
        prepare(samples.small_spec(tmp_path, tokenizer, pad="</s>"))
