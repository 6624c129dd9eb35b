"""Log densities as machine code that is called without Python in between, kept on disk between processes.

PyTensor turns a graph into a numba function; here it becomes a C function of raw pointers, which the sampler calls
from its own threads without holding Python's lock. It is looked up by the structure of the graph as it was
declared, so that a later process loads it without rewriting the graph, which takes longer than loading.

Why not nutpie's own compilation: for quadratic discriminant analysis of iris, declared by statistics, a first
process took 198 seconds of processor time with it and 43 with this, a later one 44 and 16.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any
from weakref import WeakSet

import numpy as np

from bayesppl.inference.progress import say

_EXPAND = """
def expand(size, expanded, point, out, data):
    for i in range(size):
        out[i] = point[i]
    return 0
"""

# Arguments that are handed over together.
_AT_ONCE = 20

#: Functions of this process by their key.
FUNCTIONS: dict[str, Any] = {}

#: Functions with operations that numba does not have, which Python runs. In two threads, or loaded from disk, they
#: end the process.
IN_PYTHON: WeakSet[Any] = WeakSet()


def density_function(
    key: str | None,
    shapes: Sequence[tuple[int, ...]],
    data_shapes: Sequence[tuple[int, ...]],
    graph: Callable[[], tuple[Any, bool]],
    notify: bool,
) -> Any:
    """Return the C function ``(size, point, gradient, value, data) -> status`` of a log density, as a ``CFunc``.

    Parameters
    ----------
    key : str or None
        By which the function is kept; with None it is compiled anew.
    shapes, data_shapes : sequence of shapes
        Of the variables raveled into ``point`` and of the arrays raveled into ``data``.
    graph : callable
        Returns the numba function of these variables and arrays, if it has to be compiled, and whether Python runs
        a part of it.
    notify : bool
        Whether to report on standard error that it has to be compiled.
    """
    types, pointer = _types()
    signature = types.int64(types.uint64, pointer, pointer, pointer, pointer)
    source = _source(shapes, data_shapes)

    def inner() -> tuple[Any, bool]:
        if notify:
            say("compiling this model for the first time, up to half a minute; the result is kept")
        return graph()

    return _compiled(key, source, "log_density", signature, inner)


def expand_function() -> Any:
    """Return the C function by which nutpie stores a point as it is."""
    types, pointer = _types()
    signature = types.int64(types.uint64, types.uint64, pointer, pointer, types.voidptr)
    return _compiled("expand", _EXPAND, "expand", signature, lambda: (None, False))


def structure_key(inputs: Sequence[Any], outputs: Sequence[Any]) -> str | None:
    """Return a key that graphs share, in any process, if operations, wiring, types and constants are the same.

    None where an operation cannot be pickled.
    """
    import numba
    import pytensor
    from pytensor.graph.basic import Constant
    from pytensor.graph.traversal import toposort

    number = {variable: str(i) for i, variable in enumerate(inputs)}
    written: dict[Any, str] = {}

    def name(variable: Any) -> str:
        if variable in number:
            return number[variable]
        if not isinstance(variable, Constant):
            raise TypeError(f"{variable} is neither input nor computed")
        value = np.asarray(variable.data)
        content = value.tobytes() if value.dtype.kind in "biuf" else pickle.dumps(variable.data)
        return f"{variable.type!r}{value.dtype}{value.shape}{sha256(content).hexdigest()}"

    def write(op: Any) -> str:
        if op not in written:
            written[op] = f"{type(op).__module__}.{type(op).__qualname__}{sha256(pickle.dumps(op)).hexdigest()}"
        return written[op]

    try:
        lines = [f"pytensor {pytensor.__version__} numba {numba.__version__}", *(repr(v.type) for v in inputs)]
        for node in toposort(outputs):
            lines.append(f"{write(node.op)}({','.join(map(name, node.inputs))})")
            number.update({v: f"{len(lines)}.{i}" for i, v in enumerate(node.outputs)})
        lines.append(",".join(map(name, outputs)))
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return sha256("\n".join(lines).encode()).hexdigest()


def _types() -> tuple[Any, Any]:
    """Return numba's types, and that of a pointer to numbers."""
    from numba import types

    untyped: Any = types
    return untyped, untyped.CPointer(untyped.double)


def _compiled(
    key: str | None, source: str, name: str, signature: Any, inner: Callable[[], tuple[Any, bool]]
) -> Any:
    """Load a C function from disk, or compile it."""
    import numba
    import pytensor
    from numba.core.errors import TypingError
    from pytensor.link.numba.cache import compile_numba_function_src

    if key in FUNCTIONS:
        return FUNCTIONS[key]
    # what is stored names this module, is loaded by that name, and is the code of this source
    kept_under = key and f"bayesppl_function_{sha256('\n'.join([__name__, source, key]).encode()).hexdigest()}"
    known = {"__name__": __name__, "carray": vars(numba)["carray"], "np": np}

    def build(names: dict[str, Any]) -> Any:
        function = compile_numba_function_src(source, name, names, cache_key=kept_under)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Cannot cache compiled function", numba.NumbaWarning)
            keep = key is not None and pytensor.config.numba__cache
            return numba.cfunc(signature, cache=keep)(function)

    try:
        # what can be loaded needs none of the names of its source
        found = build(dict(known))
    except TypingError:
        made, in_python = inner()
        if in_python:
            key = None  # which has the name of an operation, and not the Python code behind it
        found = build({**known, "inner": made})
        if in_python:
            IN_PYTHON.add(found)
    if key is not None:
        FUNCTIONS[key] = found
    return found


def _source(shapes: Sequence[tuple[int, ...]], data_shapes: Sequence[tuple[int, ...]]) -> str:
    """Write a C function that takes raveled arrays apart, calls ``inner`` and ravels the gradient."""
    size, data_size = (sum(int(np.prod(shape)) for shape in some) for some in (shapes, data_shapes))
    lines = [
        "def log_density(size, point, gradient, value, data):",
        f"    if size != {size}:",
        "        return -1",
        "    try:",
        f"        points, constants = carray(point, ({size},)), carray(data, ({data_size},))",
        *_views("x", "points", shapes),
        *_views("d", "constants", data_shapes),
    ]
    gradients = [f"g{i}" for i in range(len(shapes))]
    arguments = [f"x{i}" for i in range(len(shapes))] + [f"d{i}" for i in range(len(data_shapes))]
    # numba supports no call of more than 30 arguments
    tuples = [f"({', '.join(arguments[i : i + _AT_ONCE])},)" for i in range(0, len(arguments), _AT_ONCE)]
    lines += [
        f"        arguments = {' + '.join(tuples)}",
        f"        result, {', '.join(gradients)} = inner(*arguments)",
        "        value[0] = result[()]",
        "        at, finite = 0, np.isfinite(value[0])",
    ]
    for g, shape in zip(gradients, shapes, strict=True):
        # numba reads beyond a single number that is a view of an array, if it goes through it
        lines += [
            f"        for entry in {f'{g}.flat' if shape else f'({g}[()],)'}:",
            "            gradient[at] = entry",
            "            finite &= np.isfinite(entry)",
            "            at += 1",
        ]
    # the sampler, which calls from threads of its own, reads a status; nothing may be raised into it
    return "\n".join(
        [*lines, "        return 0 if finite else 3", "    except Exception:", "        return 1", ""]
    )


def _views(letter: str, raveled: str, shapes: Sequence[tuple[int, ...]]) -> list[str]:
    """Write the statements that take arrays out of a raveled one."""
    lines, start = [], 0
    for i, shape in enumerate(shapes):
        stop = start + int(np.prod(shape))
        view = f"{raveled}[{start}:{stop}]"
        if not shape:
            view = f"np.asarray({raveled}[{start}])"
        elif len(shape) > 1:
            view += f".reshape({shape})"
        lines.append(f"        {letter}{i} = {view}")
        start = stop
    return lines
