"""`python -m lakestrap` and the `run-pipeline` command."""

from __future__ import annotations

import sys

from framework.__main__ import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
