"""`corpusbeam show --cluster`: what near deduplication took for the same, side by side."""

import difflib
import re
from collections.abc import Iterator
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from beam_pipeline.finished import read_manifest
from beam_pipeline.recipe import Recipe
from beam_pipeline.specs import source_spec
from transforms.duplicates import Clusters, Member, read_again, read_duplicates
from transforms.errors import OutputError, SourceError

# Comparing is quadratic in the words at worst; this many take a second.
WORDS = 1500
AROUND = 12


class Mark(NamedTuple):
    """How words that only one text has are set off: by style, or else by what encloses them."""

    style: str
    begin: str
    end: str


_MARKS = Mark("bold red", "[-", "-]"), Mark("bold green", "{+", "+}")
_RANK = re.compile(r"[1-9][0-9]{0,4}")


def show_clusters(folder: str, most: int, console: Console) -> None:
    """Prints a table of the largest clusters.

    Raises:
      OutputError: the corpus has no clusters on record.
    """
    clusters = _read(folder)
    best = clusters.best()
    names = _source_names(folder)
    table = Table(
        title=f"Near-duplicate clusters: {best.num_rows:,}; the largest",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("", justify="right")
    table.add_column("cluster", no_wrap=True)
    for title in ("documents", "different", "least similar"):
        table.add_column(title, justify="right")
    table.add_column("sources", overflow="fold")
    for rank, row in enumerate(best.slice(0, most).to_pylist(), start=1):
        members = clusters.members(row["cluster"])
        sources = dict.fromkeys(names[member.piece.source] for member in members)
        table.add_row(
            str(rank),
            row["digest"].hex()[:12],
            f"{row['cluster_size']:,}",
            f"{len(members):,}",
            f"{min(member.similarity for member in members):.0%}",
            ", ".join(sources),
        )
    console.print(table)
    console.print(
        "documents counts exact copies, different does not; similarity is to the best one, by "
        "signature. Look at one with --cluster and its number or its digest",
        style="dim",
        highlight=False,
    )


def show_cluster(folder: str, which: str, most: int, console: Console) -> None:
    """Prints a cluster: its members, and each beside the best one, differences marked.

    Args:
      which: its rank by size, from 1, or how the digest of its best document begins.
      most: members to set beside the best one.

    Raises:
      OutputError: there is no such cluster.
    """
    clusters = _read(folder)
    members = clusters.members(_find(clusters, which, folder))
    recipe = Recipe.model_validate(read_manifest(folder)["recipe"])
    specs = [source_spec(recipe, source, "") for source in recipe.sources]
    best, *others = members
    console.print(
        f"cluster {best.digest.hex()[:12]}: {best.cluster_size:,} documents, "
        f"{len(members):,} of them different",
        style="bold",
        highlight=False,
    )
    try:
        text = read_again(best, specs[best.piece.source])
    except SourceError as error:
        console.print(f"the texts cannot be shown: {error}", highlight=False, soft_wrap=True)
        for member in members[: most + 1]:
            console.print(Text(_place(member, specs[member.piece.source].name)))
        return
    for member in others[:most]:
        try:
            other = read_again(member, specs[member.piece.source])
        except SourceError as error:
            console.print(str(error), highlight=False, soft_wrap=True)
            continue
        left, right = (_place(one, specs[one.piece.source].name) for one in (best, member))
        in_colour = console.color_system is not None
        console.print(side_by_side(text, other, left, right, in_colour))
    if len(others) > most:
        console.print(
            f"{len(others) - most:,} more; --first N shows more", style="dim", highlight=False
        )


def _read(folder: str) -> Clusters:
    clusters = read_duplicates(folder)
    if clusters is None:
        account = read_manifest(folder)["ledger"]["total"]
        raise OutputError(
            f"{folder} has no clusters on record, though near duplicates were dropped: it was "
            "built by an older corpusbeam; build it again"
            if "near_duplicate" in account
            else f"{folder} has no near duplicates"
        )
    return clusters


def _find(clusters: Clusters, which: str, folder: str) -> int:
    best = clusters.best()
    if _RANK.fullmatch(which):
        if int(which) > best.num_rows:
            raise OutputError(f"{folder} has clusters 1 to {best.num_rows}, not {which}")
        return int(best["cluster"][int(which) - 1].as_py())
    found = [
        cluster
        for cluster, digest in zip(
            best["cluster"].to_pylist(), best["digest"].to_pylist(), strict=True
        )
        if digest.hex().startswith(which.lower())
    ]
    if len(found) != 1:
        told = f"{len(found)} clusters begin" if found else "no cluster begins"
        raise OutputError(
            f"{folder}: {told} with {which!r}: see corpusbeam show {folder} --cluster"
        )
    return int(found[0])


def _source_names(folder: str) -> list[str]:
    return [source["name"] for source in read_manifest(folder)["recipe"]["sources"]]


def _place(member: Member, source: str) -> str:
    fate = "kept" if member.kept else "dropped"
    likeness = "" if member.best else f", {member.similarity:.0%} like it"
    file = member.piece.path.rpartition("/")[2]
    return f"{source}, row {member.row:,} of {file}, {fate}{likeness}"


def side_by_side(
    left: str, right: str, left_title: str, right_title: str, in_colour: bool
) -> Table:
    """Two texts by word: what differs is marked, and long runs that both share are cut short.

    Texts are compared up to `WORDS` words, white space aside.

    Args:
      in_colour: mark by colour; else by brackets, as wdiff does.
    """
    table = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False)
    for title in (left_title, right_title):
        table.add_column(Text(title), ratio=1, overflow="fold")
    words = left.split(), right.split()
    sides = Text(), Text()
    for tag, some in _runs(words[0][:WORDS], words[1][:WORDS]):
        if tag != "equal":
            for side, run, mark in zip(sides, some, _MARKS, strict=True):
                side.append(*_marked(run, mark, in_colour))
            continue
        head, left_out, tail = _shortened(some[0])
        for side in sides:
            side.append(head)
        if left_out:
            # A row of its own keeps what follows level.
            table.add_row(*sides)
            table.add_row(*(Text(f"… {left_out:,} words that both have …", "dim"),) * 2)
            sides = Text(tail), Text(tail)
    table.add_row(*sides)
    beyond = [len(some) - WORDS for some in words]
    if max(beyond) > 0:
        table.add_row(
            *(Text(f"{n:,} more words, not compared", "dim") if n > 0 else "" for n in beyond)
        )
    return table


def _runs(a: list[str], b: list[str]) -> Iterator[tuple[str, tuple[list[str], list[str]]]]:
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    for tag, a_start, a_stop, b_start, b_stop in matcher.get_opcodes():
        yield tag, (a[a_start:a_stop], b[b_start:b_stop])


def _marked(words: list[str], mark: Mark, in_colour: bool) -> tuple[str, str]:
    if not words:
        return "", ""
    joined = " ".join(words)
    if in_colour:
        return f"{joined} ", mark.style
    return f"{mark.begin}{joined}{mark.end} ", ""


def _shortened(words: list[str]) -> tuple[str, int, str]:
    """The start of a run, how many words are left out, and its end."""
    left_out = len(words) - 2 * AROUND
    if left_out <= AROUND:
        return " ".join([*words, ""]), 0, ""
    return " ".join(words[:AROUND]), left_out, " ".join([*words[-AROUND:], ""])
