"""The steps that people are shown, and which transforms do their work.

A graph has some thirty fused stages, of which most take no time. A step is known by the transforms
that take it; what is not named here belongs to the step that goes before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A step of a job.

    Attributes:
      title: for people.
      work: by the beginning of a transform's name, its share of the step's time as measured; the
        shares add up to 1.
    """

    title: str
    work: Mapping[str, float]


PREPARE = Step("Prepare", {})
_LAND = Step("Land", {"LandPieces/Land": 1})
_FINISH = Step("Finish", {"Finish": 1})

CORPUS = (
    PREPARE,
    _LAND,
    Step("Read and filter", {"Scan/ScanPiece": 1}),
    Step("Exact duplicates", {"ExactDedup/DedupPartition": 1}),
    Step(
        "Near duplicates",
        {
            "FindEdges/BandPiece": 0.45,
            "FindEdges/ShareBuckets": 0.35,
            "FindEdges/DistinctBuckets": 0.02,
            "FindEdges/FetchSignatures": 0.1,
            "FindEdges/CompareBuckets": 0.04,
            "Cluster/FindNodes": 0.03,
            "Cluster/JudgeComponents": 0.01,
        },
    ),
    Step("Tokenize", {"Tokenize/TokenizePiece": 1}),
    Step(
        "Choose",
        {
            "Budget/Histogram": 0.3,
            "Budget/InRangeOfCut": 0.3,
            "Budget/Choose": 0.4,
        },
    ),
    Step(
        "Write shards",
        {"WriteShards/WriteRecords/AssignShard": 0.1, "WriteShards/WriteRecords/WriteShard": 0.9},
    ),
    _FINISH,
)

TRACES = (
    PREPARE,
    Step("Land", {"LandPieces/Land": 1, "LandFirstRows/LandFirst": 1}),
    Step("Parse", {"ParseRows/ParsePiece": 1}),
    Step("Duplicate problems", {"DedupProblems/DedupPartition": 1}),
    Step("Train tokenizer", {"SettleTokenizer/Settle": 1}),
    Step("Encode", {"EncodeExamples/EncodePiece": 1}),
    Step(
        "Write shards",
        {"WriteLayouts/WriteRecords/AssignShard": 0.1, "WriteLayouts/WriteRecords/WriteShard": 0.9},
    ),
    _FINISH,
)


def place_of(transforms: Iterable[str], steps: Sequence[Step]) -> tuple[int, float] | None:
    """The step that a fused stage works for, and its share of that step; None if it is no one's.

    Args:
      transforms: names of the stage's transforms.
    """
    names = tuple(transforms)
    found = [
        (share, place)
        for place, step in enumerate(steps)
        for beginning, share in step.work.items()
        if any(name.startswith(beginning) for name in names)
    ]
    if not found:
        return None
    share, place = max(found)
    return place, share
