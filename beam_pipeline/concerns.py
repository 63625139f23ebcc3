"""What of a finished corpus should make people look twice, from the facts of its manifest."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from beam_pipeline.recipe import Warn
from transforms import ledger, statistics
from transforms.specimens import Specimen
from transforms.statistics import Statistics


class Step(NamedTuple):
    """A step in which documents are lost.

    Attributes:
      name: of the step.
      outcomes: ledger outcomes, without reasons.
    """

    name: str
    outcomes: tuple[str, ...]


# Budget and cap leave documents out because enough were taken, which is no loss to warn of.
LOSSES = (
    Step("reading", (ledger.MALFORMED, ledger.EMPTY)),
    Step("the quality filter", (ledger.FILTERED,)),
    Step("exact deduplication", (ledger.EXACT_DUPLICATE,)),
    Step("near deduplication", (ledger.NEAR_DUPLICATE,)),
    Step("the tokenizer", (ledger.NO_TOKENS,)),
)


class Concern(NamedTuple):
    """A warning.

    Attributes:
      kind: the key of `warn` in a recipe that sets its limit.
      source: name of the source; None where the corpus as a whole is meant.
      value, limit: what was found, and what would have been fine.
      message: one line for people.
    """

    kind: str
    source: str | None
    value: float
    limit: float
    message: str


def concerns(
    manifest: dict[str, Any], found: Statistics, clusters: Sequence[Specimen], warn: Warn
) -> list[Concern]:
    """All warnings about a corpus.

    Args:
      manifest: of the whole corpus.
      found: histograms and sums of its sources.
      clusters: the largest ones.
    """
    return [
        *_losses(manifest, warn.step_loss),
        *_short(manifest, warn.short),
        *_off_target(manifest, warn.off_target),
        *_templates(manifest, clusters, warn.cluster_texts),
        *_costly(manifest, found, warn.tokens_per_byte),
        *_small_val(manifest, warn.val_tokens),
    ]


def _losses(manifest: dict[str, Any], limit: float) -> Iterator[Concern]:
    for source in manifest["sources"]:
        account = manifest["ledger"][source["name"]]
        yield from step_losses(source["name"], account, LOSSES, limit, "documents")


def step_losses(
    source: str,
    account: dict[str, dict[str, int]],
    steps: Sequence[Step],
    limit: float,
    unit: str,
) -> Iterator[Concern]:
    """Warnings of the steps in which a source loses a large share of what came to them.

    Args:
      account: of the source.
      steps: in order.
      unit: what is counted.
    """
    reached = account[ledger.READ]["documents"]
    for step in steps:
        parts = lost_in(account, step)
        lost = sum(parts.values())
        share = lost / reached if reached else 0.0
        if share > limit:
            most = max(parts, key=lambda outcome: (parts[outcome], outcome))
            why = f", most as {in_words(most)} ({parts[most]:,})" if ":" in most else ""
            message = (
                f"{source} loses {share:.1%} of its {unit} to {step.name} "
                f"({lost:,} of the {reached:,} that came to it){why}"
            )
            yield Concern("step_loss", source, share, limit, message)
        reached -= lost


def lost_in(account: dict[str, dict[str, int]], step: Step) -> dict[str, int]:
    """Documents of a source that a step dropped, by ledger outcome."""
    return {
        outcome: amount["documents"]
        for outcome, amount in account.items()
        if outcome.partition(":")[0] in step.outcomes
    }


def in_words(outcome: str) -> str:
    """A ledger outcome for people: its reason, if it has one."""
    return (outcome.partition(":")[2] or outcome).replace("_", " ")


def _short(manifest: dict[str, Any], limit: float) -> Iterator[Concern]:
    asked = manifest["recipe"]["train_tokens"]
    tokens = sum(source["realized_tokens"] for source in manifest["sources"])
    lacking = 1 - tokens / asked
    if lacking > limit:
        message = (
            f"train has {tokens:,} of the {asked:,} tokens of train_tokens: read more, ask for "
            f"less, or change when_short ({manifest['recipe']['when_short']})"
        )
        yield Concern("short", None, lacking, limit, message)


def _off_target(manifest: dict[str, Any], limit: float) -> Iterator[Concern]:
    for source in manifest["sources"]:
        target, realized = source["target_weight"], source["realized_weight"]
        off = abs(realized - target) / target if target else 0.0
        if off > limit:
            short = source["available_tokens"] < source["target_tokens"]
            why = (
                f"it has {source['available_tokens']:,} of the {source['target_tokens']:,} tokens "
                "that its weight asks for"
                if short
                else "other sources have too few tokens"
            )
            message = (
                f"{source['name']} makes {realized:.1%} of the tokens of train, not "
                f"{target:.1%}: {why}"
            )
            yield Concern("off_target", source["name"], off, limit, message)


def _templates(
    manifest: dict[str, Any], clusters: Sequence[Specimen], limit: int
) -> Iterator[Concern]:
    for cluster in clusters:
        if cluster.texts > limit:
            name = manifest["sources"][cluster.members[0].source]["name"]
            message = (
                f"{cluster.texts:,} different texts make one cluster of near duplicates, of which "
                f"one in {name} stands for the others: they may fill in a template rather than be "
                "copies"
            )
            yield Concern("cluster_texts", name, cluster.texts, limit, message)


def _costly(manifest: dict[str, Any], found: Statistics, limit: float) -> Iterator[Concern]:
    if manifest["tokenizer"]["name"] == "bytes":
        return
    for source in manifest["sources"]:
        spending = spending_of(found, source["name"])
        ratio = spending.tokens / spending.bytes if spending.bytes else 0.0
        if ratio > limit:
            message = (
                f"{source['name']} takes {ratio:.2f} tokens a byte: the vocabulary does not suit "
                "its texts"
            )
            yield Concern("tokens_per_byte", source["name"], ratio, limit, message)


def spending_of(found: Statistics, source: str) -> statistics.Spending:
    """Tokens and bytes of what was encoded of a source."""
    return statistics.Spending(*found.get(source, {}).get(statistics.SPENDING, (0, 0)))


def _small_val(manifest: dict[str, Any], limit: int) -> Iterator[Concern]:
    holdout = manifest["recipe"]["holdout"]
    tokens = manifest["splits"]["val"]["n_document_tokens"]
    expected = min(limit, holdout["max_tokens"] // 2)
    if holdout["per_mille"] and tokens < expected:
        message = (
            f"val has only {tokens:,} tokens, so that its loss is noisy: raise holdout.per_mille "
            f"({holdout['per_mille']}), or read more"
        )
        yield Concern("val_tokens", None, tokens, expected, message)
