import apache_beam as beam
import orjson

from tests.transforms.eager import MODES, are, run
from tests.transforms.steps import files_in
from transforms.account import REJECTS_PER_REASON
from transforms.rejects import WriteRejects


def rejects():
    """Rows of two sources; one has more of a reason than are kept."""
    counts = {("web", "empty"): 3, ("web", "filtered:x"): 50, ("books", "filtered:x"): 1}
    return [
        (group, (bytes([k * 7 % 50]), orjson.dumps({"reason": group[1], "row": k * 7 % 50})))
        for group, count in counts.items()
        for k in range(count)
    ]


def write(folder, elements, *options):
    def build(pipeline):
        return {"paths": pipeline | beam.Create(elements) | WriteRejects(str(folder))}

    paths = run(build, *options)["paths"]
    assert are(paths, str)
    return sorted(paths)


@MODES
def test_the_least_of_each_reason_are_written_by_source(tmp_path, options):
    paths = write(tmp_path, rejects(), *options)
    assert paths == [f"{tmp_path}/rejects/{name}.jsonl" for name in ("books", "web")]
    files = files_in(tmp_path)
    assert sorted(files) == ["rejects/books.jsonl", "rejects/web.jsonl"]
    rows = [orjson.loads(line) for line in files["rejects/web.jsonl"].splitlines()]
    assert [row["row"] for row in rows if row["reason"] == "empty"] == [0, 7, 14]
    kept = [row["row"] for row in rows if row["reason"] == "filtered:x"]
    assert kept == list(range(REJECTS_PER_REASON))
    assert len(rows) == 3 + REJECTS_PER_REASON


def test_the_order_of_rows_does_not_matter(tmp_path):
    write(tmp_path / "a", rejects())
    write(tmp_path / "b", rejects()[::-1])
    assert files_in(tmp_path / "a") == files_in(tmp_path / "b")


def test_nothing_rejected_writes_nothing(tmp_path):
    assert write(tmp_path, []) == []
    assert files_in(tmp_path) == {}
