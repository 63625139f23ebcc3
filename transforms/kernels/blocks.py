"""Blocks of bytes that a kernel looks at together: parts of the bodies of numba intrinsics."""

from typing import Any

from llvmlite import ir
from numba.core import types

from transforms.kernels.pointers import item_pointer

_BYTE = ir.IntType(8)


class Blocks:
    """Builds instructions on blocks of so many bytes, 32 or 64, inside of an intrinsic.

    Args:
      context, builder, signature, arguments: what the intrinsic's code generator is given.
    """

    def __init__(
        self, width: int, context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any
    ) -> None:
        self._width = width
        self._vector = ir.VectorType(_BYTE, width)
        self._context = context
        self._builder = builder
        self._types = signature.args
        self._arguments = arguments

    def load(self, array: int, place: int) -> ir.Value:
        """The block at an index of an array; both are numbers of arguments."""
        return self._builder.load(self._pointer(array, place, self._vector), align=1)

    def store(self, values: ir.Value, array: int, place: int) -> None:
        """Writes a vector of the array's items at an index of it."""
        self._builder.store(values, self._pointer(array, place, values.type), align=1)

    def every(self, byte: int) -> ir.Constant:
        """A block of the same byte."""
        return ir.Constant(self._vector, [byte] * self._width)

    def equal(self, block: ir.Value, *bytes_: int) -> ir.Value:
        """Which bytes are one of these."""
        return self.either(
            *(self._builder.icmp_unsigned("==", block, self.every(byte)) for byte in bytes_)
        )

    def between(self, block: ir.Value, first: int, last: int) -> ir.Value:
        """Which bytes are in a range, its ends included."""
        above = self._builder.sub(block, self.every(first))
        return self._builder.icmp_unsigned("<=", above, self.every(last - first))

    def beyond_ascii(self, block: ir.Value) -> ir.Value:
        """Which bytes are from 0x80 on."""
        return self._builder.icmp_signed("<", block, self.every(0))

    def either(self, first: ir.Value, *others: ir.Value) -> ir.Value:
        """Which bytes are in one of the masks."""
        for other in others:
            first = self._builder.or_(first, other)
        return first

    def bits(self, mask: ir.Value) -> ir.Value:
        """A mask as an integer of 64 bits, the first byte's being the lowest."""
        found = self._builder.bitcast(mask, ir.IntType(self._width))
        return found if self._width == 64 else self._builder.zext(found, ir.IntType(64))

    def size_before(self, mask: ir.Value) -> ir.Value:
        """How many bytes come before the first one in a mask, all if there is none, int64."""
        bits = self._builder.bitcast(mask, ir.IntType(self._width))
        size = self._builder.cttz(bits, ir.Constant(ir.IntType(1), 0))
        return size if self._width == 64 else self._builder.zext(size, ir.IntType(64))

    def tuple_of(self, *integers: ir.Value) -> ir.Value:
        """What an intrinsic returns that is typed `UniTuple(uint64, n)`."""
        kind = types.UniTuple(types.uint64, len(integers))
        return self._context.make_tuple(self._builder, kind, integers)

    def _pointer(self, array: int, place: int, kind: ir.Type) -> ir.Value:
        first = item_pointer(
            self._context,
            self._builder,
            self._types[array],
            self._arguments[array],
            self._arguments[place],
        )
        return self._builder.bitcast(first, kind.as_pointer())
