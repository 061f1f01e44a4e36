"""`python -m framework` and the `run-pipeline` command."""

from __future__ import annotations

import os
import sys

from framework.cli.app import main as command_line

__all__ = ["main"]

_INTERRUPTED = 128


def main() -> int:
    """Run the command line and return its exit code.

    After an interruption the process exits immediately: tasks on running threads would delay it by
    minutes, and nothing reads what they write.
    """
    code = command_line()
    if code >= _INTERRUPTED:
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
