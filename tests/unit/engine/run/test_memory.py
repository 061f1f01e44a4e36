"""The driver's allocator: the system's within the block, the one before it afterwards."""

from __future__ import annotations

import pyarrow as pa
import pytest

from framework.engine.run.state import lean_arrow


def test_lean_arrow_within_the_block_allocates_as_the_system_does() -> None:
    """What is made inside comes from the system's pool and outlives the block."""
    before, system = pa.default_memory_pool().backend_name, pa.system_memory_pool()
    held = system.bytes_allocated()
    with lean_arrow():
        numbers = pa.array(range(10_000))
        assert pa.default_memory_pool().backend_name == "system"
        assert system.bytes_allocated() >= held + 80_000
    assert pa.default_memory_pool().backend_name == before
    assert numbers[-1].as_py() == 9_999


def test_lean_arrow_after_a_failure_restores_the_pool() -> None:
    """A failed stage leaves no trace in the process of its caller."""
    before = pa.default_memory_pool().backend_name
    with pytest.raises(ValueError, match="failed"), lean_arrow():
        raise ValueError("failed")
    assert pa.default_memory_pool().backend_name == before
