"""Numba types of arrays that a kernel only reads."""

from numba import types


def readonly(dtype: types.Type, ndim: int = 1) -> types.Array:
    """The C-contiguous array type for an explicit kernel signature.

    A signature with it takes writable arrays too; numba's `uint8[::1]` takes those only, and what
    `np.frombuffer` gives for bytes is read-only.
    """
    return types.Array(dtype, ndim, "C", readonly=True)
