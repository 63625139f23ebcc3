from dataclasses import replace

import apache_beam as beam
import numpy as np
import pytest

from tests.transforms.eager import MODES, are, run
from tests.transforms.steps import amounts, cut
from transforms import budget, ledger, records
from transforms.budget import Budget, BudgetSettings, Share
from transforms.errors import CorpusError
from transforms.tokenize import SPLITS, TRAIN, VAL, group_key, split_and_source

SETTINGS = BudgetSettings(
    sources=("web", "books", "code"),
    weights=(0.5, 0.3, 0.2),
    seed=5,
    seq_len=32,
    train_tokens=20_000,
    val_tokens=2000,
    when_short="shortfall",
    max_epochs=4,
)
GROUPS = [group_key(split, place) for place in range(3) for split in (TRAIN, VAL)]


def documents(count, seed):
    generator = np.random.default_rng(seed)
    found = np.zeros(count, records.DOCUMENT)
    found["text_hi"], found["text_lo"] = generator.integers(0, 1 << 64, (2, count), np.uint64)
    found["ids"] = generator.integers(1, 300, count)
    found["size"] = generator.integers(1, 1 << 32, count)
    found["place"] = np.arange(count)
    found["piece"] = seed
    return found


# Of code there is less than it may spend, of the rest more.
FOUND = {key: documents(10 if key == group_key(TRAIN, 2) else 200, seed=key) for key in GROUPS}


def spend(settings, elements, *options):
    def build(pipeline):
        return (pipeline | beam.Create(elements) | Budget(settings))._asdict()

    return run(build, *options)


def whole():
    return [(key, found.tobytes()) for key, found in FOUND.items()]


def taken_plainly(settings, key, share):
    """(place, how often) of what sorting everything in pick order takes."""
    found = FOUND[key]
    picks = budget.pick_keys(found, settings, key, share.epochs)
    cost = budget.costs(found, settings.seq_len)
    times = np.full(len(found), share.epochs)
    rest = share.rest
    for k in np.lexsort([picks[:, 1], picks[:, 0]]).tolist():
        if rest <= 0:
            break
        times[k] += 1
        rest -= int(cost[k])
    return {place: n for place, n in enumerate(times.tolist()) if n}


def times_chosen(output):
    """How often each document was taken, by group and place."""
    times = {key: {} for key in GROUPS}
    for split, packed in output["chosen"]:
        for row in np.frombuffer(packed, records.CHOSEN):
            of_group = times[group_key(split, int(row["source"]))]
            of_group[int(row["place"])] = of_group.get(int(row["place"]), 0) + 1
    return times


def account_of(settings, times):
    """What the ledger should say."""
    account = {}
    for key, of_group in times.items():
        split, place = split_and_source(key)
        name, sizes = settings.sources[place], FOUND[key]["size"].astype(int)
        left = [k for k in range(len(sizes)) if k not in of_group]
        repeats = {k: n - 1 for k, n in of_group.items() if n > 1}
        lines = {
            SPLITS[split]: (len(of_group), sum(sizes[k] for k in of_group)),
            (ledger.OVER_BUDGET, ledger.OVER_CAP)[split]: (len(left), sum(sizes[left])),
            ledger.TRAIN_REPEATS: (
                sum(repeats.values()),
                sum(n * sizes[k] for k, n in repeats.items()),
            ),
        }
        for outcome, amount in lines.items():
            if amount[0]:
                account[name, outcome] = amount
    return account


@MODES
@pytest.mark.parametrize("when_short", ["shortfall", "redistribute", "repeat"])
def test_each_source_is_taken_in_pick_order_until_its_share_is_spent(when_short, options):
    settings = replace(SETTINGS, when_short=when_short)
    output = spend(settings, whole(), *options)
    assert are(output["chosen"], int, bytes)
    (shares,) = output["shares"]
    assert sorted(shares) == sorted(GROUPS)
    times = times_chosen(output)
    for key in GROUPS:
        share, available = shares[key]
        assert available == budget.costs(FOUND[key], settings.seq_len).sum()
        assert times[key] == taken_plainly(settings, key, share), key
    assert max(times[group_key(TRAIN, 2)].values()) == (3 if when_short == "repeat" else 1)
    assert amounts(output["entries"]) == account_of(settings, times)
    spent = dict(output["spent"])
    assert len(spent) == len(output["spent"])
    for key, (count, tokens) in spent.items():
        cost = budget.costs(FOUND[key], settings.seq_len)
        assert count == sum(times[key].values())
        assert tokens == sum(n * int(cost[place]) for place, n in times[key].items())


def test_elements_and_their_order_do_not_matter():
    parts = [
        (key, part)
        for key, found in FOUND.items()
        for part in cut(found.tobytes(), records.DOCUMENT, 11)
    ]
    one, several = spend(SETTINGS, whole()), spend(SETTINGS, parts[::-1])
    assert times_chosen(several) == times_chosen(one)
    assert amounts(several["entries"]) == amounts(one["entries"])
    assert sorted(several["spent"]) == sorted(one["spent"])
    assert several["shares"] == one["shares"]


def test_epochs_have_orders_of_their_own():
    output = spend(replace(SETTINGS, when_short="repeat"), whole())
    rows = np.concatenate([np.frombuffer(p, records.CHOSEN) for _, p in output["chosen"]])
    repeated = rows[(rows["source"] == 2) & (rows["piece"] == group_key(TRAIN, 2))]
    assert len(repeated) > 20
    assert len(np.unique(repeated["shuffle_hi"])) == len(repeated)


def test_fail_names_what_is_short():
    with pytest.raises(
        CorpusError, match=r"when_short is fail, and code has .* tokens of the 4,000"
    ):
        spend(replace(SETTINGS, when_short="fail"), whole())


@MODES
def test_no_documents_are_shares_without_takers(options):
    output = spend(SETTINGS, [], *options)
    assert (output["chosen"], output["entries"], output["spent"]) == ([], [], [])
    (shares,) = output["shares"]
    assert shares[group_key(TRAIN, 0)] == (Share(10_000, 10_000, 0, 0), 0)


def test_without_a_cap_for_validation_all_held_out_documents_are_over_it():
    output = spend(replace(SETTINGS, val_tokens=0), whole())
    account = amounts(output["entries"])
    assert {outcome for _, outcome in account} == {
        ledger.TRAIN,
        ledger.OVER_BUDGET,
        ledger.OVER_CAP,
    }
    assert sum(n for (_, outcome), (n, _) in account.items() if outcome == ledger.OVER_CAP) == 600
