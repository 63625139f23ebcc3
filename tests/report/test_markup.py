from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_pipeline.report.markup import Html, join, tag, visible


class Seen(HTMLParser):
    """What a parser sees of markup."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def seen(markup: Html) -> Seen:
    parser = Seen()
    parser.feed(markup)
    parser.close()
    return parser


@given(st.text(), st.text())
def test_any_text_stays_text(text, value):
    found = seen(tag("p", text, data_value=value))
    assert found.tags == [("p", {"data-value": value})]
    assert found.text == visible(text)


@given(st.text())
def test_nothing_that_hides_or_turns_text_is_left(text):
    shown = visible(text)
    assert not set(shown) & set("\x00\x08\x1b\x7f\x85\u202e\u2066\u200b\ufeff")
    shown.encode()
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb\tc", "a\nb\tc"),
        ("\x00\x1b[31m", "␀␛[31m"),
        ("user\u202etxt.exe", "user‹U+202E›txt.exe"),
        ("\ud800", "‹U+D800›"),
        ("می\u200cخواهم 👩\u200d🚀", "می\u200cخواهم 👩\u200d🚀"),
    ],
)
def test_odd_characters(text, expected):
    assert visible(text) == expected


def test_markup_is_not_escaped_twice():
    assert tag("b", join("<", tag("i", "&"), None)) == "<b>&lt;<i>&amp;</i></b>"
    assert tag("details", open=True, class_=None) == "<details open></details>"
    assert tag("meta", name="a") == '<meta name="a">'
