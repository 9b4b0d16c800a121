"""Which colour, marker and dash a name has, the same all over a page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# Okabe and Ito's palette, which the colour-blind can tell apart, its bright colours darkened until they stand out from
# white paper; then ink and grey. The same stand in assets/page.css, and a test compares the two.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b8619a", "#b47b00", "#3a9bd0", "#1d2127", "#767e89")
SHAPES = ("o", "s", "^", "D", "v", "P", "o", "X")
"""The markers in Matplotlib's letters; GLYPHS are the same in SVG."""
GLYPHS = (
    "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0z",
    "M-3.1-3.1h6.2v6.2h-6.2z",
    "M0-4.2 3.9 2.9h-7.8z",
    "M0-4.3 4.3 0 0 4.3-4.3 0z",
    "M0 4.2 3.9-2.9h-7.8z",
    "M-1.4-4.2h2.8v2.8h2.8v2.8h-2.8v2.8h-2.8v-2.8h-2.8v-2.8h2.8z",
    "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0z",
    "M-4-2.6-2.6-4 0-1.4 2.6-4 4-2.6 1.4 0 4 2.6 2.6 4 0 1.4-2.6 4-4 2.6-1.4 0z",
)
INK, GREY = 6, 7
WISHES = {
    "choicenet": 0,
    "mlp": 1,
    "mdn": 2,
    "oracle": INK,
    "expert": GREY,
    "clean": 0,
    "corrupt": 1,
    "bad": 1,
    "cannot": GREY,  # tell
}
"""What a name's first word stands for; a second name with the same wish takes the next free colour."""


@dataclass(frozen=True)
class Style:
    """A slot of the palette; names beyond the last begin again, dotted."""

    slot: int
    dotted: bool = False

    @property
    def classes(self) -> str:
        return f"s{self.slot + 1}" + (" dotted" if self.dotted else "")


def styles_of(names: Iterable[str]) -> dict[str, Style]:
    """A style for each name: the one it is known by, else the next free one in the order of the names."""
    distinct = list(dict.fromkeys(names))
    styles: dict[str, Style] = {}
    for name in distinct:
        wish = WISHES.get(_first_word(name))
        if wish is not None and Style(wish) not in styles.values():
            styles[name] = Style(wish)
    free = [Style(slot) for slot in range(len(COLOURS)) if Style(slot) not in styles.values()]
    # A further lap is dotted; beyond that, names share what there is.
    free += [Style(slot, dotted=True) for slot in range(len(COLOURS))]
    rest = [name for name in distinct if name not in styles]
    styles.update({name: free[index % len(free)] for index, name in enumerate(rest)})
    return styles


def _first_word(name: str) -> str:
    return name.replace(",", " ").casefold().split(" ")[0]
