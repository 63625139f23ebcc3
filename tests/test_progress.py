"""What is told of a run while it works: figures, lines, and that quiet is quiet."""

import io
import re
from itertools import pairwise
from types import SimpleNamespace

import pytest
from apache_beam.metrics.execution import MetricKey, MetricResult
from apache_beam.metrics.metricbase import MetricName
from rich.console import Console

from beam_pipeline.progress import remote
from beam_pipeline.progress.live import LiveView
from beam_pipeline.progress.model import PACE_SECONDS, Progress, Status
from beam_pipeline.progress.plain import EVERY_SECONDS, PlainView
from beam_pipeline.progress.steps import CORPUS, PREPARE, TRACES, Step, place_of
from beam_pipeline.progress.text import clock
from transforms import counter_names

READ = Step("Read", {"Read/Piece": 1})
JOIN = Step("Join", {"Join/One": 0.25, "Join/Two": 0.75})
STEPS = (PREPARE, READ, JOIN)


def progress_of(reading_since: float = 0.0) -> Progress:
    progress = Progress(STEPS, 0.0)
    progress.stage_started(["Names/Read", "Read/Piece/ParDo"], reading_since)
    progress.stage_cut(10)
    return progress


def counted(documents: int, size: int = 0) -> dict[str, int]:
    return {counter_names.DOCUMENTS: documents, counter_names.TEXT_BYTES: size}


def test_a_step_shows_what_was_counted_how_fast_and_how_much_is_left():
    progress = progress_of(reading_since=2.0)
    for second in range(4):
        progress.parts_done(1, counted(1000, 5_000_000), 3.0 + second)
    prepare, read, join = progress.lines(6.5)
    assert (prepare.status, prepare.seconds) == (Status.DONE, 2.0)
    assert (read.status, read.documents, read.seconds) == (Status.RUNNING, 4000, 4.5)
    assert read.share == pytest.approx(0.4)
    assert read.mb_per_second == pytest.approx(20 / 4.5)
    # A part a second, and half a second of the seven that are left has passed.
    assert read.seconds_left == pytest.approx(5.5)
    assert (join.status, join.documents, join.seconds_left) == (Status.WAITING, 0, None)


def test_time_left_follows_the_pace_of_late():
    progress = progress_of()
    # Half was done by an earlier run.
    progress.parts_done(5, {counter_names.RESUMED: 500}, 0.1)
    for part in range(1, 4):
        progress.parts_done(1, counted(100), 0.1 + part * PACE_SECONDS)
    read = progress.lines(0.1 + 3 * PACE_SECONDS)[1]
    assert (read.documents, read.resumed) == (800, 500)
    assert read.seconds_left == pytest.approx(2 * PACE_SECONDS)


@pytest.mark.parametrize("workers", [1, 2, 32])
def test_time_left_is_not_far_off_when_workers_are_done_with_their_first_parts(workers):
    progress = Progress(STEPS, 0.0)
    progress.stage_started(["Read/Piece"], 0.0)
    progress.stage_cut(50 * workers)
    # Three seconds to begin with, then two for each part; one worker is as far as the next, about.
    done = [(5 + 2 * part + 0.01 * k) for part in range(50) for k in range(workers)]
    told = []
    for now in done[:-1]:
        progress.parts_done(1, {}, now)
        left = progress.lines(now)[1].seconds_left
        if left is not None:
            told.append((now, left))
    assert told[0][0] <= 12
    for now, left in told:
        assert left == pytest.approx(done[-1] - now, rel=0.3, abs=2.5)


def test_parts_weigh_what_they_hold():
    progress = progress_of()
    progress.parts_done(7, {}, 1.0)
    assert progress.lines(1.0)[1].share == pytest.approx(0.7)


def test_pieces_weigh_the_input_that_they_hold():
    progress = Progress(STEPS, 0.0)
    progress.stage_started(["List/Pieces"], 0.0)
    progress.stage_cut(20)
    progress.parts_done(20, {counter_names.INPUT_BYTES: 1000}, 1.0)
    progress.stage_done(1.0)
    progress.stage_started(["Read/Piece"], 1.0)
    progress.stage_cut(50)
    shares = []
    for size in (600, 300, 50, 50):
        progress.parts_done(10, {counter_names.INPUT_BYTES: size}, 2.0)
        shares.append(progress.lines(2.0)[1].share)
    assert shares == pytest.approx([0.6, 0.9, 0.95, 1.0])


def test_stages_of_a_step_add_up_and_those_of_no_step_belong_to_the_one_before():
    progress = progress_of()
    progress.parts_done(10, {}, 1.0)
    progress.stage_done(1.0)
    progress.stage_started(["Sum/Merge"], 1.0)
    progress.stage_done(2.0)
    progress.stage_started(["Join/One"], 2.0)
    progress.stage_cut(1)
    progress.parts_done(1, {}, 3.0)
    progress.stage_done(3.0)
    progress.stage_started(["Join/Two"], 3.0)
    progress.stage_cut(3)
    progress.parts_done(1, {}, 4.0)
    _, read, join = progress.lines(4.0)
    assert (read.status, read.seconds, read.share) == (Status.DONE, 2.0, 1.0)
    assert (join.status, join.seconds) == (Status.RUNNING, 2.0)
    assert join.share == pytest.approx(0.5)


def test_of_parts_that_are_not_reported_no_share_is_claimed():
    progress = Progress(STEPS, 0.0)
    progress.stage_started(["Read/Piece"], 0.0)
    assert progress.lines(100.0)[1].share is None
    assert progress.lines(100.0)[1].seconds_left is None


def test_the_share_of_a_step_is_of_all_its_transforms():
    for step in (*CORPUS, *TRACES):
        ways = 2 if step.title == "Land" and len(step.work) == 2 else 1
        assert step is PREPARE or sum(step.work.values()) == pytest.approx(ways)


def test_a_fused_stage_belongs_to_the_step_that_does_its_work():
    fused = ["LandPieces/SpreadPieces/GroupByKey/Read", "Scan/ScanPiece/ParDo(_ScanPiece)"]
    found = place_of(fused, CORPUS)
    assert found is not None
    assert CORPUS[found[0]].title == "Read and filter"
    assert place_of(["Tally/Sum/Merge"], CORPUS) is None


def test_a_log_has_a_line_a_step_and_few_within_a_long_one():
    progress = progress_of()
    said: list[tuple[float, str]] = []
    now = 0.0
    view = PlainView(progress, lambda line: said.append((now, line)), now)
    for now in range(1, 101):
        progress.parts_done(int(now % 10 == 0), counted(5, 10**6), now)
        view.tick(now)
    progress.stage_done(now)
    progress.stage_started(["Join/One"], now)
    view.tick(now)
    progress.ended(now)
    view.close(now, "stopped")
    within, (_, over), (_, end) = said[:-2], said[-2], said[-1]
    assert [line for _, line in within][-1] == (
        "Read: 450 documents, 1.0 MB/s, 90% done, 1:30, 0:10 left"
    )
    assert all(b - a >= EVERY_SECONDS for (a, _), (b, _) in pairwise(within))
    assert len(within) == 3
    assert over == "Read: 500 documents, 1.0 MB/s, 1:40"
    assert end == "stopped after 1:40"


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_every_step_in_lines_that_fit(width):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, color_system=None)
    progress = Progress(CORPUS, 0.0)
    progress.stage_started(["Scan/ScanPiece"], 1.0)
    progress.stage_cut(4)
    progress.parts_done(1, counted(123_456_789, 10**13), 40_000.0)
    view = LiveView(progress, console)
    view.tick(40_000.0)
    drawn = re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", screen.getvalue())
    for step in CORPUS:
        assert step.title in drawn
    assert "123,456,789" in drawn
    assert "25%" in drawn
    assert "…" not in drawn
    view.stopping()
    view.close(40_001.0, "stopped")
    assert "Stopped" in screen.getvalue()
    assert max(len(line.rstrip()) for line in drawn.splitlines()) <= width


def test_of_a_job_elsewhere_the_counters_are_told_step_by_step():
    def result(step: str, name: str, committed: int | None, attempted: int) -> MetricResult:
        key = MetricKey(step, MetricName(counter_names.NAMESPACE, name))
        return MetricResult(key, committed, attempted)

    found = [
        result("Tokenize/TokenizePiece/ParDo(_TokenizePiece)", counter_names.TOKENS, None, 7_000),
        result("Tokenize/TokenizePiece/ParDo(_TokenizePiece)", counter_names.DOCUMENTS, None, 9),
        result("LandPieces/Land", counter_names.INPUT_BYTES, None, 6_000_000),
        result("Scan/ScanPiece/ParDo(_ScanPiece)", counter_names.DOCUMENTS, 1200, 1300),
        result("Scan/ScanPiece/ParDo(_ScanPiece)", counter_names.TEXT_BYTES, 5_000_000, 0),
    ]
    job = SimpleNamespace(metrics=lambda: SimpleNamespace(query=lambda _: {"counters": found}))
    said: list[str] = []
    with remote.reporting(job, CORPUS, said.append, every=0.001):
        while len(said) < 2:
            pass
    assert said == [
        "Read and filter: 1,200 documents, 5.0 MB of text",
        "Tokenize: 9 documents, 7,000 tokens",
    ]


def test_a_service_that_does_not_answer_is_no_matter():
    def metrics():
        raise OSError("no answer")

    with remote.reporting(SimpleNamespace(metrics=metrics), CORPUS, pytest.fail, every=60):
        pass


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "0:10"), (3661, "1:01:01")]
)
def test_clock(seconds, shown):
    assert clock(seconds) == shown
