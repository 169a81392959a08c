"""How every figure looks: colours that the colour-blind can tell apart, lines and markers that grey print keeps."""

from typing import Any

#: Okabe and Ito's palette.
_BLUE, _ORANGE, _GREEN, _RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
_PINK, _SKY, _BLACK = "#CC79A7", "#56B4E9", "#000000"

LABELS = {
    "theorem1": "Theorem 1 (the paper)",
    "birrell": "Birrell et al.",
    "wang": "Wang et al.",
    "lossless": "Lossless accountant",
    "single_pair_renyi": "Single pair, Rényi",
    "kl_hinge": "Single pair, KL hinge",
    "floor": "Certified floor",
}
COLOURS = {
    "theorem1": _BLUE,
    "birrell": _ORANGE,
    "wang": _GREEN,
    "lossless": _RED,
    "single_pair_renyi": _PINK,
    "kl_hinge": _SKY,
    "floor": _BLACK,
}
_MARKERS = {
    "theorem1": "o",
    "birrell": "s",
    "wang": "^",
    "lossless": "D",
    "single_pair_renyi": "v",
    "kl_hinge": "P",
    "floor": "",
}
_LINES: dict[str, Any] = {
    "theorem1": "-",
    "birrell": "--",
    "wang": "-.",
    "lossless": ":",
    "single_pair_renyi": (0, (5, 1, 1, 1, 1, 1)),
    "kl_hinge": (0, (8, 2)),
    "floor": "-",
}
_HATCHES = {
    "theorem1": "//",
    "birrell": "..",
    "wang": "xx",
    "lossless": "\\\\",
    "single_pair_renyi": "oo",
    "kl_hinge": "",
}

#: For matplotlib.rc_context.
RC: Any = {
    "font.size": 9,
    "axes.grid": True,
    "grid.color": "0.88",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "hatch.linewidth": 0.5,
    "svg.hashsalt": "certified-dp",
    "svg.fonttype": "none",
}


def line(method: str) -> dict[str, Any]:
    """Return the keyword arguments of a method's line."""
    return {
        "label": LABELS[method],
        "color": COLOURS[method],
        "marker": _MARKERS[method],
        "linestyle": _LINES[method],
    }


def fill(method: str) -> dict[str, Any]:
    """Return the keyword arguments of a method's area."""
    return {"facecolor": COLOURS[method], "hatch": _HATCHES[method], "edgecolor": "white"}
