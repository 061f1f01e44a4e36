"""Keeping the driver small: Arrow's own allocator keeps what is freed, the more the longer it runs.

At 100,000 files that was 40 MB in a driver of 200.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

__all__ = ["lean_arrow"]


@contextmanager
def lean_arrow() -> Iterator[None]:
    """Within the block, let Arrow allocate as the system does; at its end give back what is free.

    Holds for the whole process; what was allocated before stays where it is.
    """
    before, lean = pa.default_memory_pool(), pa.system_memory_pool()
    pa.set_memory_pool(lean)
    try:
        yield
    finally:
        lean.release_unused()
        pa.set_memory_pool(before)
