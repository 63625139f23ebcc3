"""A corpus recipe's sources and tokenizer, as the packages that do the work see them."""

import os

from beam_pipeline import recipe_file as recipes
from beam_pipeline.recipe import Input, Recipe, Source
from transforms.sources import FilesInput, HubInput, SourceSpec, SyntheticInput
from transforms.tokenizers.spec import Kind, TokenizerSpec


def source_spec(recipe: Recipe, source: Source, recipe_path: str) -> SourceSpec:
    """A recipe's source, as the readers see it."""
    given: FilesInput | HubInput | SyntheticInput
    if source.synthetic is not None:
        given = SyntheticInput(source.synthetic.documents)
    else:
        given = input_of(source, recipe_path)
    return SourceSpec(
        name=source.name,
        domain=source.domain,
        input=given,
        text_column=source.text_column,
        id_column=source.id_column,
        read_fraction=source.read_fraction,
        max_doc_bytes=recipe.max_doc_bytes,
        on_bad_file=recipe.on_bad_file,
    )


def input_of(source: Input, recipe_path: str) -> FilesInput | HubInput:
    """Files or a hub dataset of a recipe, as the readers see them."""
    if source.files is not None:
        return FilesInput(tuple(recipes.beside(recipe_path, path) for path in source.files))
    hub = source.huggingface
    assert hub is not None
    local = recipes.beside(recipe_path, hub.repo)
    return HubInput(**{**hub.model_dump(), "repo": local if os.path.isdir(local) else hub.repo})


def tokenizer_spec(recipe: Recipe, recipe_path: str) -> TokenizerSpec:
    """A recipe's tokenizer, as `prepare` takes it."""
    asked = recipe.tokenizer
    if asked == "bytes":
        return TokenizerSpec("bytes")
    return TokenizerSpec(
        *tokenizer_origin(asked.file, asked.huggingface, recipe_path),
        asked.bos,
        asked.eos,
        asked.pad,
        asked.add_missing,
        asked.dtype,
        token_secret=asked.token_secret,
    )


def tokenizer_origin(
    file: str | None, huggingface: str | None, recipe_path: str
) -> tuple[Kind, str]:
    """Kind and location of the tokenizer that a recipe gives by one of its two keys.

    With neither, a file that has no location yet.
    """
    if huggingface is not None:
        return "huggingface", huggingface
    return "file", "" if file is None else recipes.beside(recipe_path, file)
