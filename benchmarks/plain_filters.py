"""The quality filter as one writes it in plain Python; both peers use it."""

from collections import Counter

MARKERS = ("=", r"\frac", "$", "^", r"\sum")


def keep(text: str, domain: str) -> bool:
    """Whether a document passes the filter of its domain."""
    if domain == "code":
        return _keep_code(text)
    if domain == "math":
        return _keep_math(text)
    return _keep_prose(text)


def _keep_prose(text: str) -> bool:
    words = text.split()
    if not 50 <= len(words) <= 100_000:
        return False
    if not 3.0 <= sum(map(len, words)) / len(words) <= 10.0:
        return False
    if sum(map(str.isalpha, text)) / len(text) < 0.60:
        return False
    if _digit_share(text) > 0.20:
        return False
    lines = [line for line in text.splitlines() if line.strip()]
    return 1 - len(set(lines)) / len(lines) <= 0.30


def _keep_code(text: str) -> bool:
    if not 20 <= len(text) <= 200_000:
        return False
    head = text[:2000]
    return Counter(head).most_common(1)[0][1] / len(head) <= 0.30


def _keep_math(text: str) -> bool:
    if len(text.split()) < 20:
        return False
    return _digit_share(text) >= 0.03 or sum(map(text.count, MARKERS)) >= 3


def _digit_share(text: str) -> float:
    return sum(map(str.isdigit, text)) / len(text)
