import pytest
import yaml

from beam_pipeline import recipe_file as recipes
from beam_pipeline.recipe import Recipe
from beam_pipeline.traces_recipe import TracesRecipe
from transforms.errors import RecipeError

GOOD = {
    "name": "tiny",
    "train_tokens": 1000,
    "tokenizer": "bytes",
    "sources": [
        {"name": "web", "domain": "web", "weight": 0.75, "files": "web/*.jsonl"},
        {"name": "code", "domain": "code", "weight": 0.25, "synthetic": {"documents": 10}},
    ],
}


def recipe_with(**changes):
    """The good recipe with changes at dotted places; a value of None takes the key away."""
    raw = yaml.safe_load(yaml.safe_dump(GOOD))
    for place, value in changes.items():
        *parents, last = place.split("__")
        target = raw
        for part in parents:
            target = target[int(part) if part.isdigit() else part]
        if value is None:
            del target[last]
        else:
            target[last] = value
    return yaml.safe_dump(raw).encode()


def parse(**changes):
    return recipes.parse(recipe_with(**changes), "tiny.yaml", Recipe)


def test_defaults_are_filled_in():
    recipe = parse()
    assert recipe.seed == 1337
    assert recipe.dedup.bands == 16
    assert recipe.sources[0].files == ("web/*.jsonl",)
    assert recipe.canonical()["holdout"] == {"per_mille": 1, "max_tokens": 10_000_000}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_token": 5}, r"train_token: unknown key; known keys: name, seed, seq_len"),
        ({"sources__0__wieght": 1}, r"sources\[web\]\.wieght: unknown key; known keys: files,"),
        ({"dedup": {"band": 4}}, r"dedup\.band: unknown key; known keys: scope, permutations"),
        ({"tokenizer": {"fil": "x"}}, r"tokenizer\.fil: unknown key; known keys: file"),
        (
            {"tokenizer": "gpt2"},
            r"tokenizer: .* a mapping with the keys file, .*, or the word bytes, got 'gpt2'$",
        ),
        ({"holdout": 20}, r"holdout: .* a mapping with the keys per_mille, max_tokens, got 20$"),
        ({"sources": {"name": "web"}}, r"sources: Input should be a list$"),
        ({"sources": ["web"]}, r"sources\[0\]: .* a mapping with the keys files, .*, got 'web'$"),
        (
            {"sources__0__filter": 3},
            r"sources\[web\]\.filter: .* a mapping of keys to values, got 3$",
        ),
        ({"tokenizer": {"bos": "<s>"}}, r"tokenizer: give exactly one of file and huggingface"),
        ({"sources__0__weight": 0.7}, r"must add up to 1: 0\.7 \+ 0\.25 = 0\.95"),
        ({"sources__0__domain": "webb"}, r"sources\[web\]\.domain: .*'web', 'synthetic'.*'webb'"),
        ({"sources__0__name": "my web"}, r"'my web' is not a plain word"),
        ({"sources__1__name": "total"}, r"'total' is what the ledger calls all sources"),
        ({"train_tokens": 10**30}, r"train_tokens: .*less than"),
        ({"sources__1__name": "web"}, r"source names must differ: web appears twice"),
        ({"sources__0__synthetic": {}}, r"exactly one of .* \(got files and synthetic\)"),
        ({"sources__1__synthetic": None}, r"exactly one of .* \(got none\)"),
        ({"train_tokens": "many"}, r"train_tokens: .*whole number, got 'many'"),
        ({"train_tokens": None}, r"train_tokens: this key is missing"),
        ({"seq_len": 2}, r"seq_len: .*greater than or equal to 3"),
        ({"sources": []}, r"sources: .*at least 1"),
        ({"dedup": {"bands": 7}}, r"dedup: bands \(7\) must divide permutations \(128\)"),
        ({"sources__0__weight": float("nan")}, r"weight"),
        ({"when_short": "panic"}, r"when_short: .*'shortfall', 'redistribute'"),
    ],
)
def test_a_mistake_is_one_line_naming_the_place(changes, message):
    with pytest.raises(RecipeError, match=message) as caught:
        parse(**changes)
    text = str(caught.value)
    assert text.startswith("tiny.yaml: ")
    assert "\n" not in text


def test_a_key_given_twice_is_a_mistake():
    with pytest.raises(RecipeError, match=r"tiny.yaml:2: 'seed' is given twice"):
        recipes.parse(b"seed: 1\nseed: 2\n", "tiny.yaml", Recipe)


@pytest.mark.parametrize("text", [b"- a\n", b"just words", b"", b"a: [1,\n", b"\xff\xfe\x00"])
def test_what_is_no_recipe_is_one_line(text):
    with pytest.raises(RecipeError, match=r"^tiny.yaml[^\n]*$"):
        recipes.parse(text, "tiny.yaml", Recipe)


def test_layout_does_not_change_the_digest_but_values_do():
    plain = recipes.parse(recipe_with(), "a.yaml", Recipe).sha256()
    commented = recipes.parse(b"# comment\n" + recipe_with(seed=1337), "b.yaml", Recipe).sha256()
    assert plain == commented
    assert plain != parse(seed=1338).sha256()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("demo", Recipe),
        ("demo-traces", TracesRecipe),
        ("glaive", TracesRecipe),
        ("stack100m", Recipe),
        ("synthetic", Recipe),
    ],
)
def test_shipped_recipes_load_by_name(name, kind):
    assert recipes.load(recipes.find(name), kind).name == name


def test_an_unknown_recipe_names_the_shipped_ones():
    with pytest.raises(RecipeError, match="demo, demo-traces, glaive, stack100m, synthetic"):
        recipes.find("nothing-of-the-kind")


def test_paths_start_at_the_recipe():
    assert recipes.beside("/data/recipes/a.yaml", "web/*.gz") == "/data/recipes/web/*.gz"
    assert recipes.beside("gs://bucket/recipes/a.yaml", "web.gz") == "gs://bucket/recipes/web.gz"
    assert recipes.beside("/data/a.yaml", "/else/web.gz") == "/else/web.gz"
    assert recipes.beside("/data/a.yaml", "gs://bucket/web.gz") == "gs://bucket/web.gz"
