import orjson
import pytest

from beam_pipeline.report import gather
from transforms import storage
from transforms.specimens import Member, Specimen
from transforms.work import WorkFolder, write_report


@pytest.fixture
def work(tmp_path):
    work = WorkFolder(str(tmp_path))
    write_report(work.tokens_report(4), {"excerpts": {"7": "seven", "9": "nine"}})
    return work


def test_first_lines_come_from_the_second_read_and_a_source_of_weight_0_has_none(work):
    members = (Member(0, 4, 9, 32), Member(1, 5, 1, 24), Member(0, 4, 7, 16))
    specimen = Specimen("00", 3, 5, members)
    (shown,) = gather.shown([specimen], ["web", "aside"], [1, 0], 32, work)
    assert (shown.texts, shown.documents) == (3, 5)
    assert [tuple(excerpt) for excerpt in shown.excerpts] == [
        ("web", "nine", 1.0),
        ("aside", None, 0.75),
        ("web", "seven", 0.5),
    ]


def test_rejects_are_the_first_different_texts_of_each_reason(tmp_path):
    texts = ["b", "b", "x" * 1000, "a", "z"]
    rows = [{"reason": "filtered:short", "text": text} for text in texts]
    rows.append({"reason": "empty", "text": ""})
    path = str(tmp_path / "web.jsonl")
    storage.write_whole(path, b"".join(orjson.dumps(row) + b"\n" for row in rows))
    found = gather.rejects([path], ["books", "web"])
    assert list(found) == ["web"]
    assert list(found["web"]) == ["empty", "filtered:short"]
    first, second, third = found["web"]["filtered:short"]
    assert (first, third) == ("b", "a")
    assert second.startswith("xxx")
    assert second.endswith("…")
    assert len(second) < 500
