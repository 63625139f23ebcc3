"""The quality filter: which documents are worth keeping, by the rules of their domain.

The rules and their defaults are those of SPEC.md, "Quality filter".
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import ClassVar

import numpy as np

from transforms.errors import RecipeError

RULES_VERSION = 1
"""To be raised when a rule changes its meaning, so that `filter_config_hash` changes with it."""


@dataclass(frozen=True)
class Rules(ABC):
    """Thresholds of one family of domains. Bounds are inclusive: a text at a threshold is kept."""

    REASONS: ClassVar[tuple[str, ...]]
    """Why a text is dropped, in the order in which the rules are tried."""

    @abstractmethod
    def statistics(self, measures: np.ndarray) -> dict[str, np.ndarray]:
        """What the thresholds `min_NAME` and `max_NAME` are held against, by name, [n_texts] each.

        Args:
          measures: `transforms.kernels.measures.MEASURES` [n_texts].
        """

    @abstractmethod
    def _failures(self, statistics: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """For each of REASONS the texts it applies to, bool [n_texts]."""

    def bounds(self) -> dict[str, tuple[float | None, float | None]]:
        """Least and largest value that is kept, by name of the statistic; None for no bound."""
        found: dict[str, tuple[float | None, float | None]] = {}
        for threshold, value in asdict(self).items():
            name = threshold[len("min_") :]
            low, high = found.get(name, (None, None))
            found[name] = (value, high) if threshold.startswith("min_") else (low, value)
        return found


@dataclass(frozen=True)
class ProseRules(Rules):
    """Web and synthetic text. Fractions of letters and digits are over characters."""

    min_words: int = 50
    max_words: int = 100_000
    min_mean_word_length: float = 3.0
    max_mean_word_length: float = 10.0
    min_letter_fraction: float = 0.60
    max_digit_fraction: float = 0.20
    max_duplicate_line_fraction: float = 0.30

    REASONS: ClassVar[tuple[str, ...]] = (
        "too_few_words",
        "too_many_words",
        "mean_word_too_short",
        "mean_word_too_long",
        "too_few_letters",
        "too_many_digits",
        "duplicate_lines",
    )

    def statistics(self, measures: np.ndarray) -> dict[str, np.ndarray]:
        """See `Rules`."""
        words, characters = measures["words"], measures["characters"]
        # Not (lines - distinct) / lines, which rounds otherwise at the threshold.
        duplicate_lines = np.where(
            measures["lines"] > 0, 1 - _ratio(measures["distinct_lines"], measures["lines"]), 0
        )
        return {
            "words": words,
            "mean_word_length": _ratio(measures["word_characters"], words),
            "letter_fraction": _ratio(measures["letters"], characters),
            "digit_fraction": _ratio(measures["digits"], characters),
            "duplicate_line_fraction": duplicate_lines,
        }

    def _failures(self, statistics: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return (
            statistics["words"] < self.min_words,
            statistics["words"] > self.max_words,
            statistics["mean_word_length"] < self.min_mean_word_length,
            statistics["mean_word_length"] > self.max_mean_word_length,
            statistics["letter_fraction"] < self.min_letter_fraction,
            statistics["digit_fraction"] > self.max_digit_fraction,
            statistics["duplicate_line_fraction"] > self.max_duplicate_line_fraction,
        )


@dataclass(frozen=True)
class CodeRules(Rules):
    """Code: a plausible size, and no long run or table of one character at its head."""

    min_characters: int = 20
    max_characters: int = 200_000
    max_repeated_character_fraction: float = 0.30

    REASONS: ClassVar[tuple[str, ...]] = ("too_short", "too_long", "repeated_character")

    def statistics(self, measures: np.ndarray) -> dict[str, np.ndarray]:
        """See `Rules`."""
        repeated = _ratio(measures["head_top"], measures["head_characters"])
        return {"characters": measures["characters"], "repeated_character_fraction": repeated}

    def _failures(self, statistics: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return (
            statistics["characters"] < self.min_characters,
            statistics["characters"] > self.max_characters,
            statistics["repeated_character_fraction"] > self.max_repeated_character_fraction,
        )


@dataclass(frozen=True)
class MathRules(Rules):
    """Mathematics: digits or markers of formulas; either will do."""

    min_words: int = 20
    min_digit_fraction: float = 0.03
    min_markers: int = 3

    REASONS: ClassVar[tuple[str, ...]] = ("too_few_words", "not_math")

    def statistics(self, measures: np.ndarray) -> dict[str, np.ndarray]:
        """See `Rules`."""
        digits = _ratio(measures["digits"], measures["characters"])
        return {
            "words": measures["words"],
            "digit_fraction": digits,
            "markers": measures["markers"],
        }

    def _failures(self, statistics: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        no_digits = statistics["digit_fraction"] < self.min_digit_fraction
        no_markers = statistics["markers"] < self.min_markers
        return statistics["words"] < self.min_words, no_digits & no_markers


_DEFAULTS: Mapping[str, Rules] = {
    "web": ProseRules(),
    "synthetic": ProseRules(),
    "code": CodeRules(),
    "math": MathRules(),
}

DOMAINS = tuple(_DEFAULTS)
"""The domains that a source can have."""


def rules_for(domain: str, overrides: Mapping[str, float]) -> Rules:
    """The rules of a domain, with a source's own thresholds in place of the defaults.

    Args:
      domain: one of `DOMAINS`.
      overrides: new values by the name of the threshold.

    Raises:
      RecipeError: an unknown domain or threshold, a value that the threshold cannot take, or a
        lower bound above its upper one.
    """
    if domain not in _DEFAULTS:
        raise RecipeError(f"unknown domain {domain!r}; there are {', '.join(_DEFAULTS)}")
    defaults = _DEFAULTS[domain]
    names = [field.name for field in fields(defaults)]
    for name in overrides:
        if name not in names:
            raise RecipeError(
                f"the {domain} filter has no threshold {name!r}; it has {', '.join(names)}"
            )
    rules = replace(
        defaults,
        **{
            name: _checked_threshold(name, value, getattr(defaults, name))
            for name, value in overrides.items()
        },
    )
    thresholds = asdict(rules)
    for name, low in thresholds.items():
        high = thresholds.get(name.replace("min_", "max_"), low)
        if low > high:
            raise RecipeError(
                f"{name} ({low}) is above {name.replace('min_', 'max_')} ({high}): "
                f"the {domain} filter would drop everything"
            )
    return rules


def judge(measures: np.ndarray, rules: Rules) -> np.ndarray:
    """Which texts to keep, and why not the others.

    Args:
      measures: `transforms.kernels.measures.MEASURES` [n_texts].
      rules: those of the texts' source.

    Returns:
      int8 [n_texts]: 0 keeps the text, else 1 + the place in `rules.REASONS` of the first reason
      that applies.
    """
    verdicts = np.zeros(len(measures), np.int8)
    failures = rules._failures(rules.statistics(measures))
    for code, failed in reversed(list(enumerate(failures, start=1))):
        verdicts[failed] = code
    return verdicts


def filter_config_hash(rules_by_source: Mapping[str, Rules]) -> str:
    """A digest of all rules and thresholds in force, for the manifest; 16 hexadecimal digits.

    Equal for equal rules, whatever the order of the sources.
    """
    config = {
        "version": RULES_VERSION,
        "sources": {
            source: {"rules": type(rules).__name__, **asdict(rules)}
            for source, rules in rules_by_source.items()
        },
    }
    canonical = json.dumps(config, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=8).hexdigest()


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The quotient, 0 where the whole is 0; rounded once, as Python divides integers."""
    return part / np.maximum(whole, 1)


def _checked_threshold(name: str, value: float, default: float) -> float:
    """The value in the type of the default, so that 1 and 1.0 give one `filter_config_hash`."""
    largest = 1 if name.endswith("_fraction") else 1 << 53
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= largest:
        raise RecipeError(f"{name} is {value!r}; it must be a number from 0 to {largest}")
    if isinstance(default, int) and value != int(value):
        raise RecipeError(f"{name} is {value!r}; it must be a whole number")
    return type(default)(value)
