"""Numbers as people read them."""

_UNITS = ((10**12, "T"), (10**9, "G"), (10**6, "M"))
_LONGEST = 10**7


def count(number: float) -> str:
    """A count in full up to ten million, then with a unit: 12.3 M."""
    if number < _LONGEST:
        return f"{round(number):,}"
    size, unit = next((size, unit) for size, unit in _UNITS if number >= size)
    return f"{number / size:,.1f} {unit}"


def in_bytes(number: int) -> str:
    """Bytes: 512 B, 4.0 kB, 51.2 MB."""
    amount = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} TB"


def percent(share: float) -> str:
    """A share of 1; what is there at all is not shown as 0%, and what is missing not as 100%."""
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    return f"{share:.1%}"


def ratio(part: float, whole: float) -> float:
    """The quotient; 0 of nothing."""
    return part / whole if whole else 0.0


def short(number: float) -> str:
    """A tick of an axis: 0.25, 20, 4k, 1M."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"
