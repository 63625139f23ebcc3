import random
import subprocess
import sys

import orjson
import pytest

from beam_pipeline.train_tokenizer import train, train_from_sources
from tests.tokenizers.samples import TEXTS
from transforms.errors import SourceError
from transforms.sources import FilesInput, SourceSpec
from transforms.tokenizers.prepare import prepare
from transforms.tokenizers.spec import TokenizerSpec

# Many pairs are equally frequent in it, which is where an order could show.
DOCUMENTS = [*TEXTS * 3, *(f"{a}{b} {b}{a}\n" for a in "abcdefgh" for b in "stuvwxyz")]


def test_the_order_of_documents_does_not_matter():
    shuffled = DOCUMENTS.copy()
    random.Random(3).shuffle(shuffled)
    assert train(DOCUMENTS, 400).to_str() == train(shuffled, 400).to_str()


def test_another_process_trains_the_same_tokenizer():
    code = (
        "from tests.test_train_tokenizer import DOCUMENTS, train\n"
        "print(hash(train(DOCUMENTS, 400).to_str()))"
    )
    environment = {"PYTHONHASHSEED": "0"}
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env=environment, check=True, capture_output=True
        ).stdout
        for _ in range(3)
    }
    assert len(runs) == 1


def test_special_tokens_come_first_and_then_every_byte():
    vocabulary = train(DOCUMENTS, 300, special_tokens=["<a>", "<b>"]).get_vocab()
    assert (vocabulary["<a>"], vocabulary["<b>"]) == (0, 1)
    assert sorted(id_ for token, id_ in vocabulary.items() if len(token) == 1) == [*range(2, 258)]
    assert len(vocabulary) == 300


def test_any_text_is_encoded_and_comes_back():
    tokenizer = train(DOCUMENTS, 300)
    for text in ("", "  x\r\n\ty", "汉字 👩‍👧 \x00", "no such words 0123456789"):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_digits_stand_alone():
    tokenizer = train(["in 1234 and 1234 and 12 "] * 50, 400)
    assert tokenizer.encode(" 1234").tokens == ["Ġ", "1", "2", "3", "4"]


def test_rare_pairs_do_not_become_tokens():
    assert train(["abc"], 1000, min_frequency=2).get_vocab_size() == 3 + 256
    assert train(["abc"], 1000, min_frequency=1).get_vocab_size() == 3 + 256 + 2


def source(path, **changes) -> SourceSpec:
    return SourceSpec(path.stem, "web", FilesInput((str(path),)), **changes)


def write(path, documents: list[str]) -> None:
    path.write_bytes(b"".join(orjson.dumps({"text": text}) + b"\n" for text in documents))


def test_sources_are_read_and_the_tokenizer_written(tmp_path):
    write(tmp_path / "a.jsonl", DOCUMENTS[::2])
    write(tmp_path / "b.jsonl", DOCUMENTS[1::2])
    output = tmp_path / "tokenizer.json"
    specs = [source(tmp_path / "a.jsonl"), source(tmp_path / "b.jsonl")]
    trained = train_from_sources(specs, 400, str(output))
    assert trained.to_str() == train(DOCUMENTS, 400).to_str()
    prepared, _ = prepare(TokenizerSpec("file", str(output), "<s>", "</s>", "<pad>"))
    assert (prepared.bos_id, prepared.eos_id, prepared.pad_id) == (0, 1, 2)


def test_each_source_gives_an_equal_share(tmp_path):
    write(tmp_path / "a.jsonl", ["qqqq"] * 10)
    write(tmp_path / "b.jsonl", ["zzzz"] * 1000)
    specs = [source(tmp_path / "a.jsonl"), source(tmp_path / "b.jsonl")]
    limited = train_from_sources(specs, 1000, str(tmp_path / "t.json"), max_bytes=80)
    assert limited.to_str() == train(["qqqq"] * 10 + ["zzzz"] * 10, 1000).to_str()


def test_no_documents_at_all_is_an_error(tmp_path):
    write(tmp_path / "a.jsonl", [])
    with pytest.raises(SourceError, match="no source has a document"):
        train_from_sources([source(tmp_path / "a.jsonl")], 400, str(tmp_path / "t.json"))
    assert not (tmp_path / "t.json").exists()
