import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transforms import records
from transforms.exact_dedup import survivors


def found(rows):
    """Records from (digest, priority, keep, tie, source) rows."""
    out = np.zeros(len(rows), records.EXACT)
    for k, (digest, priority, keep, tie, source) in enumerate(rows):
        out[k]["digest_hi"] = digest
        out[k]["priority"], out[k]["keep_hi"], out[k]["tie"] = priority, keep, tie
        out[k]["source"], out[k]["ref"] = source, k
    return out


def test_the_source_with_the_smaller_priority_keeps_its_copy():
    chosen, copies = survivors(found([(7, 1, 0, 0, 0), (7, 0, 9, 0, 1)]), by_source=False)
    assert chosen.tolist() == [1]
    assert copies.tolist() == [2]


def test_of_one_source_the_smallest_keep_key_survives():
    chosen, _ = survivors(found([(7, 0, 5, 0, 0), (7, 0, 3, 0, 0), (7, 0, 4, 0, 0)]), False)
    assert chosen.tolist() == [1]


def test_scope_source_leaves_copies_in_other_sources():
    rows = [(7, 0, 5, 0, 0), (7, 1, 3, 0, 1), (7, 1, 4, 0, 1)]
    chosen, copies = survivors(found(rows), by_source=True)
    assert chosen.tolist() == [0, 1]
    assert copies.tolist() == [1, 2]


@given(
    rows=st.lists(
        st.tuples(*(st.integers(0, 3) for _ in range(4)), st.integers(0, 2)), max_size=40
    ),
    seed=st.integers(0, 100),
    by_source=st.booleans(),
)
def test_row_order_does_not_matter(rows, seed, by_source):
    records_in_order = found(rows)
    shuffled = records_in_order[np.random.default_rng(seed).permutation(len(rows))]
    fields = ["digest_hi", "priority", "keep_hi", "tie", "source"]
    if not by_source:
        # Priority and keep key follow from the source and text; only then is a tie a real copy.
        fields.remove("source")
    results = []
    for order in (records_in_order, shuffled):
        chosen, copies = survivors(order, by_source)
        results.append(sorted(zip(order[chosen][fields].tolist(), copies.tolist(), strict=True)))
        assert copies.sum() == len(rows)
    assert results[0] == results[1]
