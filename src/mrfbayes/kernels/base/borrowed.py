"""Arrays without an owner, for hot loops.

A compiled function counts a reference to every array that it is given, and gives it back when it returns: two atomic
operations an array, which a helper called for every node pays every time, and which two threads that share an array pay
for each other as well. `borrow` returns the same arrays with nothing to count, so that LLVM removes the counting.

They are valid as long as the originals are. So borrow the **arguments** of a kernel, which its caller keeps, and
nothing else (tested): an array made in the kernel itself is freed after its last use, and a use of its borrowed twin
does not count.
"""

from __future__ import annotations

from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array


def borrow(view):
    """``view`` (an array, or a tuple of arrays, tuples and numbers) without owners; without the JIT, itself."""
    return view


@intrinsic
def _borrow(typing_context, view):
    def generate(context, builder, signature, arguments):
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return view(view), generate


@overload(borrow)
def _compiled_borrow(view):
    return lambda view: _borrow(view)


def _without_owner(context, builder, kind, value):
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, value)
        for name in ("meminfo", "parent"):
            setattr(array, name, cgutils.get_null_value(getattr(array, name).type))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        kinds = kind.types  # type: ignore[attr-defined]
        parts = [_without_owner(context, builder, kinds[k], builder.extract_value(value, k)) for k in range(len(kinds))]
        return context.make_tuple(builder, kind, parts)
    return value
