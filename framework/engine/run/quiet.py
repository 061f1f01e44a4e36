"""Waiting, before a new table is published, for late requests of runs that were rolled back."""

from __future__ import annotations

import time
from typing import Final

from framework.engine.events import Events, Note
from framework.hudi.commit.fence import quiet_in_ms
from framework.hudi.commit.intent import Transaction
from framework.hudi.commit.lease import renew

__all__ = ["wait_until_quiet"]

_POLL_S: Final = 10.0


def wait_until_quiet(events: Events, transaction: Transaction) -> None:
    """Wait as long as files of an earlier run may still arrive and would be visible (ADR 0049).

    Only where a run makes a table on an object store, and an earlier run was rolled back there in
    the last quarter of an hour. Renews the lease, whose time is compared.

    Raises:
        LeaseHeldError: `commit/lease-lost`.
    """
    left = quiet_in_ms(transaction)
    if left > 0:
        text = f"waits {left // 1000 + 1} s for the last requests of a run that was rolled back"
        events(Note(level="warning", message=text))
    while left > 0:
        time.sleep(min(left / 1000, _POLL_S))
        renew(transaction.storage, transaction.lease, transaction.clock)
        left = quiet_in_ms(transaction)
