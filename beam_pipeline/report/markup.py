"""HTML and SVG as strings that know they are markup: any other string is text and gets escaped."""

import re
from html import escape

# Controls, marks that turn the direction of what follows, invisible characters and noncharacters.
# Joiners (U+200C, U+200D) belong to the spelling of many languages and stay.
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
_CONTROL_PICTURES = 0x2400


class Html(str):
    """Markup."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """An element.

    Args:
      name: such as "td".
      children: `Html` is taken as it is, anything else is shown as text; None is left out.
      attributes: `class_` is `class`, other underscores become hyphens; None is left out, True
        gives the name alone.
    """
    given = "".join(
        f" {_attribute(key)}" if value is True else f' {_attribute(key)}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(*children)}</{name}>")


_VOID = frozenset(("link", "meta"))
# SVG spells these with a capital; everything else has hyphens.
_CAPITALS = {"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio"}


def _attribute(key: str) -> str:
    plain = key.rstrip("_").replace("_", "-")
    return _CAPITALS.get(plain, plain)


def join(*children: object) -> Html:
    """Children one after the other; see `tag`."""
    return Html("".join(_html(child) for child in children if child is not None))


def _html(child: object) -> str:
    return child if isinstance(child, Html) else escape(visible(str(child)), quote=False)


def visible(text: str) -> str:
    """A text with its odd characters made visible, so that none can rearrange or hide others.

    Line breaks and tabs stay; CR LF counts as a line break.
    """
    return _ODD.sub(_picture, text.replace("\r\n", "\n"))


def _picture(found: re.Match[str]) -> str:
    code_point = ord(found[0])
    if code_point < 0x20:
        return chr(_CONTROL_PICTURES + code_point)
    return f"‹U+{code_point:04X}›"
