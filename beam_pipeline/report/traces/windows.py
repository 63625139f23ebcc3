"""Windows of each layout: as a picture, and block by block as text."""

from beam_pipeline.report.account import swatch
from beam_pipeline.report.charts import Part, bar
from beam_pipeline.report.markup import Html, join, tag
from beam_pipeline.report.passages import passage
from beam_pipeline.report.traces.contents import Stretch, TracesReport, TraceWindow, Words
from transforms.traces.geometry import ANSWER, PROMPT, REGIONS, THOUGHT

_THOUGHTS = 24
_BEGINNING = 60
_UNITS = {"flat": "thought", "slotted": "slot", "adaptive": "block"}
_LEGEND = ("prompt", "thought", "fill", "answer", "padding")


def windows(report: TracesReport) -> Html:
    """Some windows of each layout; the first of each is open."""
    legend = tag("ul", *(tag("li", swatch(kind), kind) for kind in _LEGEND), class_="fates")
    return join(
        legend,
        *(
            join(
                tag("h3", layout),
                *(_window(window, _UNITS[layout], k == 0) for k, window in enumerate(found)),
            )
            for layout, found in report.windows.items()
        ),
    )


def _window(window: TraceWindow, unit: str, is_open: bool) -> Html:
    prompt, answer = (
        [s for s in window.stretches if s.region == REGIONS[region]] for region in (PROMPT, ANSWER)
    )
    thoughts = [s for s in window.stretches if s.region == REGIONS[THOUGHT]]
    many = len(thoughts)
    left_out = many - _THOUGHTS
    more = f"… and {left_out:,} {unit}s more" if left_out > 0 else None
    return tag(
        "details",
        tag(
            "summary",
            f"Window {window.number:,}: {many:,} {unit}{'' if many == 1 else 's'} ",
            tag("span", _beginning(prompt)),
        ),
        tag("div", _picture(window), class_="overview"),
        *(_stretch("Prompt", stretch) for stretch in prompt),
        *(
            _stretch(f"{unit.capitalize()} {k + 1:,} of {many:,}", stretch)
            for k, stretch in enumerate(thoughts[:_THOUGHTS])
        ),
        tag("p", more, class_="note") if more else None,
        *(_stretch("Answer", stretch) for stretch in answer),
        class_="card",
        open=True if is_open else None,
    )


def _beginning(prompt: list[Stretch]) -> str:
    """The first words of a prompt, on one line."""
    text = "".join(w.text for stretch in prompt for w in stretch.words if not w.is_special)
    return " ".join(text.split())[:_BEGINNING]


def _filler(stretch: Stretch) -> str:
    """What its filler is, also the class of its colour."""
    return "fill" if stretch.region == REGIONS[THOUGHT] else "padding"


def _picture(window: TraceWindow) -> Html:
    parts = [
        part
        for stretch in window.stretches
        for part in (
            Part(stretch.region, stretch.tokens),
            Part(_filler(stretch), stretch.filler),
        )
    ]
    return bar(parts, sum(part.amount for part in parts))


def _stretch(name: str, stretch: Stretch) -> Html:
    filled = f" and {stretch.filler:,} of {_filler(stretch)}" if stretch.filler else ""
    title = join(swatch(stretch.region), f"{name}: {stretch.tokens:,} tokens{filled}")
    return passage(title, join(*map(_shown, stretch.words)))


def _shown(words: Words) -> Html:
    return tag("b", words.text, class_="special") if words.is_special else join(words.text)
