"""What finished traces promise, checked on their bytes."""

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from beam_pipeline.finished import ShardFiles, listing_problems, read_manifest, report_problems
from beam_pipeline.manifest import MANIFEST
from transforms import ledger
from transforms.errors import InternalError
from transforms.traces.geometry import Geometry
from transforms.traces.layouts import KEPT, ExampleIds, encode
from transforms.traces.readback import texts
from transforms.traces.special_tokens import SpecialTokens
from transforms.traces.split import in_validation
from transforms.traces.split_examples import SPLITS
from transforms.traces.statistics import LayoutStatistics
from transforms.traces.write_layouts import REGIONS


def traces_problems(root: str, whole: dict[str, Any]) -> Iterator[str]:
    """What is wrong with finished traces, one line each; nothing if all is well.

    Args:
      root: their folder.
      whole: its manifest.
    """
    for line in ledger.imbalances(whole["ledger"]):
        yield f"ledger: {line}"
    problems_of: dict[str, set[bytes]] = {split: set() for split in SPLITS}
    for folder in whole["layouts"]:
        manifest = read_manifest(root, folder)
        yield from listing_problems(folder, manifest, whole)
        yield from _account_problems(folder, manifest)
        checked = _Folder(root, folder, manifest)
        yield from checked.problems()
        problems_of[manifest["split"]] |= checked.digests
    yield from report_problems(root, whole)
    both = set.intersection(*problems_of.values())
    if both:
        yield f"{len(both)} problems are in both splits, such as SHA-256 {min(both).hex()}"


def _account_problems(folder: str, manifest: dict[str, Any]) -> Iterator[str]:
    encoding, split = manifest["encoding"], manifest["split"]
    for line in ledger.imbalances({folder: encoding}):
        yield f"ledger: {line}"
    given, told = encoding[ledger.READ]["documents"], manifest["ledger"]["total"][split]
    if given != told["documents"]:
        yield f"{folder}: was given {given} examples, the ledger has {told['documents']}"
    encoded = encoding[ledger.ENCODED]["documents"]
    if encoded != manifest["n_sequences"]:
        yield f"{folder}: the ledger has {encoded} windows, there are {manifest['n_sequences']}"


class _Folder:
    """The shards of one layout of one split.

    Attributes:
      digests: SHA-256 of the problems in it.
    """

    def __init__(self, root: str, folder: str, manifest: dict[str, Any]) -> None:
        self._root, self._folder, self._manifest = root, folder, manifest
        self._geometry = Geometry.from_plain(manifest["geometry"])
        self._special = SpecialTokens.from_roles(manifest["special_token_ids"])
        self.digests: set[bytes] = set()

    def problems(self) -> Iterator[str]:
        """What is wrong with the shards; fills `digests`."""
        statistics = LayoutStatistics()
        documents = 0
        for entry in self._manifest["shards"]:
            files = ShardFiles(self._root, self._folder, entry, self._manifest)
            yield from files.problems()
            if files.docs is None:
                return
            tokens, regions = files.arrays["tokens"], files.arrays[REGIONS]
            found = yield from self._layout_problems(files.name, tokens, regions, files.docs)
            statistics += found
            yield from self._split_problems(files.name, files.docs["problem"].to_pylist())
            documents += files.docs.num_rows
        if documents != len(self.digests):
            yield f"{self._folder}: {documents - len(self.digests)} problems stand in it twice"
        if statistics.summary() != self._manifest["statistics"]:
            yield f"{self._folder}/{MANIFEST}: statistics are not those of its windows"

    def _layout_problems(
        self, name: str, tokens: np.ndarray, regions: np.ndarray, docs: pa.Table
    ) -> Generator[str, None, LayoutStatistics]:
        """Where a window is not what its layout makes of the texts that are read back from it.

        Returns:
          the statistics of the windows, as they should be.
        """
        read = [texts(*window, self._special) for window in zip(tokens, regions, strict=True)]
        parts = [[found.problem, *found.thoughts, found.answer] for found in read]
        lengths = [len(text) for example in parts for text in example]
        examples = ExampleIds(
            np.concatenate([text for example in parts for text in example]),
            np.r_[0, np.cumsum(lengths)].astype(np.int64),
            np.r_[0, np.cumsum([len(example) for example in parts])].astype(np.int64),
        )
        try:
            again = encode(self._manifest["layout"], examples, self._geometry, self._special)
        except InternalError as error:
            yield f"{name}: {error}"
            return LayoutStatistics()
        place = np.cumsum(again.outcomes == KEPT) - 1
        for window, outcome in enumerate(again.outcomes.tolist()):
            same = outcome == KEPT and (
                np.array_equal(again.tokens[place[window]], tokens[window])
                and np.array_equal(again.regions[place[window]], regions[window])
            )
            if not same:
                yield f"{name}: window {window} is not as its layout makes it"
                break
        n_ids = [sum(map(len, example)) for example in parts]
        if n_ids != docs["n_ids"].to_pylist():
            yield f"{name}: examples have other numbers of ids than listed"
        return again.statistics

    def _split_problems(self, name: str, digests: list[bytes]) -> Iterator[str]:
        self.digests.update(digests)
        words = np.frombuffer(b"".join(digests), ">u8").astype(np.uint64).reshape(-1, 4)
        held_out = in_validation(words, self._manifest["val_fraction"])
        wrong = held_out != (self._manifest["split"] == SPLITS[1])
        if wrong.any():
            yield f"{name}: {wrong.sum()} problems belong to the other split"
