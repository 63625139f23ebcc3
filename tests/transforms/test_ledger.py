import apache_beam as beam

from tests.transforms.eager import MODES, run
from transforms import ledger

# More than 32 bits hold.
LARGE = 1 << 40


def tally(elements, *options):
    def build(pipeline):
        return {"entries": pipeline | beam.Create(elements) | ledger.Tally()}

    return sorted(run(build, *options)["entries"])


@MODES
def test_entries_are_summed_by_source_and_outcome(options):
    entries = [
        ledger.entry("web", ledger.READ, 1, LARGE),
        ledger.entry("books", ledger.READ, 5, 50),
        *[ledger.entry("web", ledger.READ, 2, LARGE)] * 3,
        ledger.entry("web", ledger.TRAIN, 7, 4 * LARGE),
    ]
    assert tally(entries, *options) == [
        (("books", ledger.READ), (5, 50)),
        (("web", ledger.READ), (7, 4 * LARGE)),
        (("web", ledger.TRAIN), (7, 4 * LARGE)),
    ]


def test_no_entries_are_no_lines():
    assert tally([]) == []
