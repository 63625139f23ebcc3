"""Everything that is settled, checked and written before a traces job starts."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

import orjson

from beam_pipeline import recipe_file as recipes
from beam_pipeline.job_arguments import JobArguments
from beam_pipeline.launch import (
    first_texts,
    partitions_of,
    plan_sources,
    sample_of,
    skipped_in,
    work_root,
    write_plan,
)
from beam_pipeline.manifest import TOKENIZER, versions
from beam_pipeline.specs import input_of, tokenizer_origin
from beam_pipeline.started import check_output, check_work, started, started_work, take
from beam_pipeline.traces_manifest import TracesFacts
from beam_pipeline.traces_recipe import TracesRecipe
from transforms import rejects, storage
from transforms.errors import RecipeError
from transforms.readers import planning
from transforms.readers.planning import Plan
from transforms.sources import HubInput, SourceSpec
from transforms.tokenizers.prepare import prepare
from transforms.tokenizers.settle import settle
from transforms.tokenizers.spec import BackendChoice, TokenizerSpec
from transforms.traces.encode_examples import EncodeSettings
from transforms.traces.example import Example
from transforms.traces.parse_rows import ParseSettings
from transforms.traces.parsers import ParserSpec, parse
from transforms.traces.settle_tokenizer import SettleSettings, Training, special_of
from transforms.traces.special_tokens import special_names
from transforms.work import WorkFolder

SOURCE = "traces"


@dataclass(frozen=True)
class TracesLaunch:
    """A traces job, ready to be built into a graph.

    Attributes:
      output: folder of the traces.
      parse, tokenizer, encode: settings of the steps.
      limit, scan_limit: as in the recipe.
      facts: for the manifests.
      remarks: lines to tell the user at launch.
    """

    output: str
    work: WorkFolder
    parse: ParseSettings
    limit: int | None
    scan_limit: int | None
    tokenizer: SettleSettings
    encode: EncodeSettings
    tokens_per_shard: int
    facts: TracesFacts
    remarks: tuple[str, ...]


def launch_traces(asked: JobArguments) -> TracesLaunch:
    """Checks a recipe and its input, and writes what the workers read.

    Raises:
      CorpusError: what is wrong, in one line; no shard has been touched.
    """
    output, resume = asked.output, asked.resume
    recipe_path = recipes.find(asked.recipe)
    recipe = recipes.load(recipe_path, TracesRecipe)
    parser = recipe.parser.spec()
    spec = source_spec(recipe, parser, recipe_path)
    if asked.offline and isinstance(spec.input, HubInput):
        raise RecipeError(
            f"{recipe_path}: nothing stands in for a hub source of traces: build without "
            "--offline, or a recipe whose source is files, such as demo-traces"
        )
    if asked.elsewhere:
        planning.refuse_local([spec])
    wanted = tokenizer_spec(recipe, recipe_path, asked.backend)
    prepared = None
    if recipe.tokenizer.train is None:
        prepared, tokenizer_json = prepare(wanted)
        special_of(prepared)
    (plan,) = plan_sources([spec], asked.piece_bytes)
    spec = plan.spec
    work = WorkFolder(work_root(output, asked.work_dir), resume)
    encode = EncodeSettings(
        SOURCE, recipe.seed, recipe.val_fraction, recipe.layouts, recipe.geometry(), work
    )
    this_run = started(recipe, [plan], prepared, asked.offline)
    this_work = started_work(this_run, [plan])
    folders = (*encode.folders(), rejects.FOLDER)
    check_output(output, this_run, resume, folders)
    check_work(work, this_work)
    path, reason = storage.join(output, TOKENIZER), ""
    if prepared is not None:
        sample = list(sample_of(_example_texts(plan, parser)))
        prepared, reason = settle(prepared, tokenizer_json, path, sample, asked.backend)
    take(output, work, this_run, this_work, folders)
    write_plan(work, [plan])
    return TracesLaunch(
        output=output,
        work=work,
        parse=ParseSettings(spec, parser, partitions_of([plan]), unicodedata.unidata_version, work),
        limit=recipe.limit,
        scan_limit=recipe.scan_limit,
        tokenizer=SettleSettings(
            wanted=prepared or _training(recipe, wanted, work),
            path=path,
            val_fraction=recipe.val_fraction,
            limit=recipe.limit,
            work=work,
        ),
        encode=encode,
        tokens_per_shard=recipe.tokens_per_shard,
        facts=TracesFacts(
            recipe=recipe.canonical(),
            recipe_sha256=recipe.sha256(),
            warn=recipe.warn,
            source=spec,
            inputs_chosen=(plan.chosen, plan.total),
            layouts=recipe.layouts,
            geometry=recipe.geometry(),
            skipped=skipped_in([plan]),
            versions=versions(),
        ),
        remarks=tuple(filter(None, [reason, *plan.warnings])),
    )


def source_spec(recipe: TracesRecipe, parser: ParserSpec, recipe_path: str) -> SourceSpec:
    """A recipe's source, as the readers see it: of each row, the parser's columns."""
    return SourceSpec(
        name=SOURCE,
        domain="",
        input=input_of(recipe.source, recipe_path),
        max_doc_bytes=recipe.max_doc_bytes,
        on_bad_file=recipe.on_bad_file,
        columns=tuple(dict.fromkeys(parser.column_of().values())),
    )


def tokenizer_spec(recipe: TracesRecipe, recipe_path: str, backend: BackendChoice) -> TokenizerSpec:
    """A recipe's tokenizer with all its special tokens; one to be trained has no location yet."""
    asked = recipe.tokenizer
    names = special_names(recipe.geometry().sizes, asked.names)
    bos, eos, pad = names.pop("bos"), names.pop("eos"), names.pop("pad")
    return TokenizerSpec(
        *tokenizer_origin(asked.file, asked.huggingface, recipe_path),
        bos,
        eos,
        pad,
        asked.add_missing,
        asked.dtype,
        backend,
        tuple(names.items()),
        asked.token_secret,
    )


def _training(recipe: TracesRecipe, wanted: TokenizerSpec, work: WorkFolder) -> Training:
    asked = recipe.tokenizer.train
    assert asked is not None
    names = special_names(recipe.geometry().sizes, recipe.tokenizer.names)
    return Training(
        vocab_size=asked.vocab_size,
        min_frequency=asked.min_frequency,
        max_bytes=asked.max_bytes,
        special_tokens=tuple(names.values()),
        checks=replace(wanted, location=work.tokenizer()),
    )


def _example_texts(plan: Plan, parser: ParserSpec) -> Iterator[str]:
    """Texts of the first examples, as they will be encoded."""
    for row in first_texts(plan):
        example = parse(parser, orjson.loads(row))
        if isinstance(example, Example):
            yield from example.texts()
