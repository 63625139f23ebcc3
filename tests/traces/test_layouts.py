import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import layouts as reference
from tests.traces.examples import (
    EXAMPLES,
    LAYOUT,
    VOCAB_SIZE,
    Lists,
    encode_lists,
    example_ids,
    geometries,
    special_tokens,
)
from transforms.errors import InternalError, RecipeError
from transforms.traces.geometry import LAYOUTS, PADDING, THOUGHT, Geometry
from transforms.traces.layouts import KEPT, OUTCOMES, encode
from transforms.traces.readback import locate, texts

DTYPES = st.sampled_from([np.uint16, np.uint32])
SMALL = Geometry(seq_len=32, block=4, max_slots=5, sizes=(4, 10))


@given(LAYOUT, EXAMPLES, geometries(), DTYPES)
def test_equals_the_plain_layouts(layout, examples, geometry, dtype):
    windows = encode_lists(layout, examples, geometry, dtype)
    special = special_tokens(geometry.sizes)
    expected = [reference.encode(layout, *example, geometry, special) for example in examples]
    assert [OUTCOMES[outcome] for outcome in windows.outcomes] == [
        found if isinstance(found, str) else "kept" for found in expected
    ]
    kept = [found for found in expected if not isinstance(found, str)]
    assert windows.tokens.tolist() == [tokens for tokens, _ in kept]
    assert windows.regions.tolist() == [regions for _, regions in kept]


@given(LAYOUT, EXAMPLES, geometries(), DTYPES)
def test_tokens_and_regions_go_together(layout, examples, geometry, dtype):
    windows = encode_lists(layout, examples, geometry, dtype)
    n_kept = np.count_nonzero(windows.outcomes == KEPT)
    assert windows.tokens.shape == windows.regions.shape == (n_kept, geometry.seq_len)
    assert windows.tokens.dtype == dtype
    assert windows.regions.dtype == np.uint8
    assert (windows.tokens < VOCAB_SIZE).all()
    pad = special_tokens().pad
    assert ((windows.tokens == pad) == (windows.regions == PADDING)).all()


@given(LAYOUT, EXAMPLES, geometries())
def test_an_example_is_whole_or_dropped(layout, examples, geometry):
    windows = encode_lists(layout, examples, geometry)
    special = special_tokens(geometry.sizes)
    kept = [e for e, outcome in zip(examples, windows.outcomes, strict=True) if outcome == KEPT]
    for example, tokens, regions in zip(kept, windows.tokens, windows.regions, strict=True):
        problem, thoughts, answer = texts(tokens, regions, special)
        assert problem.tolist() == example.prompt
        assert [thought.tolist() for thought in thoughts] == example.thoughts
        assert answer.tolist() == example.answer


@given(LAYOUT, EXAMPLES, geometries())
def test_thoughts_lie_whole_in_the_slots(layout, examples, geometry):
    """Without the readback of texts: what is not fill in the slots, cut at ends of thoughts."""
    windows = encode_lists(layout, examples, geometry)
    special = special_tokens(geometry.sizes)
    size_of = dict(zip(special.sizes, geometry.sizes, strict=True))
    kept = [e for e, outcome in zip(examples, windows.outcomes, strict=True) if outcome == KEPT]
    for example, tokens, regions in zip(kept, windows.tokens, windows.regions, strict=True):
        slots = locate(layout, tokens, regions, geometry, size_of).slot_ids
        if layout == "flat":
            assert (slots == -1).all()
            continue
        content = [t for t in tokens[slots >= 0].tolist() if t != special.fill]
        assert content == [t for th in example.thoughts for t in (*th, special.end_of_thought)]
        assert np.count_nonzero(np.diff(slots) > 0) == max(slots.max(), -1) + 1


@given(st.sampled_from(["slotted", "adaptive"]), EXAMPLES, geometries())
def test_no_block_mixes_regions(layout, examples, geometry):
    windows = encode_lists(layout, examples, geometry)
    size_of = dict(zip(special_tokens(geometry.sizes).sizes, geometry.sizes, strict=True))
    for tokens, regions in zip(windows.tokens, windows.regions, strict=True):
        blocks = locate(layout, tokens, regions, geometry, size_of).block_ids
        for block in range(blocks.max() + 1):
            assert len(set(regions[blocks == block].tolist()) - {PADDING}) == 1
        assert (regions[blocks == -1] == PADDING).all()


@given(EXAMPLES, geometries())
def test_prompt_slots_and_answer_of_slotted_begin_at_multiples_of_the_block(examples, geometry):
    windows = encode_lists("slotted", examples, geometry)
    for regions in windows.regions:
        by_block = regions.reshape(-1, geometry.block)
        for block in by_block:
            assert len(set(block.tolist()) - {PADDING}) <= 1
            assert (block == THOUGHT).all() or THOUGHT not in block
        first = by_block[:, 0]
        assert first.tolist() == sorted(first[first > 0].tolist()) + [0] * (first == 0).sum()


@given(EXAMPLES, geometries())
def test_blocks_of_adaptive_begin_after_their_size_token(examples, geometry):
    windows = encode_lists("adaptive", examples, geometry)
    special = special_tokens(geometry.sizes)
    for tokens, regions in zip(windows.tokens, windows.regions, strict=True):
        at = int(np.argmax(regions >= THOUGHT))
        assert at % geometry.block == 0
        while regions[at] == THOUGHT:
            size = geometry.sizes[special.sizes.index(tokens[at])]
            assert (regions[at : at + 1 + size] == THOUGHT).all()
            at += 1 + size
        assert tokens[at] == special.end_think


@given(LAYOUT, EXAMPLES, geometries(), st.integers(0, 5))
def test_a_batch_is_its_parts(layout, examples, geometry, cut):
    whole = encode_lists(layout, examples, geometry)
    a = encode_lists(layout, examples[:cut], geometry)
    b = encode_lists(layout, examples[cut:], geometry)
    assert whole.tokens.tolist() == a.tokens.tolist() + b.tokens.tolist()
    assert whole.outcomes.tolist() == a.outcomes.tolist() + b.outcomes.tolist()
    assert whole.statistics == a.statistics + b.statistics == b.statistics + a.statistics


@given(LAYOUT, EXAMPLES, geometries())
def test_statistics_count_what_is_there(layout, examples, geometry):
    windows = encode_lists(layout, examples, geometry)
    special = special_tokens(geometry.sizes)
    size_of = dict(zip(special.sizes, geometry.sizes, strict=True))
    found = windows.statistics
    n_blocks = []
    sizes = []
    for tokens, regions in zip(windows.tokens, windows.regions, strict=True):
        slots = locate(layout, tokens, regions, geometry, size_of).slot_ids
        n_blocks.append(int(slots.max()) + 1)
        sizes += np.bincount(slots[slots >= 0]).tolist()
    assert found.blocks == tuple(sizes.count(size) for size in found.block_sizes)
    assert sum(found.blocks) == sum(n_blocks)
    assert found.examples == tuple(np.bincount(np.array(n_blocks, int)).tolist())
    assert found.fill == (windows.tokens == special.fill).sum()
    assert found.tokens == tuple((windows.regions == region).sum() for region in range(4))
    if n_blocks:
        ordered, n = sorted(n_blocks), len(n_blocks)
        for fraction in (0.0, 0.5, 0.9, 1.0):
            assert found.blocks_quantile(fraction) == ordered[min(n - 1, int(n * fraction))]


def test_statistics_of_a_chain():
    found = encode_lists("adaptive", [Lists([20], [[30] * 12], [20])], SMALL).statistics
    assert found.block_sizes == (4, 10)
    assert found.blocks == (1, 1)
    assert found.examples == (0, 0, 1)
    assert found.fill == 1


@pytest.mark.parametrize(
    ("layout", "thought", "outcome"),
    [
        ("flat", 22, "kept"),  # 4 + 23 + 5 tokens
        ("flat", 23, "too_long"),
        ("slotted", 19, "kept"),  # five slots with the end of the thought
        ("slotted", 20, "too_many_slots"),
        ("adaptive", 9, "kept"),
        ("adaptive", 13, "kept"),  # 4 + 11 + 5 + 8 = 28 tokens
        ("adaptive", 14, "too_long"),  # 4 + 11 + 11 + 8 = 34
    ],
)
def test_limits(layout, thought, outcome):
    windows = encode_lists(layout, [Lists([20, 21], [[30] * thought], [22, 23])], SMALL)
    assert OUTCOMES[windows.outcomes[0]] == outcome


def test_a_chain_ends_in_a_block_of_its_own_where_the_thought_fills_its_blocks():
    special = special_tokens(SMALL.sizes)
    end, fill = special.end_of_thought, special.fill
    example = Lists([], [[30] * 10], [])
    tokens = encode_lists("adaptive", [example], SMALL).tokens[0].tolist()
    small, large = special.sizes
    assert tokens[4:20] == [large, *[30] * 10, small, end, *[fill] * 3]
    tokens = encode_lists("slotted", [Lists([], [[30] * 8], [])], SMALL).tokens[0].tolist()
    assert tokens[4:16] == [*[30] * 8, end, *[fill] * 3]


def test_the_last_bracket_of_adaptive_counts_whole():
    # 4 + 11 + 11 = 26, and an answer bracket of 4 that fits; of 6 tokens it takes 8, which do not.
    thoughts = [[30] * 9, [30] * 9]
    short, long = Lists([], thoughts, [20]), Lists([], thoughts, [20, 21, 22])
    windows = encode_lists("adaptive", [short, long], SMALL)
    assert [OUTCOMES[outcome] for outcome in windows.outcomes] == ["kept", "too_long"]


def test_no_examples():
    for layout in LAYOUTS:
        windows = encode_lists(layout, [], SMALL)
        assert windows.tokens.shape == windows.regions.shape == (0, SMALL.seq_len)
        assert windows.statistics.n_examples() == 0
        assert windows.statistics.summary()["fill_fraction_of_thought"] == 0.0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_special_token_in_a_text_is_an_error(layout):
    special = special_tokens(SMALL.sizes)
    for id_ in special.ids():
        examples = [Lists([20], [[30, id_]], [20])]
        with pytest.raises(InternalError, match=f"special token {id_} inside of a text"):
            encode_lists(layout, examples, SMALL)


def test_adaptive_needs_sizes_and_their_tokens():
    examples = example_ids([Lists([20], [[30]], [20])])
    with pytest.raises(RecipeError, match=r"sizes is empty: adaptive needs at least one"):
        encode("adaptive", examples, Geometry(32, 4, sizes=()), special_tokens())
    with pytest.raises(InternalError, match="0 size tokens for 2 sizes"):
        encode("adaptive", examples, SMALL, special_tokens())


def test_ids_above_16_bits_survive_in_uint32():
    windows = encode_lists("slotted", [Lists([70_000], [[80_000]], [90_000])], SMALL, np.uint32)
    assert {70_000, 80_000, 90_000} < set(windows.tokens[0].tolist())
