"""Measures, filter and normal form as SPEC.md defines them, in the plainest Python."""

import re
from collections import Counter

MARKERS = ("=", r"\frac", "$", "^", r"\sum")


def measures(text: str) -> dict[str, int]:
    words = text.split()
    lines = [line for line in text.splitlines() if line.strip()]
    head = text[:2000]
    return {
        "characters": len(text),
        "words": len(words),
        "word_characters": sum(map(len, words)),
        "letters": sum(map(str.isalpha, text)),
        "digits": sum(map(str.isdigit, text)),
        "lines": len(lines),
        "distinct_lines": len(set(lines)),
        "head_characters": len(head),
        "head_top": max(Counter(head).values(), default=0),
        "markers": sum(map(text.count, MARKERS)),
    }


def keep(text: str, domain: str) -> bool:
    m = measures(text)
    characters, words, lines = max(m["characters"], 1), max(m["words"], 1), max(m["lines"], 1)
    digits = m["digits"] / characters
    if domain in ("web", "synthetic"):
        return (
            50 <= m["words"] <= 100_000
            and 3.0 <= m["word_characters"] / words <= 10.0
            and m["letters"] / characters >= 0.60
            and digits <= 0.20
            and (m["lines"] == 0 or 1 - m["distinct_lines"] / lines <= 0.30)
        )
    if domain == "code":
        repeated = m["head_top"] / max(m["head_characters"], 1)
        return 20 <= m["characters"] <= 200_000 and repeated <= 0.30
    assert domain == "math"
    return m["words"] >= 20 and (digits >= 0.03 or m["markers"] >= 3)


def normalized(text: str) -> str:
    return re.sub(r"\s+", " ", text.lower()).strip()
