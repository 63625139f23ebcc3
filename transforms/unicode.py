"""Text is judged by Python's Unicode tables, which must be the same on every worker."""

import unicodedata

from transforms.errors import InternalError


def check_unicode(expected: str) -> None:
    """Refuses to work with other tables than the launcher's.

    Args:
      expected: version of the launcher's.

    Raises:
      InternalError: naming both.
    """
    here = unicodedata.unidata_version
    if here != expected:
        raise InternalError(
            f"this worker's Python has Unicode {here}, the launcher's {expected}: run both on the "
            "same Python version"
        )
