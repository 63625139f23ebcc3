"""Numbers and lines as people read them."""

from beam_pipeline.progress.model import Line


def clock(seconds: float) -> str:
    """`0.7 s`, `12:30` or `1:02:03`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def plain(line: Line, *, ended: bool) -> str:
    """A step in a line of a log."""
    facts = []
    if line.documents:
        facts.append(f"{line.documents:,} documents")
    if line.resumed:
        facts.append(f"{line.resumed:,} of them by an earlier run")
    if line.tokens:
        facts.append(f"{line.tokens:,} tokens")
    if line.mb_per_second is not None:
        facts.append(f"{line.mb_per_second:,.1f} MB/s")
    if not ended and line.share is not None:
        facts.append(f"{line.share:.0%} done")
    facts.append(clock(line.seconds))
    if line.seconds_left is not None and not ended:
        facts.append(f"{clock(line.seconds_left)} left")
    return f"{line.title}: {', '.join(facts)}"
