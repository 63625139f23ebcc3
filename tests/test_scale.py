"""The tables of docs/scale.md follow from the code and from what was measured."""

from benchmarks import scale


def test_the_document_says_what_the_figures_say():
    assert scale.DOC.read_text() == scale.written(), "run: python -m benchmarks.scale --write"


def test_what_crosses_a_shuffle_is_linear_in_the_documents():
    """A step whose bytes a document grew from 1x to 16x would end the design early."""
    measured = scale.load_measured()
    for step in scale.STEPS:
        small, large = (
            measured[name]["shuffles"][step.shuffle]["bytes"] / measured[name]["documents"]
            for name in ("1x", "16x")
        )
        assert large < 1.1 * small, step.shuffle
