from collections import defaultdict

import apache_beam as beam
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that

from transforms import packed
from transforms.packed import Packer, PackingDoFn


class Scatter(PackingDoFn):
    """Sends a byte of each element to every key, as a piece sends records to every partition."""

    def process(self, element):
        yield from self.packed((key, bytes([element])) for key in range(50))


def test_the_elements_of_a_shuffle_do_not_grow_with_pieces_times_partitions():
    def check(joined):
        assert len(joined) <= 2 * 50
        by_key = defaultdict(bytes)
        for key, part in joined:
            by_key[key] += part
        assert {key: bytes(sorted(part)) for key, part in by_key.items()} == dict.fromkeys(
            range(50), bytes(range(200))
        )

    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        joined = pipeline | beam.Create(range(200)) | beam.ParDo(Scatter())
        assert_that(joined, check)


@pytest.mark.parametrize("size", [0, 100])
def test_no_more_is_held_than_the_limit(monkeypatch, size):
    monkeypatch.setattr(packed, "HELD_BYTES", 1000)
    packer = Packer()
    out = list(packer.add((k % 3, bytes(size)) for k in range(100)))
    left = list(packer.drain())
    assert out
    assert sum(len(part) for _, part in left) <= 1000
    assert sum(len(part) for _, part in out + left) == 100 * size
    assert list(packer.drain()) == []
