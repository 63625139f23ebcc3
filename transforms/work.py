"""The work folder: what a job keeps outside the runner between two reads of its input.

Names come from content or from the plan, so a retried bundle overwrites its own files.
"""

from dataclasses import dataclass

from transforms import storage


@dataclass(frozen=True)
class WorkFolder:
    """Where each kind of work file lies.

    Attributes:
      root: local or remote folder, of this run alone.
    """

    root: str

    def scan(self, piece: int) -> str:
        """Keys and signatures of a piece's documents that passed their filter."""
        return storage.join(self.root, "scan", f"{piece:012x}.npy")

    def tokens(self, piece: int) -> str:
        """Token ids of a piece's deduplicated documents."""
        return storage.join(self.root, "tokens", f"{piece:012x}.bin")

    def names(self, piece: int) -> str:
        """Ids, as the source gives them, of the documents in the token file."""
        return storage.join(self.root, "tokens", f"{piece:012x}.names.json")

    def pieces(self) -> str:
        """The planned pieces."""
        return storage.join(self.root, "pieces.jsonl")
