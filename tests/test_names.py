import numpy as np
import pytest

from transforms import storage
from transforms.names import load_names, save_names

NAMES = ["plain", None, "", "naïve 本", 'with "quotes", commas\n', "x" * 300] * 50


@pytest.mark.parametrize("places", [[0], [5, 3, 4], [299, 0, 1], [7, 7], list(range(300))])
def test_names_come_back_in_the_order_asked_for(tmp_path, places):
    path = str(tmp_path / "names")
    save_names(path, NAMES)
    assert load_names(path, np.array(places, np.uint32)) == [NAMES[k] for k in places]


def test_a_shard_reads_its_own_part_only(tmp_path, monkeypatch):
    """All shards together read a file once, however many they are."""
    path = str(tmp_path / "names")
    save_names(path, NAMES)
    asked = []

    def counted(path, ranges):
        asked.extend(stop - start for start, stop in ranges)
        return read_ranges(path, ranges)

    read_ranges = storage.read_ranges
    monkeypatch.setattr(storage, "read_ranges", counted)
    for start in range(0, len(NAMES), 10):
        load_names(path, np.arange(start, start + 10))
    assert sum(asked) <= storage.size(path) + 8 * len(NAMES) / 10
