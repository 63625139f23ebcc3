"""What steps count agrees with the account that is kept, and is what a terminal is told."""

from collections import Counter
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.metrics.metric import MetricsFilter
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from beam_pipeline import corpus
from beam_pipeline.cli import main
from beam_pipeline.progress import watch
from tests.jobs import Corpus
from tests.transforms.steps import launched, texts_of
from transforms import counter_names


def test_counters_equal_the_ledger(tmp_path):
    texts = texts_of(40)
    job = launched(tmp_path, {"web": [*texts, *texts[:3]]}, piece_bytes=3000)
    with beam.Pipeline(FnApiRunner()) as pipeline:
        corpus.build(pipeline, job)
    asked = MetricsFilter().with_namespace(counter_names.NAMESPACE)
    found: dict[str, Counter[str]] = {}
    for counter in pipeline.result.metrics().query(asked)["counters"]:
        step = found.setdefault(counter.key.step.split("/")[-1], Counter())
        step[counter.key.metric.name] = counter.committed
    made = Corpus(Path(job.output))
    account = made.manifest["ledger"]["total"]
    read, ledger = account["read"], made.ledger()
    scan = found["ParDo(_ScanPiece)"]
    [there_is] = {one[counter_names.INPUT_BYTES] for one in found.values()} - {0}
    assert scan == {
        "documents": read["documents"],
        "text_bytes": read["bytes"],
        "input_bytes": there_is,
    }
    assert {step for step, one in found.items() if one[counter_names.INPUT_BYTES]} == {
        "Land",
        "ParDo(_ScanPiece)",
        "ParDo(_TokenizePiece)",
    }
    rejected = sum(n for name, n in ledger.items() if name.startswith(("filtered", "empty")))
    assert found["ParDo(_DedupPartition)"]["documents"] == read["documents"] - rejected
    written = found["WriteShard"]
    assert written["documents"] == ledger["train"] + ledger["val"]
    windows = sum(made.split(name)["n_sequences"] for name in ("train", "val"))
    assert written["tokens"] == windows * made.manifest["seq_len"]
    encoded = found["ParDo(_TokenizePiece)"]
    assert encoded["documents"] >= written["documents"]


def lines_of(err: str, title: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith(f"{title}: ")]


@pytest.mark.parametrize("mode", ["in_memory", "multi_threading"])
def test_a_log_tells_of_steps_what_the_ledger_says(tmp_path, capfd, monkeypatch, mode):
    monkeypatch.setattr(watch, "_PATIENCE_SECONDS", 0)
    output = tmp_path / "corpus"
    argv = ["build", "demo", "--output", str(output), f"--direct_running_mode={mode}"]
    assert main(argv) == 0
    err = capfd.readouterr().err
    ledger = Corpus(output).ledger()
    [reading] = lines_of(err, "Read and filter")
    [writing] = lines_of(err, "Write shards")
    assert f"{ledger['read']:,} documents" in reading
    assert f"{ledger['train'] + ledger['val']:,} documents" in writing
    assert "\x1b" not in err
    assert "finished after" in err.splitlines()[-1]


def test_quiet_says_nothing_and_verbose_tells_versions_and_stages(tmp_path, capfd):
    argv = ["build", "demo", "--output", str(tmp_path / "corpus")]
    assert main([*argv, "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")
    assert main([*argv, "--verbose"]) == 0
    err = capfd.readouterr().err
    assert f"apache-beam {beam.__version__}" in err
    assert "stage LandPieces/SpreadPieces + Scan/ScanPiece" in err
