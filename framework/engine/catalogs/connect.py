"""Catalogs opened by kind; their clients are optional extras, imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from framework.engine.catalogs.port import Catalog
from framework.errors import PlanError
from framework.plan.catalogs.target import CatalogTarget
from framework.vocabulary import CatalogKind

__all__ = ["connect"]

_PACKAGES = {CatalogKind.HIVE: "pymetastore", CatalogKind.GLUE: "boto3"}


@contextmanager
def connect(target: CatalogTarget) -> Iterator[Catalog]:
    """Yield the catalog of a target, and close its connection with the block.

    Raises:
        CatalogError: `catalog/unreachable`.
        PlanError: `catalog/extra-missing`.
    """
    try:
        opened = _opener(target.kind)
    except ImportError as error:
        raise PlanError(
            "catalog/extra-missing",
            f"the package `{_PACKAGES[target.kind]}` is not installed, which the catalog"
            f" `{target.kind}` needs",
            remedy="Install it: python -m pip install 'lakestrap[catalogs]'.",
        ) from error
    with opened(target) as catalog:
        yield catalog


def _opener(kind: CatalogKind) -> Callable[[CatalogTarget], AbstractContextManager[Catalog]]:
    """Return what opens a catalog of a kind.

    Raises:
        ImportError: its client is not installed.
    """
    if kind is CatalogKind.HIVE:
        from framework.engine.catalogs.hive import hive_catalog  # noqa: PLC0415  an extra

        return hive_catalog
    from framework.engine.catalogs.glue import glue_catalog  # noqa: PLC0415  an extra

    return glue_catalog
