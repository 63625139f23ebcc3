from pathlib import Path

import numpy as np

from transforms import records
from transforms.documents import Piece
from transforms.duplicates import write_duplicates
from transforms.sources import FilesInput, SourceSpec


def test_the_order_in_which_verdicts_come_does_not_show(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    scanned = np.zeros(40, records.scanned(128))
    scanned["row"] = np.arange(40)
    scanned["text_lo"] = generator.integers(0, 2**63, 40)
    verdicts = np.zeros(9, records.VERDICT)
    verdicts["position"] = generator.permutation(40)[:9]
    verdicts["best"] = generator.integers(0, 2**40, 9)
    piece = Piece(3 << 16, 0, "jsonl", "in.jsonl")
    spec = SourceSpec("web", "web", FilesInput(("in.jsonl",)))
    written = []
    for name in ("one", "other"):
        write_duplicates(str(tmp_path / name), piece, spec, scanned, verdicts)
        (path,) = (tmp_path / name).glob("duplicates/*.parquet")
        written.append(path.read_bytes())
        verdicts = generator.permutation(verdicts)
    assert written[0] == written[1]
