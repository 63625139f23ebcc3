"""Instructions on integers of 64 bits that Python has no word for."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from transforms.kernels.pointers import item_pointer

_WORD = ir.IntType(64)


@intrinsic
def popcount(typing_context: Any, word: Any) -> tuple[Any, Callable]:
    """How many bits of a uint64 are set, int64."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> tuple[Any, Callable]:
    """Place of the lowest bit of a uint64 that is set, int64; 64 if there is none."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def word_at(typing_context: Any, data: Any, i: Any) -> tuple[Any, Callable]:
    """Bytes i to i + 7 of an array as an int64."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        first = item_pointer(context, builder, signature.args[0], *arguments)
        return builder.load(builder.bitcast(first, _WORD.as_pointer()), align=1)

    return types.int64(data, i), generate
