"""Texts of the corpus, shown as they are: windows, rejected rows."""

from collections.abc import Iterable, Mapping

from beam_pipeline.concerns import in_words
from beam_pipeline.report.account import Account
from beam_pipeline.report.contents import Passage, Report, Window
from beam_pipeline.report.markup import Html, join, tag
from beam_pipeline.report.numbers import count


def passage(title: str, text: str, after: str | None = None) -> Html:
    """A text, or markup, under a title; each finds its own direction."""
    return tag(
        "section",
        tag("h4", title),
        tag("pre", text, dir="auto"),
        tag("p", after, class_="note") if after else None,
        class_="passage",
    )


def windows(report: Report) -> Html:
    """Some windows, document by document."""
    if not report.windows:
        return tag("p", "There are no windows.")
    fullest = max(report.windows, key=lambda window: len(window.passages))
    return join(*(_window(window, window is fullest) for window in report.windows))


def _window(window: Window, is_open: bool) -> Html:
    many = len(window.passages)
    return tag(
        "details",
        tag(
            "summary",
            f"Window {window.number:,}: {many} document{'' if many == 1 else 's'}",
        ),
        *(_part(part) for part in window.passages),
        tag("p", f"{window.padding:,} tokens of padding", class_="note")
        if window.padding
        else None,
        class_="card",
        open=True if is_open else None,
    )


def _part(part: Passage) -> Html:
    where = {
        (True, True): "whole",
        (True, False): "goes on in the next window",
        (False, True): "began in an earlier window",
        (False, False): "from an earlier window into the next",
    }[part.starts, part.ends]
    return passage(
        f"{part.source}, {part.tokens:,} tokens, {where}",
        part.text,
        f"… and {count(part.left_out)} characters more" if part.left_out else None,
    )


def rejects(report: Report) -> Html:
    """Some rejected rows of each source, by reason."""
    if not report.rejects:
        return tag("p", "Nothing was rejected.")
    account = report.manifest["ledger"]
    return join(
        *(
            join(tag("h3", name), rejected(by_reason, account[name]))
            for name, by_reason in report.rejects.items()
        )
    )


def rejected(by_reason: Mapping[str, Iterable[str]], account: Account) -> Html:
    """Some rejected rows of one source, by ledger outcome."""
    return join(
        *(
            tag(
                "details",
                tag("summary", f"{in_words(outcome)} ({count(account[outcome]['documents'])})"),
                *(tag("pre", text, dir="auto") for text in texts),
                class_="card",
            )
            for outcome, texts in by_reason.items()
        )
    )
