"""Packed records by key, joined across the elements of a bundle before they are shuffled.

A piece's records scatter over all keys of a shuffle, and there are more keys the larger the corpus
is: sent as they come they would be one record to an element in the end, which costs a runner 15
times as much as the record itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

HELD_BYTES = 8 << 20
# Of the object that holds a part, so that many tiny ones count as what they take.
_PART_OVERHEAD = 48


class Packer:
    """Holds packed records by key, up to `HELD_BYTES` of them."""

    def __init__(self) -> None:
        self._parts: defaultdict[int, list[bytes]] = defaultdict(list)
        self._held = 0

    def add(self, parts: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Takes (key, packed records); yields all that is held whenever it is enough."""
        for key, packed in parts:
            self._parts[key].append(packed)
            self._held += len(packed) + _PART_OVERHEAD
            if self._held > HELD_BYTES:
                yield from self.drain()

    def drain(self) -> Iterator[tuple[int, bytes]]:
        """Yields (key, packed records), each key once, and holds nothing then."""
        parts, self._parts, self._held = self._parts, defaultdict(list), 0
        for key, packed in parts.items():
            yield key, b"".join(packed)


class PackingDoFn(beam.DoFn):
    """A DoFn whose main output is (key, packed records), joined within a bundle.

    `process` passes what it puts out through `packed`. Elements are in the global window.
    """

    def start_bundle(self) -> None:
        """Begins with nothing held."""
        self._packer = Packer()

    def packed(self, parts: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Joins (key, packed records) with what the bundle's other elements put out."""
        return self._packer.add(parts)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Puts out what is held."""
        for joined in self._packer.drain():
            yield GlobalWindows.windowed_value(joined)
