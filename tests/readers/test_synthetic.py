import pytest

from tests.readers.reading import read_pieces
from transforms import quality
from transforms.documents import Piece, TextBatch
from transforms.kernels.measures import measure
from transforms.readers import planning
from transforms.readers.synthetic import VOCABULARIES, document
from transforms.sources import HubInput, SourceSpec, SyntheticInput

COUNT = 1200


def documents(domain: str, name: str = "s") -> list[str]:
    return [document(name, domain, index) for index in range(COUNT)]


def is_original(index: int) -> bool:
    return (index + 1) % 97 != 0 and (index + 1) % 53 != 0


def last_original(index: int) -> int:
    return next(k for k in range(index, -1, -1) if is_original(k))


@pytest.mark.parametrize("domain", VOCABULARIES)
def test_documents_have_the_promised_form(domain: str) -> None:
    assert 18 <= len(VOCABULARIES[domain]) <= 25
    assert len(set(VOCABULARIES[domain])) == len(VOCABULARIES[domain])
    counts = [len(text.split()) for text in documents(domain)]
    assert 60 <= min(counts) < 80
    assert 380 < max(counts) <= 400
    assert all(text.endswith(".") for text in documents(domain))


@pytest.mark.parametrize("domain", VOCABULARIES)
def test_documents_pass_the_filter_of_their_domain(domain: str) -> None:
    rules = quality.rules_for(domain, {})
    measures = measure(TextBatch.from_strings(documents(domain)))
    assert not quality.judge(measures, rules).any()


@pytest.mark.parametrize("domain", VOCABULARIES)
def test_repeats_exact_and_near(domain: str) -> None:
    texts = documents(domain)
    originals = [text for index, text in enumerate(texts) if is_original(index)]
    assert len(set(originals)) == len(originals)
    for index in (k for k in range(COUNT) if not is_original(k)):
        first, second = texts[last_original(index)].split(), texts[index].split()
        changed = sum(a != b for a, b in zip(first, second, strict=True))
        if (index + 1) % 97 == 0:
            assert changed == 0
        else:
            assert 0.03 * len(first) <= changed <= 0.06 * len(first) + 1


def test_the_name_of_the_source_is_the_seed() -> None:
    assert documents("web", "a") == documents("web", "a")
    assert not set(documents("web", "a")) & set(documents("web", "b"))
    # Bytes that no version or platform may change.
    assert document("a", "web", 0).split()[:4] == ["station", "forest", "kitchen", "history"]


def test_ranges_are_random_access() -> None:
    spec = SourceSpec("s", "math", SyntheticInput(COUNT), id_column="id")
    plan = planning.plan(0, spec, 0)
    assert len(plan.pieces) == 2
    whole = read_pieces(plan.pieces, spec)
    assert whole.texts == documents("math")
    assert whole.ids == [str(index) for index in range(COUNT)]
    part = read_pieces([Piece(9, 0, "synthetic", "x", 90, 110)], spec)
    assert part.texts == whole.texts[90:110]


def test_offline_replaces_hubs_alone() -> None:
    remote = SourceSpec("s", "web", HubInput("some/repo"), id_column="id")
    assert planning.offline(remote).input == SyntheticInput()
    local = SourceSpec("s", "web", SyntheticInput(3))
    assert planning.offline(local) == local
