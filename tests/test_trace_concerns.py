import pytest

from beam_pipeline.trace_concerns import trace_concerns
from beam_pipeline.traces_recipe import TracesWarn


def amounts(**outcomes):
    return {name: {"documents": n, "bytes": n} for name, n in outcomes.items()}


def manifest(rows=None, encoding=None, fill=0.0, layout="slotted"):
    """Of traces that nobody need worry about, but for what is given."""
    total = {"read": 1000, "train": 900, "validation": 100, **(rows or {})}
    return {
        "ledger": {"total": amounts(**total)},
        "recipe": {"layouts": [layout], "block": 32, "sizes": [64, 256]},
        "layouts": {
            f"train/{layout}": {
                "encoding": amounts(**{"read": 900, **(encoding or {})}),
                "statistics": {"fill_fraction_of_thought": fill},
            }
        },
    }


def found(told, **warn):
    return [(c.kind, c.source) for c in trace_concerns(told, TracesWarn(**warn))]


def test_sound_traces_have_no_warnings():
    assert found(manifest()) == []


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({"malformed:no_region": 300, "malformed:no_answer": 200}, []),
        ({"malformed:no_region": 301, "malformed:no_answer": 200}, ["step_loss"]),
        ({"duplicate": 501}, ["step_loss"]),
        # Of the 500 that came to it, 251 are lost.
        ({"malformed:no_region": 500, "duplicate": 251}, ["step_loss"]),
        # Enough was taken: nothing is lost.
        ({"over_limit": 900}, []),
        ({"validation": 99}, ["validation_examples"]),
    ],
)
def test_rows(rows, expected):
    assert [kind for kind, _ in found(manifest(rows))] == expected


def test_a_layout_that_drops_much_tells_what_mends_it():
    told = {"dropped:too_long": 50, "dropped:too_many_slots": 40}
    assert found(manifest(encoding=told)) == []
    told["dropped:too_many_slots"] = 41
    (concern,) = trace_concerns(manifest(encoding=told), TracesWarn())
    assert (concern.kind, concern.source, concern.limit) == ("dropped", "train/slotted", 0.1)
    assert concern.message == (
        "train/slotted drops 10.1% of its examples (50 too long, 41 too many slots of 900), so "
        "that models learn from the shorter ones alone: raise seq_len or max_slots"
    )
    (concern,) = trace_concerns(manifest(encoding={"dropped:too_long": 91}), TracesWarn())
    assert concern.message.endswith(": raise seq_len")


@pytest.mark.parametrize(
    ("layout", "key"), [("slotted", "block (32)"), ("adaptive", "sizes (64, 256)")]
)
def test_thoughts_that_are_much_shorter_than_their_blocks(layout, key):
    assert found(manifest(fill=0.5, layout=layout)) == []
    (concern,) = trace_concerns(manifest(fill=0.51, layout=layout), TracesWarn())
    assert (concern.kind, concern.source) == ("fill", f"train/{layout}")
    assert concern.message.endswith(f": try smaller {key}")
