"""Where an item of an array is, for what is written in LLVM's terms."""

from typing import Any

from llvmlite import ir
from numba.core.cgutils import get_item_pointer


def item_pointer(
    context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value, *indices: ir.Value
) -> ir.Value:
    """A pointer to an item of an argument of an intrinsic.

    Args:
      context, builder: what the intrinsic's code generator is given.
      kind: the array's type, as in the generator's `signature.args`.
      array: the array, as in its `arguments`.
      indices: int64, not checked and not counted from the end.
    """
    view = context.make_array(kind)(context, builder, array)
    return get_item_pointer(context, builder, kind, view, indices)
