import apache_beam as beam
import numpy as np
import pytest

from tests.transforms.eager import MODES, run
from tests.transforms.steps import cut
from transforms.take_first import FirstSettings, TakeFirst, first_of

DTYPE = np.dtype([("pick_hi", "<u8"), ("pick_lo", "<u8"), ("size", "<u4"), ("name", "<u4")])


@pytest.fixture
def found():
    """Records of which some share the first half of their pick key, and some their range."""
    generator = np.random.default_rng(3)
    records = np.zeros(300, DTYPE)
    records["pick_hi"] = generator.integers(0, 1 << 64, 300, np.uint64)
    records["pick_hi"][:100] |= np.uint64(0xFFFF << 48)
    records["pick_hi"][100:110] = records["pick_hi"][0]
    records["pick_lo"] = generator.permutation(300)
    records["size"] = generator.integers(1, 50, 300)
    records["name"] = np.arange(300)
    return records


def take(found, settings, *options):
    def build(pipeline):
        packed = cut(found.tobytes(), DTYPE, 17) if len(found) else []
        outputs = pipeline | beam.Create(packed, reshuffle=False) | TakeFirst(settings)
        return {"taken": outputs.taken, "left": outputs.left}

    outputs = run(build, *options)
    return tuple(
        set(np.frombuffer(b"".join(outputs[name]), DTYPE)["name"].tolist())
        for name in ("taken", "left")
    )


def expected(found, amount, costs):
    order = sorted(range(len(found)), key=lambda k: (found["pick_hi"][k], found["pick_lo"][k]))
    spent, names = 0, set()
    for k in order:
        if spent >= amount:
            break
        spent += costs[k]
        names.add(int(found["name"][k]))
    return names


@MODES
def test_by_count(found, options):
    taken, left = take(found, FirstSettings(120, DTYPE), *options)
    assert taken == expected(found, 120, [1] * 300)
    assert left == set(range(300)) - taken


@pytest.mark.parametrize("amount", [1, 49, 500, 4000])
def test_by_cost_up_to_the_one_that_reaches_the_amount(found, amount):
    taken, left = take(found, FirstSettings(amount, DTYPE, "size"))
    assert taken == expected(found, amount, found["size"].tolist())
    assert left == set(range(300)) - taken


@pytest.mark.parametrize("amount", [300, 301, 1 << 40])
def test_an_amount_that_is_not_exceeded_takes_all(found, amount):
    assert take(found, FirstSettings(amount, DTYPE)) == (set(range(300)), set())


def test_nothing_gives_nothing(found):
    assert take(found[:0], FirstSettings(5, DTYPE)) == (set(), set())


def test_first_of_does_not_depend_on_how_it_is_added_up(found):
    parts = cut(found.tobytes(), DTYPE, 40)
    at_once = first_of(parts, DTYPE, 25)
    by_two = first_of([first_of(parts[3:], DTYPE, 25), first_of(parts[:3], DTYPE, 25)], DTYPE, 25)
    assert at_once == by_two
    names = set(np.frombuffer(at_once, DTYPE)["name"].tolist())
    assert names == expected(found, 25, [1] * 300)
