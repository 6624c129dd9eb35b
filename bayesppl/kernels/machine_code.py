"""Machine code that numba keeps on disk, and that may be damaged or written by another version there."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any


@cache
def recover_from_damage() -> None:
    """From now on, have numba compile again what it cannot load, and replace it, instead of raising.

    A process that is killed or a disk that is full truncates the files of its cache, and code refers to modules that a later
    version may have renamed. numba raises whatever unpickling makes of that, in this process and in all later ones. This
    holds for all functions of the process, for those that PyTensor compiles are cached in the same way.
    """
    from numba.core.caching import Cache

    numba_cache: Any = Cache
    load = numba_cache._load_overload

    def load_or_forget(self: Any, signature: Any, target_context: Any) -> Any:
        try:
            return load(self, signature, target_context)
        except Exception:  # whatever unpickling makes of a damaged file
            with suppress(OSError):
                self.flush()
            return None

    numba_cache._load_overload = load_or_forget
