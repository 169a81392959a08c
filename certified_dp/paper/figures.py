"""The paper's figures and two more, drawn from certified numbers. Needs the extra ``plots`` (matplotlib)."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certified_dp.errors import CertifiedDPError, InvalidParameterError
from certified_dp.paper.figure_data import ALL, DATA, PAPER
from certified_dp.paper.figure_style import COLOURS, LABELS, RC, fill, line
from certified_dp.paper.output import check_folder, write_rows
from certified_dp.paper.rowlog import Row
from certified_dp.paper.sweep import sweep
from certified_dp.parameters import Number, exact_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from typing_extensions import Unpack

    from certified_dp.paper.sweep import SweepOptions

#: Picture formats, with the metadata that would make the same picture differ from day to day.
_SUFFIXES: dict[str, dict[str, Any]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def check_figure(number: Number, path: Path) -> int:
    """Refuse a figure that cannot be drawn, before any work is done; return its number.

    Raises: InvalidParameterError; CertifiedDPError where matplotlib is missing.
    """
    allowed = f"a figure, 1 to {len(DATA)}"
    which = exact_integer("number", number, 1, allowed)
    if which not in DATA:
        raise InvalidParameterError("number", number, allowed)
    if path.suffix not in _SUFFIXES:
        raise InvalidParameterError("output", str(path), f"a file name that ends in {', '.join(_SUFFIXES)}")
    check_folder(path)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise CertifiedDPError("figures need the extra plots: pip install 'certified-dp[plots]'") from None
    return which


def figure(number: Number, path: Path, **how: Unpack[SweepOptions]) -> list[Row]:
    """Compute a figure's numbers, draw it to ``path`` and save the numbers beside it as CSV.

    Guarantee: every point of an accountant is a certified upper bound, and of the floor a lower bound, rounded
        outward in the CSV; a picture is as exact as a picture is. Expansions and limits are not bounds.
    Args: number: 1 to 8.  path: a .png, .svg or .pdf file.  **how: see `sweep`.
    Returns: the rows of the CSV file.
    Raises: InvalidParameterError, CertifiedDPError, and what `sweep` raises.
    """
    which = check_figure(number, path)
    if which == 6:
        how["processes"] = 1  # run times would disturb each other
    rows = DATA[which](lambda settings, task: sweep(settings, task=task, **how))
    write_rows(rows, path.with_suffix(".csv"))
    draw(which, rows, path)
    return rows


def draw(number: int, rows: Sequence[Row], path: Path) -> None:
    """Draw a figure from its rows."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(RC):
        picture = Figure(layout="constrained", dpi=200)
        _DRAWINGS[number](picture, rows)
        partial = path.with_name(path.name + ".partial")
        picture.savefig(partial, format=path.suffix[1:], metadata=_SUFFIXES[path.suffix])
        os.replace(partial, path)


def _chosen(rows: Sequence[Row], **wanted: str) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _distinct(rows: Sequence[Row], key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))


def _points(rows: Sequence[Row], x: str = "steps", y: str = "upper") -> tuple[list[float], list[float]]:
    """Return the points of a curve; a setting that failed leaves a gap."""
    return [float(row[x]) for row in rows], [float(row[y]) if row[y] else math.nan for row in rows]


def _log_steps(axes: Axes, rows: Sequence[Row]) -> None:
    """Mark the numbers of steps themselves on a logarithmic axis."""
    axes.set_xscale("log", base=2)
    ticks = sorted({int(row["steps"]) for row in rows if row["steps"]})
    axes.set_xticks(ticks, [str(tick) for tick in ticks], rotation=45)
    axes.minorticks_off()
    axes.set_xlabel("Iterations $T$")


def _isosceles(picture: Figure, rows: Sequence[Row]) -> None:
    picture.set_size_inches(5.0, 4.4)
    axes = picture.subplots()
    grid_x = [-3.2 + 0.08 * i for i in range(136)]
    grid_y = [-3.2 + 0.08 * i for i in range(116)]
    corner = {}
    for mixture, colour, style in (("a", COLOURS["theorem1"], "solid"), ("b", COLOURS["lossless"], "dashed")):
        parts = [(float(r["x"]), float(r["y"]), float(r["weight"])) for r in _chosen(rows, mixture=mixture)]
        corner[mixture] = parts[1][:2]
        density = [
            [sum(w * math.exp(-((x - mx) ** 2 + (y - my) ** 2) / 2) for mx, my, w in parts) for x in grid_x]
            for y in grid_y
        ]
        levels = [0.01, 0.04, 0.12, 0.4]
        axes.contour(grid_x, grid_y, density, levels=levels, colors=colour, linestyles=style, linewidths=1)
        axes.plot([], [], color=colour, linestyle=style, label=rf"${mixture}\cdot\mathrm{{Ber}}(p)+N(0,I_2)$")
    (ax, ay), (bx, by) = corner["a"], corner["b"]
    axes.plot([0, ax, bx, 0], [0, ay, by, 0], color="black", marker="o", markersize=4, linewidth=1)
    for x, y, text, shift in (
        (0, 0, "$0$", (-12, -12)),
        (ax, ay, r"$a=\Delta(1,0)$", (-16, -16)),
        (bx, by, r"$b=\Delta(u,\sqrt{2u-u^2})$", (-36, 8)),
        (ax / 2, 0, r"$\Delta$", (0, -12)),
        ((ax + bx) / 2, by / 2, r"$\Delta$", (5, 4)),
    ):
        blank = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        axes.annotate(text, (x, y), textcoords="offset points", xytext=shift, bbox=blank)
    axes.set_aspect("equal")
    axes.set_title(r"$p=0.2$, $\Delta=4.5$, $u=0.3$")
    axes.legend(loc="upper right")


def _panels(picture: Figure, rows: Sequence[Row], key: str, title: str, methods: Sequence[str]) -> None:
    """Draw ε against T for each value of one parameter."""
    picture.set_size_inches(7.6, 3.4)
    values = _distinct(rows, key)
    panels = picture.subplots(1, len(values))
    for axes, value in zip(panels, values, strict=True):
        part = _chosen(rows, **{key: value})
        for method in methods:
            axes.plot(*_points(_chosen(part, method=method)), **line(method))
        _log_steps(axes, part)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(r"Privacy $\varepsilon$")
        axes.set_title(title.format(value))
    panels[0].legend(loc="upper left")


def _by_noise(picture: Figure, rows: Sequence[Row]) -> None:
    _panels(picture, rows, "noise_multiplier", r"$p=0.01$, $\sigma={}$, $\delta=10^{{-6}}$", PAPER)


def _by_sampling(picture: Figure, rows: Sequence[Row]) -> None:
    _panels(picture, rows, "sampling_probability", r"$p={}$, $\sigma=4$, $\delta=10^{{-6}}$", PAPER)


def _limits(picture: Figure, rows: Sequence[Row]) -> None:
    picture.set_size_inches(6.4, 4.6)
    axes = picture.subplots()
    finite = [row for row in rows if row["steps"]]
    span = [min(int(row["steps"]) for row in finite), max(int(row["steps"]) for row in finite)]
    for method, limit, name in (
        ("theorem1", "proposition4", "Limit (Theorem 1, Proposition 4)"),
        ("lossless", "lossless", "Limit (lossless, Lemma 3)"),
    ):
        limit_line = "--" if method == "theorem1" else ":"
        for number, epsilon in enumerate(_distinct(rows, "epsilon")):
            steps, deltas = _points(_chosen(finite, method=method, epsilon=epsilon))
            style = {**line(method), "label": line(method)["label"] if number == 0 else None, "linestyle": "-"}
            axes.plot(steps, [math.log(delta) for delta in deltas], **style)
            [end] = _chosen(rows, method=limit, epsilon=epsilon, steps="")
            label = name if number == 0 else None
            height = [math.log(float(end["upper"]))] * 2
            axes.plot(span, height, color=COLOURS[method], linestyle=limit_line, label=label)
            if method == "theorem1":
                axes.annotate(
                    rf"$\varepsilon={epsilon}$", (span[1], height[0]), xytext=(6, 0), textcoords="offset points"
                )
    _log_steps(axes, finite)
    axes.set_xlabel(r"Iterations $T$, with $p=\sqrt{\nu/T}$")
    axes.set_ylabel(r"Privacy $\log\delta$")
    axes.set_title(r"$Tp^2=\nu=0.5$, $\sigma=2$")
    picture.legend(loc="outside lower center", ncols=2)


def _expansions(picture: Figure, rows: Sequence[Row]) -> None:
    picture.set_size_inches(6.4, 4.2)
    axes = picture.subplots()
    fills = {"0.005": "none", "0.01": "full"}
    for p in _distinct(rows, "sampling_probability"):
        for method, name in (("theorem1", "Theorem 1"), ("birrell", "Birrell et al.")):
            style = {"color": COLOURS[method], "marker": line(method)["marker"], "fillstyle": fills[p]}
            orders, values = _points(_chosen(rows, sampling_probability=p, series=method), x="order")
            axes.plot(orders, values, **style, linestyle="none", label=f"{name}, $p={p}$")
            orders, values = _points(_chosen(rows, sampling_probability=p, series=f"{method}_expansion"), x="order")
            axes.plot(
                orders,
                values,
                color=COLOURS[method],
                linestyle=line(method)["linestyle"],
                label=f"its expansion, $p={p}$",
            )
    axes.set_ylim(0, 1e-3)
    axes.ticklabel_format(axis="y", scilimits=(-4, -4))
    axes.set_xlabel(r"Rényi order $\alpha$")
    axes.set_ylabel("Rényi DP")
    axes.set_title(r"$\sigma=3$")
    axes.legend(loc="upper left")


def _run_times(picture: Figure, rows: Sequence[Row]) -> None:
    picture.set_size_inches(7.6, 3.6)
    panels = picture.subplots(1, 2, sharey=True)
    for axes, sigma in zip(panels, _distinct(rows, "noise_multiplier"), strict=True):
        for place, (steps, colour, hatch) in enumerate(
            (("1000", COLOURS["theorem1"], ""), ("10000", COLOURS["birrell"], "//"))
        ):
            part = [row for row in _chosen(rows, noise_multiplier=sigma, steps=steps) if not row["error"]]
            middle = [float(row["median"]) for row in part]
            errors = [
                [m - float(row["p10"]) for m, row in zip(middle, part, strict=True)],
                [float(row["p90"]) - m for m, row in zip(middle, part, strict=True)],
            ]
            where = [ALL.index(row["method"]) + 0.38 * (place - 0.5) for row in part]
            axes.bar(
                where, middle, 0.38, yerr=errors, color=colour, hatch=hatch, edgecolor="black", linewidth=0.5,
                capsize=2, error_kw={"linewidth": 0.8}, label=f"$T={steps}$",
            )  # fmt: skip
        axes.set_yscale("log")
        axes.set_xticks(range(len(ALL)), [LABELS[method] for method in ALL], rotation=35, ha="right")
        axes.grid(axis="x", visible=False)
        axes.set_title(rf"$p=0.01$, $\sigma={sigma}$, $\delta=10^{{-8}}$")
    panels[0].set_ylabel("Time (seconds)")
    panels[0].legend(loc="upper left")


def _bracket(picture: Figure, rows: Sequence[Row]) -> None:
    picture.set_size_inches(6.4, 6.0)
    above, below = picture.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    steps, floor = _points(_chosen(rows, method="floor"), y="floor")
    curves = {method: _points(_chosen(rows, method=method))[1] for method in ALL}
    best = [min(filter(math.isfinite, values)) for values in zip(*curves.values(), strict=True)]
    for axes, scale in ((above, [1.0] * len(floor)), (below, floor)):
        for method, values in curves.items():
            axes.plot(steps, [value / unit for value, unit in zip(values, scale, strict=True)], **line(method))
        low, high = ([value / unit for value, unit in zip(ends, scale, strict=True)] for ends in (floor, best))
        axes.fill_between(steps, low, high, color="0.75", label="The truth lies here")
        axes.plot(steps, low, **line("floor"))
    above.set_yscale("log")
    above.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    above.minorticks_off()
    above.set_ylabel(r"Privacy $\varepsilon$")
    above.legend(loc="upper left")
    above.set_title(r"$p=0.01$, $\sigma=2$, $\delta=10^{-6}$")
    below.set_ylim(0.98, 1.6)
    below.annotate(
        "Birrell et al. and Wang et al. are above this panel", (0.98, 0.93), xycoords="axes fraction", ha="right"
    )
    below.set_ylabel(r"$\varepsilon$ / floor")
    _log_steps(below, rows)


def _winners(picture: Figure, rows: Sequence[Row]) -> None:
    from matplotlib.patches import Patch, Rectangle

    picture.set_size_inches(7.6, 4.4)
    noises, steps = _distinct(rows, "noise_multiplier"), _distinct(rows, "steps")
    bounds = {(row["noise_multiplier"], row["steps"], row["method"]): row["upper"] for row in rows}
    seen: Counter[str] = Counter()
    panels = picture.subplots(1, 2, sharey=True)
    for axes, methods, title in (
        (panels[0], PAPER, "Among the paper's four accountants"),
        (panels[1], ALL, "Among all"),
    ):
        for i, time in enumerate(steps):
            for j, noise in enumerate(noises):
                values = {m: float(bounds[noise, time, m]) for m in methods if bounds[noise, time, m]}
                if not values:
                    continue
                winner = min(values, key=lambda method: values[method])
                seen[winner] += 1
                axes.add_patch(Rectangle((i - 0.5, j - 0.5), 1, 1, linewidth=0.8, **fill(winner)))
        axes.set_xlim(-0.5, len(steps) - 0.5)
        axes.set_ylim(-0.5, len(noises) - 0.5)
        axes.set_xticks(range(len(steps)), steps, rotation=45)
        axes.set_yticks(range(len(noises)), noises)
        axes.grid(visible=False)
        axes.set_xlabel("Iterations $T$")
        axes.set_title(title)
    panels[0].set_ylabel(r"Noise multiplier $\sigma$")
    handles = [Patch(label=LABELS[method], **fill(method)) for method in ALL if seen[method]]
    picture.suptitle(r"Smallest certified $\varepsilon$ at $p=0.01$, $\delta=10^{-6}$", fontsize=10)
    picture.legend(handles=handles, loc="outside lower center", ncols=3)


_DRAWINGS: Mapping[int, Callable[[Figure, Sequence[Row]], None]] = {
    1: _isosceles,
    2: _by_noise,
    3: _by_sampling,
    4: _limits,
    5: _expansions,
    6: _run_times,
    7: _bracket,
    8: _winners,
}
