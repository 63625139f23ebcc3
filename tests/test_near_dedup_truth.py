"""Near duplicates of real documents against exact Jaccard similarity of all pairs."""

import gzip

import numpy as np
import orjson
import pytest
import scipy.sparse as sparse

from tests import jobs
from tests.jobs import build, recipe_of, source_of
from tests.reference.text import normalized
from tests.shared import SHARED, needs_shared
from transforms import near_dedup
from transforms.kernels.union_find import forest

DOCS = SHARED / "data" / "dedup" / "near_dup_docs.jsonl.gz"


def jaccard_of_all_pairs(texts: list[str]) -> np.ndarray:
    """Exact Jaccard similarity over sets of character 5-shingles, [n, n]."""
    numbers: dict[str, int] = {}
    rows, columns = [], []
    for row, text in enumerate(texts):
        shingles = {text[k : k + 5] for k in range(max(1, len(text) - 4))}
        rows += [row] * len(shingles)
        columns += [numbers.setdefault(shingle, len(numbers)) for shingle in shingles]
    table = sparse.csr_array((np.ones(len(rows), np.int32), (rows, columns)))
    shared = (table @ table.T).toarray()
    sizes = np.diag(shared)
    return shared / (sizes[:, None] + sizes[None, :] - shared)


@pytest.fixture(scope="module")
def truth():
    with gzip.open(DOCS) as file:
        texts = {orjson.loads(line)["text"] for line in file}
    # Exact copies have been removed before near deduplication sees a document.
    unique = {normalized(text): text for text in sorted(texts)}
    return list(unique.values()), jaccard_of_all_pairs(list(unique))


@needs_shared
def test_pairs_that_are_alike_end_in_one_cluster_and_no_edge_is_far_fetched(truth, tmp_path):
    texts, jaccard = truth
    path = jobs.write_rows(tmp_path / "docs.jsonl", [{"text": text} for text in texts])
    edges: list[np.ndarray] = []
    original = near_dedup.edges_of

    def recorded(candidates, min_agree):
        found = original(candidates, min_agree)
        edges.append(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_dedup, "edges_of", recorded)
        corpus = build(tmp_path, recipe_of([source_of("docs", path)]), f"--piece_bytes={1 << 30}")
    assert corpus.ledger()["near_duplicate"] > 100
    found = np.unique(np.concatenate(edges))
    # One file in one piece, nothing filtered: the position in the scan file is the row.
    a, b = (found[end] & np.uint64((1 << 24) - 1) for end in ("a", "b"))
    assert jaccard[a, b].min() >= 0.65

    components = forest(np.stack([a, b], axis=1))
    _, roots = components.roots_of(np.arange(len(texts), dtype=np.uint64))
    alike = np.argwhere(np.triu(jaccard >= 0.9, 1))
    together = roots[alike[:, 0]] == roots[alike[:, 1]]
    assert len(alike) > 500
    print(
        f"{len(texts)} documents, {len(found)} edges, least J {jaccard[a, b].min():.3f}, "
        f"{together.mean():.2%} of {len(alike)} pairs with J >= 0.9 together"
    )
    assert together.mean() >= 0.99
