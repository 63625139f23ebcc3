"""Cuts a think region into thoughts, as "Segment" of SPEC.md says."""

import re

MAX_PARAGRAPH = 900
MARKERS = (
    "Wait",
    "Alternatively",
    "Hmm",
    "Okay",
    "Now",
    "But wait",
    "Let me",
    "First",
    "Second",
    "Next",
    "Then",
    "Finally",
    "Also",
    "Another",
    "Actually",
    "Therefore",
    "Thus",
)

_BLANK_LINES = re.compile(r"\n\s*\n")

# "So," stands apart: no word boundary follows a comma that is followed by a space.
_BEFORE_MARKER = re.compile(rf"(?<=[.!?]) (?=(?:{'|'.join(MARKERS)})\b|So,)")


def squeeze(text: str) -> str:
    """The text with every run of white space as one space, and none at either end."""
    return " ".join(text.split())


def segment(think: str) -> tuple[str, ...]:
    """The thoughts of a think region, squeezed, none of them empty.

    A thought is a paragraph; one of more than `MAX_PARAGRAPH` characters, counted when squeezed, is
    also cut before each marker that follows the end of a sentence. Time is linear in the text.
    """
    found: list[str] = []
    for part in _BLANK_LINES.split(think):
        paragraph = squeeze(part)
        if len(paragraph) > MAX_PARAGRAPH:
            found += _BEFORE_MARKER.split(paragraph)
        elif paragraph:
            found.append(paragraph)
    return tuple(found)
