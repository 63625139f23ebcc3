from collections import Counter, defaultdict

import apache_beam as beam
import numpy as np
import pytest

from tests.transforms.eager import MODES, are, run
from tests.transforms.steps import amounts, cut, preference, records_by_key
from transforms import ledger, records
from transforms.documents import piece_number
from transforms.exact_dedup import ExactDedup

SOURCES = ("web", "books", "code")
PARTITIONS = 4


def documents(count=400, different=70):
    """Documents of three sources in five pieces, many with the same digest."""
    generator = np.random.default_rng(3)
    found = np.zeros(count, records.EXACT)
    digests = generator.integers(0, 1 << 64, (different, 2), np.uint64)
    found["digest_hi"], found["digest_lo"] = digests[generator.integers(0, different, count)].T
    found["source"] = generator.integers(0, 3, count)
    found["priority"] = np.array([1, 0, 1])[found["source"]]
    found["keep_hi"] = generator.integers(0, 4, count)
    found["keep_lo"] = generator.permutation(count)
    found["size"] = generator.integers(1, 1 << 32, count)
    pieces = np.array([piece_number(k) for k in range(5)], np.uint64)
    found["ref"] = (
        pieces[np.arange(count) % 5] << np.uint64(24) | np.arange(count, dtype=np.uint64) // 5
    )
    return found


def partitioned(found):
    return list(records.split(found, records.partition(found["digest_hi"], PARTITIONS)))


def dedup(elements, by_source=False, *options):
    def build(pipeline):
        return (pipeline | beam.Create(elements) | ExactDedup(SOURCES, by_source))._asdict()

    return run(build, *options)


def chosen_plainly(found, by_source):
    """(piece, position, copies) of the best of each group, and (documents, bytes) of the rest."""
    groups = defaultdict(list)
    for row in found:
        group = (int(row["digest_hi"]), int(row["digest_lo"]))
        groups[(*group, int(row["source"])) if by_source else group].append(row)
    survivors: Counter = Counter()
    dropped = defaultdict(list)
    for rows in groups.values():
        best, *rest = sorted(rows, key=preference)
        piece, position = int(best["ref"]) >> 24, int(best["ref"]) & (1 << 24) - 1
        survivors[piece, (position, len(rows))] += 1
        for row in rest:
            dropped[SOURCES[row["source"]], ledger.EXACT_DUPLICATE].append((1, int(row["size"])))
    return survivors, {key: ledger.add(lost) for key, lost in dropped.items()}


@MODES
@pytest.mark.parametrize("by_source", [False, True])
def test_the_best_of_each_digest_survives_and_the_rest_is_counted(by_source, options):
    found = documents()
    output = dedup(partitioned(found), by_source, *options)
    assert are(output["survivors"], int, bytes)
    survivors, dropped = chosen_plainly(found, by_source)
    assert records_by_key(output["survivors"], records.SURVIVOR) == survivors
    assert amounts(output["entries"]) == dropped


def test_it_does_not_matter_in_how_many_elements_and_in_what_order_they_come():
    elements = partitioned(documents())
    parts = [(key, part) for key, packed in elements for part in cut(packed, records.EXACT, 7)]
    one, several = dedup(elements), dedup(parts[::-1])
    survivors = [records_by_key(found["survivors"], records.SURVIVOR) for found in (one, several)]
    assert survivors[0] == survivors[1]
    assert amounts(several["entries"]) == amounts(one["entries"])


def test_a_document_without_copies_is_no_line_in_the_account():
    found = documents(count=1)
    assert dedup(partitioned(found))["entries"] == []


def test_no_documents_give_nothing():
    assert dedup([]) == {"survivors": [], "entries": []}
