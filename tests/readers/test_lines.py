import io
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.readers.reading import MALFORMED, files, read_source
from transforms.readers.lines import OverlongLine, range_blocks, split_lines

CONTENT = st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\r\n", b"defgh"]), max_size=40)


def lines_of(content: bytes, start: int, stop: int) -> list[bytes]:
    blocks = range_blocks(io.BytesIO(content), start, stop)
    return [line for lines in split_lines(blocks, 1000) for line in lines]


def expected(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]


@given(CONTENT, st.lists(st.integers(0, 100), max_size=5))
def test_ranges_partition_the_lines(parts: list[bytes], cuts: list[int]) -> None:
    content = b"".join(parts)
    bounds = sorted({0, len(content), *(min(cut, len(content)) for cut in cuts)})
    ranges = itertools.pairwise(bounds)
    found = [line for start, stop in ranges for line in lines_of(content, start, stop)]
    assert found == expected(content)


@given(CONTENT, st.integers(1, 7), st.integers(0, 8))
def test_lines_do_not_depend_on_blocks(parts: list[bytes], block: int, limit: int) -> None:
    content = b"".join(parts)
    blocks = [content[k : k + block] for k in range(0, len(content), block)]
    found: list[bytes] = []
    for lines in split_lines(blocks, limit):
        found += [lines.head] if isinstance(lines, OverlongLine) else lines
    assert found == expected(content)


def test_a_line_over_the_limit_keeps_its_head_alone() -> None:
    blocks = [b"ab\ncd", b"x" * 5000, b"y" * 5000, b"z\nef"]
    found = list(split_lines(blocks, 100))
    assert found == [[b"ab"], OverlongLine((b"cd" + b"x" * 5000)[:2000]), [b"ef"]]


@pytest.mark.parametrize("name", ["bom", "crlf", "blank_lines", "field_types", "nul_bytes"])
def test_rows_do_not_depend_on_the_size_of_pieces(name: str) -> None:
    spec = files(MALFORMED / f"jsonl/{name}.jsonl", id_column="id")
    whole = read_source(spec)
    assert whole.texts
    for piece_bytes in (1, 2, 3, 7, 20, 50, 99, 151, 300, 433, 1000):
        assert read_source(spec, piece_bytes) == whole
