"""The work folder: what a job keeps outside the runner between two reads of its input.

Names come from content or from the plan, so a retried bundle overwrites its own files. Each unit
of work ends by writing its report, whole or not at all: what has a report need not be done again
when a killed job is resumed.
"""

from dataclasses import dataclass
from typing import Any

import orjson

from transforms import storage


@dataclass(frozen=True)
class WorkFolder:
    """Where each kind of work file lies.

    Attributes:
      root: local or remote folder, of this run alone.
      resume: the folder holds work of a run that was cut short.
    """

    root: str
    resume: bool = False

    def started(self) -> str:
        """What tells the work of this run from that of another."""
        return storage.join(self.root, "started.json")

    def pieces(self) -> str:
        """The planned pieces."""
        return storage.join(self.root, "pieces.jsonl")

    def landed_report(self, piece: int) -> str:
        """The pieces that were landed from a planned one."""
        return storage.join(self.root, "landed", f"{piece:012x}.json")

    def landed_first(self) -> str:
        """The pieces that hold the first rows, where only those are wanted."""
        return storage.join(self.root, "landed", "first.json")

    def scan(self, piece: int) -> str:
        """Keys and signatures of a piece's documents that passed their filter."""
        return storage.join(self.root, "scan", f"{piece:012x}.npy")

    def scan_report(self, piece: int) -> str:
        """What became of a piece's other rows."""
        return storage.join(self.root, "scan", f"{piece:012x}.json")

    def examples(self, piece: int) -> str:
        """A piece's parsed examples, one after the other."""
        return storage.join(self.root, "parse", f"{piece:012x}.bin")

    def parsed(self, piece: int) -> str:
        """Keys and sizes of a piece's parsed examples."""
        return storage.join(self.root, "parse", f"{piece:012x}.npy")

    def parsed_report(self, piece: int) -> str:
        """What became of a piece's rows."""
        return storage.join(self.root, "parse", f"{piece:012x}.json")

    def tokenizer(self) -> str:
        """A tokenizer that was trained for this run."""
        return storage.join(self.root, "tokenizer.json")

    def tokens(self, piece: int) -> str:
        """Token ids of a piece's deduplicated documents."""
        return storage.join(self.root, "tokens", f"{piece:012x}.bin")

    def documents(self, piece: int) -> str:
        """What is known of the documents in the token file."""
        return storage.join(self.root, "tokens", f"{piece:012x}.npy")

    def lengths(self, piece: int) -> str:
        """How many ids each text of a piece's examples has."""
        return storage.join(self.root, "tokens", f"{piece:012x}.lengths.bin")

    def tokens_report(self, piece: int) -> str:
        """What became of the piece's other documents; excerpts to show."""
        return storage.join(self.root, "tokens", f"{piece:012x}.json")

    def names(self, piece: int) -> str:
        """Ids that the documents in the token file have in their source, if it has any."""
        return storage.join(self.root, "tokens", f"{piece:012x}.names")

    def shard_report(self, folder: str, key_range: int) -> str:
        """The shard that was written of a range of the shuffle key."""
        name = folder.replace("/", "-")
        return storage.join(self.root, "shards", f"{name}-{key_range:08x}.json")

    def done(self, report: str) -> Any | None:
        """A report that an earlier run left, or None if its work is still to be done."""
        if self.resume and storage.exists(report):
            return orjson.loads(storage.read_bytes(report))
        return None


def write_report(path: str, report: Any) -> None:
    """Writes a report, after all that it stands for."""
    storage.write_whole(path, orjson.dumps(report))
