"""Near-duplicate clusters on record, so that people can look at what was taken for the same.

The text is not copied: a row says where its document stands in the input, with the fingerprint
that tells whether it still stands there. Each piece writes a file of its own, from what its second
read knows in any case; no step and no shuffle is added.
"""

import re
from dataclasses import asdict, dataclass, replace

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from transforms import keys, readers, records, storage
from transforms.documents import Piece
from transforms.errors import CorpusError, SourceError
from transforms.sources import FilesInput, SourceSpec

FOLDER = "duplicates"

_PIECE = b"piece"


@dataclass(frozen=True)
class Member:
    """A document of a cluster, and where it stands.

    Attributes:
      digest: of the normalised text, as the docs files list it.
      piece: that holds it.
      row: its place in the piece.
      kept: it is in the corpus, or was left to the budget.
      similarity: share of equal signature positions with the best document of the cluster.
      best: it is that document.
      cluster_size: documents in the cluster, exact copies included.
      fingerprint: xxh3-64 of the text.
    """

    digest: bytes
    piece: Piece
    row: int
    kept: bool
    similarity: float
    best: bool
    cluster_size: int
    fingerprint: int


def write_duplicates(
    output: str, piece: Piece, spec: SourceSpec, scanned: np.ndarray, verdicts: np.ndarray
) -> None:
    """Writes `duplicates/<piece>.parquet`.

    Args:
      output: folder of the corpus.
      scanned: the piece's scan file.
      verdicts: `records.VERDICT`, at least one.
    """
    # They come in whatever order workers found them.
    verdicts = verdicts[np.argsort(verdicts["position"])]
    documents = scanned[verdicts["position"]]
    readable, rows_before = _readable(piece, spec)
    digests = np.stack([documents["digest_hi"], documents["digest_lo"]], axis=1)
    table = pa.table(
        {
            "cluster": pa.array(verdicts["best"]),
            "document": pa.array(records.refs(piece.number, verdicts["position"])),
            "digest": pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(16), len(documents), [None, pa.py_buffer(keys.as_bytes(digests))]
            ),
            "row": pa.array(documents["row"].astype(np.int64) + rows_before),
            "kept": pa.array(verdicts["kept"].astype(bool)),
            "similarity": pa.array(
                (verdicts["agreement"] / documents["signature"].shape[1]).astype(np.float32)
            ),
            "cluster_size": pa.array(verdicts["cluster"]),
            "fingerprint": pa.array(documents["fingerprint"]),
        }
    ).replace_schema_metadata({_PIECE: orjson.dumps(asdict(readable))})
    sink = pa.BufferOutputStream()
    # Keys are random: dictionaries and statistics of them are of no use.
    pq.write_table(table, sink, compression="zstd", use_dictionary=False, write_statistics=False)
    path = storage.join(output, FOLDER, f"{piece.number:012x}.parquet")
    storage.write_whole(path, memoryview(sink.getvalue()))


def _readable(piece: Piece, spec: SourceSpec) -> tuple[Piece, int]:
    """The piece that holds these rows once the work folder is gone, and rows before them in it."""
    if piece.kind != "landed":
        return piece, 0
    kind = "compressed_jsonl" if isinstance(spec.input, FilesInput) else "hub"
    whole = replace(piece, kind=kind, path=piece.origin, rows_before=0, origin="")
    return whole, piece.rows_before


@dataclass(frozen=True)
class Clusters:
    """All members of all clusters of a corpus, in columns.

    Attributes:
      table: columns of the files, and `piece`, a place in `pieces`.
      pieces: by that place.
    """

    table: pa.Table
    pieces: list[Piece]

    def best(self) -> pa.Table:
        """One row a cluster, that of its best document; the largest clusters first."""
        is_best = pc.equal(self.table["cluster"], self.table["document"])
        return self.table.filter(is_best).sort_by(
            [("cluster_size", "descending"), ("digest", "ascending")]
        )

    def members(self, cluster: int) -> list[Member]:
        """The members of a cluster: the best document, then the most similar first."""
        rows = self.table.filter(pc.equal(self.table["cluster"], cluster)).to_pylist()
        found = [
            Member(
                row["digest"],
                self.pieces[row["piece"]],
                row["row"],
                row["kept"],
                row["similarity"],
                row["document"] == row["cluster"],
                row["cluster_size"],
                row["fingerprint"],
            )
            for row in rows
        ]
        return sorted(found, key=lambda m: (not m.best, -m.similarity, m.digest))


def read_duplicates(output: str) -> Clusters | None:
    """What a finished corpus has on record; None if it has no near duplicates on record."""
    pieces: list[Piece] = []
    tables: list[pa.Table] = []
    for path, _ in storage.expand(storage.join(output, FOLDER, "*.parquet")):
        table = pq.read_table(pa.BufferReader(storage.read_bytes(path)))
        place = pa.array(np.full(table.num_rows, len(pieces), np.int32))
        pieces.append(Piece(**orjson.loads(table.schema.metadata[_PIECE])))
        tables.append(table.replace_schema_metadata(None).append_column("piece", place))
    return Clusters(pa.concat_tables(tables), pieces) if tables else None


def read_again(member: Member, spec: SourceSpec) -> str:
    """The text of a member, from the input that the corpus was built of.

    Raises:
      SourceError: the file is not there, does not hold the row or holds another text; or it is a
        hub's.
    """
    where = f"row {member.row} of {member.piece.name()}"
    if member.piece.kind == "hub":
        raise SourceError(f"{where} is in a hub dataset, whose rows are not fetched again")
    try:
        found = next(readers.read_rows(member.piece, spec, np.array([member.row])), None)
    except (OSError, CorpusError) as error:
        reason = re.sub(r"\s+", " ", str(error))
        raise SourceError(f"{where} cannot be read again: {reason}") from error
    if found is None or int(keys.fingerprints(found[0])[0]) != member.fingerprint:
        raise SourceError(f"{where} is not what it was when the corpus was built")
    return found[0].strings()[0]
