"""A split folder, written the plainest way."""

import hashlib
import json
from pathlib import Path

import numpy as np


def write_split(folder: Path, shards: list[np.ndarray], bos: int = 256) -> dict:
    """Writes [n, seq_len] uint16 or uint32 shards with their manifest and _SUCCESS."""
    folder.mkdir(parents=True)
    seq_len = shards[0].shape[1]
    sequences = sum(len(windows) for windows in shards)
    manifest = {
        "seq_len": seq_len,
        "n_shards": len(shards),
        "n_sequences": sequences,
        "n_tokens": sequences * seq_len,
        "bos_id": bos,
        "eos_id": 257,
        "pad_id": 258,
        "dtype": shards[0].dtype.name,
        "store_positions": False,
        "shards": [],
    }
    for number, windows in enumerate(shards):
        data = windows.astype(windows.dtype.newbyteorder("<")).tobytes()
        name = f"shard_{number:05d}.tokens.bin"
        (folder / name).write_bytes(data)
        np.array(windows.shape, "<i8").tofile(folder / f"shard_{number:05d}.meta.bin")
        entry = {
            "file": name,
            "sequences": len(windows),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        manifest["shards"].append(entry)
    write_manifest(folder, manifest)
    (folder / "_SUCCESS").touch()
    return manifest


def write_manifest(folder: Path, manifest: dict) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest))
