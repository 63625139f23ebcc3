"""Everything that is settled, checked and written before a corpus job starts."""

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from beam_pipeline import recipe_file as recipes
from beam_pipeline.job_arguments import JobArguments
from beam_pipeline.manifest import TOKENIZER, CorpusFacts, versions
from beam_pipeline.recipe import Recipe, Source
from beam_pipeline.specs import source_spec, tokenizer_spec
from beam_pipeline.started import check_output, check_work, started, started_work, take
from transforms import duplicates, quality, readers, rejects, storage
from transforms.budget import BudgetSettings
from transforms.clusters import Keep
from transforms.documents import RowBatch
from transforms.errors import RecipeError
from transforms.kernels.minhash import Signer, candidate_probability
from transforms.land import plan_work, write_pieces
from transforms.near_dedup import NearDedupSettings
from transforms.readers import planning
from transforms.readers.planning import Plan
from transforms.scan import ScanSettings
from transforms.sources import SourceSpec
from transforms.tokenize import SPLITS, TokenizeSettings
from transforms.tokenizers.ahead import prepared
from transforms.tokenizers.settle import settle
from transforms.tokenizers.spec import PreparedTokenizer
from transforms.work import WorkFolder
from transforms.write import WriteSettings

PARTITION_BYTES = 64 << 20
HUB_SHARD_BYTES = 500 << 20
MIN_PARTITIONS, MAX_PARTITIONS = 4, 4096
SAMPLE_BYTES = 32 << 10
S_CURVE = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Launch:
    """A corpus job, ready to be built into a graph.

    Attributes:
      output: folder of the corpus.
      landed_bytes: of text in a landed piece, at least.
      scan, near, tokenize, budget, write: settings of the steps.
      keep: policy for near duplicates.
      by_source: duplicates in different sources do not count.
      facts: for the manifests.
      plans: of the sources.
      remarks: lines to tell the user at launch.
    """

    output: str
    work: WorkFolder
    landed_bytes: int
    scan: ScanSettings
    near: NearDedupSettings
    keep: Keep
    by_source: bool
    tokenize: TokenizeSettings
    budget: BudgetSettings
    write: WriteSettings
    facts: CorpusFacts
    plans: tuple[Plan, ...]
    remarks: tuple[str, ...]

    @property
    def source_names(self) -> tuple[str, ...]:
        """Names of the sources, by place in the recipe."""
        return tuple(spec.name for spec in self.scan.sources)


def launch(asked: JobArguments) -> Launch:
    """Checks a recipe and its inputs, and writes what the workers read.

    Raises:
      CorpusError: what is wrong, in one line; no shard has been touched.
    """
    output, resume = asked.output, asked.resume
    recipe_path = recipes.find(asked.recipe)
    recipe = recipes.load(recipe_path, Recipe)
    rules = tuple(_rules(source, recipe_path) for source in recipe.sources)
    specs = [source_spec(recipe, source, recipe_path) for source in recipe.sources]
    if asked.offline:
        specs = [planning.offline(spec) for spec in specs]
    if asked.elsewhere:
        planning.refuse_local(specs)
    tokenizer, tokenizer_json = prepared(tokenizer_spec(recipe, recipe_path))
    plans = plan_sources(specs, asked.piece_bytes)
    specs = [planned.spec for planned in plans]
    work = WorkFolder(work_root(output, asked.work_dir), resume)
    this_corpus = started(recipe, plans, tokenizer, asked.offline)
    this_work = started_work(this_corpus, plans)
    folders = (*SPLITS, rejects.FOLDER, duplicates.FOLDER)
    check_output(output, this_corpus, resume, folders)
    check_work(work, this_work)
    sample = [text for planned in plans for text in sample_of(first_texts(planned))]
    path = storage.join(output, TOKENIZER)
    tokenizer, reason = settle(tokenizer, tokenizer_json, path, sample, asked.backend)
    take(output, work, this_corpus, this_work, folders)
    write_plan(work, plans)
    return _settings(
        recipe,
        specs,
        rules,
        tokenizer,
        plans,
        work,
        output,
        asked.offline,
        _remarks(recipe, plans, reason),
    )


def plan_sources(specs: list[SourceSpec], piece_bytes: int | None = None) -> list[Plan]:
    """Finds and cuts the input of every source."""
    listings = [planning.list_files(spec) for spec in specs]
    if piece_bytes is None:
        files = [size for listing in listings if listing for _, size in listing.chosen]
        piece_bytes = planning.piece_bytes_for(sum(files))
    plans: list[Plan] = []
    number = 0
    for place, (spec, listing) in enumerate(zip(specs, listings, strict=True)):
        plans.append(planning.plan(place, spec, number, piece_bytes, listing))
        number += len(plans[-1].pieces)
    return plans


def write_plan(work: WorkFolder, plans: list[Plan]) -> None:
    """Writes the planned pieces; those of a run that is resumed stay as they are."""
    if not storage.exists(work.pieces()):
        pieces = [piece for planned in plans for piece in planned.pieces]
        sizes = dict(entry for planned in plans for entry in planned.inputs)
        write_pieces(work.pieces(), plan_work(pieces, sizes))


def work_root(output: str, work_dir: str | None) -> str:
    """A folder of this run's own, which may be removed whole."""
    if work_dir is None:
        return storage.join(output, "_work")
    place = output.rstrip("/") if storage.is_remote(output) else os.path.abspath(output)
    name = hashlib.blake2b(os.fsencode(place), digest_size=8).hexdigest()
    return storage.join(work_dir, f"corpusbeam-{name}")


def _rules(source: Source, recipe_path: str) -> quality.Rules:
    try:
        return quality.rules_for(source.domain, source.filter)
    except RecipeError as error:
        raise RecipeError(f"{recipe_path}: sources[{source.name}].filter: {error}") from error


def sample_of(texts: Iterable[str]) -> Iterator[str]:
    """Some of a source's texts; `tokenizers` does 2 MB a second."""
    size = 0
    for text in texts:
        yield text
        size += len(text)
        if size > SAMPLE_BYTES:
            return


def first_texts(planned: Plan) -> Iterator[str]:
    """Texts of a source, as far as they can be read at launch."""
    for piece in planned.pieces[:1]:
        if piece.kind != "hub":
            for batch in readers.read(piece, planned.spec):
                if isinstance(batch, RowBatch):
                    yield from batch.texts.strings()


def _remarks(recipe: Recipe, plans: list[Plan], reason: str) -> tuple[str, ...]:
    rows = recipe.dedup.permutations // recipe.dedup.bands
    curve = ", ".join(
        f"{j:g}: {candidate_probability(j, recipe.dedup.bands, rows):.1%}" for j in S_CURVE
    )
    remarks = [f"near-duplicate candidates by Jaccard similarity: {curve}"]
    if reason:
        remarks.append(reason)
    for planned in plans:
        remarks += planned.warnings
    return tuple(remarks)


def input_bytes(plans: list[Plan]) -> int:
    """How much input there is, as it is stored."""
    size = sum(size for planned in plans for _, size in planned.inputs)
    # The hub does not tell sizes; its shards are this large as a rule.
    return size + HUB_SHARD_BYTES * sum(
        piece.kind == "hub" for planned in plans for piece in planned.pieces
    )


def partitions_of(plans: list[Plan]) -> int:
    """How many partitions digests are grouped in; a power of two."""
    wanted = max(MIN_PARTITIONS, min(MAX_PARTITIONS, input_bytes(plans) // PARTITION_BYTES))
    return 1 << (wanted - 1).bit_length()


def skipped_in(plans: list[Plan]) -> tuple[tuple[str, str, str], ...]:
    """(path, kind, detail) of damaged files that the plans leave out."""
    return tuple((note.path, note.kind, note.detail) for plan in plans for note in plan.skipped)


def _settings(
    recipe: Recipe,
    specs: list[SourceSpec],
    rules: tuple[quality.Rules, ...],
    tokenizer: PreparedTokenizer,
    plans: list[Plan],
    work: WorkFolder,
    output: str,
    offline: bool,
    remarks: tuple[str, ...],
) -> Launch:
    sources = tuple(specs)
    names = tuple(spec.name for spec in specs)
    weights = tuple(source.weight for source in recipe.sources)
    dedup = recipe.dedup
    by_source = dedup.scope == "source"
    partitions = partitions_of(plans)
    return Launch(
        output=output,
        work=work,
        landed_bytes=planning.piece_bytes_for(input_bytes(plans)),
        scan=ScanSettings(
            sources=sources,
            rules=rules,
            priorities=tuple(
                place if source.priority is None else source.priority
                for place, source in enumerate(recipe.sources)
            ),
            seed=recipe.seed,
            signer=Signer(dedup.permutations, dedup.shingle),
            partitions=partitions,
            unicode_version=unicodedata.unidata_version,
            work=work,
        ),
        near=NearDedupSettings(
            permutations=dedup.permutations,
            bands=dedup.bands,
            threshold=dedup.threshold,
            partitions=partitions,
            by_source=by_source,
            work=work,
        ),
        keep=dedup.keep,
        by_source=by_source,
        tokenize=TokenizeSettings(
            sources, weights, recipe.seed, recipe.holdout.per_mille, tokenizer, work, output
        ),
        budget=BudgetSettings(
            sources=names,
            weights=weights,
            seed=recipe.seed,
            seq_len=recipe.seq_len,
            train_tokens=recipe.train_tokens,
            val_tokens=recipe.holdout.max_tokens,
            when_short=recipe.when_short,
            max_epochs=recipe.max_epochs,
        ),
        write=WriteSettings(
            sources=names,
            named=tuple(spec.id_column is not None for spec in specs),
            seq_len=recipe.seq_len,
            tokens_per_shard=recipe.tokens_per_shard,
            tokenizer=tokenizer,
            work=work,
            output=output,
        ),
        facts=CorpusFacts(
            recipe=recipe.canonical(),
            recipe_sha256=recipe.sha256(),
            warn=recipe.warn,
            rules=rules,
            sources=sources,
            inputs_chosen=tuple((planned.chosen, planned.total) for planned in plans),
            tokenizer=tokenizer,
            filter_config_hash=quality.filter_config_hash(dict(zip(names, rules, strict=True))),
            skipped=skipped_in(plans),
            offline=offline,
            versions=versions(),
        ),
        plans=tuple(plans),
        remarks=remarks,
    )
