"""HTML that is escaped by construction: text becomes markup only by passing through `h`."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

__all__ = ["Child", "Markup", "bar", "h", "joined"]


class Markup(str):
    """Text that is HTML already; only this module and the style sheet make any."""

    __slots__ = ()


Child = str | Iterable[Markup]
_VOID: Final = {"link", "meta"}
_THINNEST: Final = 0.8


def h(tag: str, /, *children: Child, **attributes: str | bool) -> Markup:
    """Return an element: texts are escaped, `Markup` is not.

    Attribute names lose a closing underscore, and others become hyphens: `class_`, `aria_label`.
    An attribute that is True has no value; False leaves it out.
    """
    parts = [tag]
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(attribute)
        elif value is not False:
            parts.append(f'{attribute}="{escape(value)}"')
    opened = f"<{' '.join(parts)}>"
    return Markup(opened if tag in _VOID else f"{opened}{joined(*children)}</{tag}>")


def joined(*children: Child) -> Markup:
    """Return children one after the other."""
    return Markup("".join(_child(each) for each in children))


def bar(shares: Iterable[tuple[str, float]], label: str) -> Markup:
    """Return a bar as inline SVG: each (class, share of the whole) after the other, from the left.

    A share above 0 is never too thin to be seen; the others give way.
    """
    widths = [(kind, max(100 * share, _THINNEST)) for kind, share in shares if share > 0]
    scale = min(1.0, 100 / max(sum(width for _, width in widths), 1.0))
    pieces, at = [], 0.0
    for kind, width in widths:
        size = {"x": f"{at:.2f}", "y": "0", "width": f"{width * scale:.2f}", "height": "10"}
        pieces.append(h("rect", class_=kind, **size))
        at += width * scale
    return h(
        "svg",
        h("rect", class_="track", x="0", y="0", width="100", height="10"),
        pieces,
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )


def _child(child: Child) -> str:
    if isinstance(child, Markup):
        return child
    return escape(child) if isinstance(child, str) else "".join(child)
