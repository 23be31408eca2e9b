"""Rows as a picture: time by size on logarithmic axes, one panel for each number of ranks and dtype. SVG."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log2, log10

from sparkdl_ring.bench.api import Row
from sparkdl_ring.bench.report import groups, size_text

_WIDTH, _HEIGHT = 440, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 15, 30, 40
_COLOURS = ("#9e9e9e", "#1565c0", "#64b5f6", "#0d9488", "#c62828", "#ef9a9a", "#6a1b9a", "#f9a825", "#5d4037")
_FONT = 'font-family="sans-serif" font-size="11"'
_COLUMNS = 3
_LEGEND_LINE = 18


def svg(rows: Sequence[Row]) -> str:
    """The whole picture as text of an SVG file."""
    methods = list(dict.fromkeys(row.method.name for row in rows))
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(methods)}
    panels = groups(rows)
    columns = min(_COLUMNS, max(1, len(panels)))
    lines = ceil(len(panels) / columns)
    width, height = columns * _WIDTH, lines * _HEIGHT + _LEGEND_LINE * len(methods) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {_FONT}>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, (title, group) in enumerate(panels.items()):
        x, y = number % columns * _WIDTH, number // columns * _HEIGHT
        parts += [f'<g transform="translate({x},{y})">', *_panel(group, title, colours), "</g>"]
    parts += _legend(colours, lines * _HEIGHT)
    return "\n".join([*parts, "</svg>", ""])


def _panel(group: Sequence[Row], title: str, colours: dict[str, str]) -> list[str]:
    sizes = sorted({row.cell.num_bytes for row in group})
    low = floor(log10(min(row.median_s for row in group) * 1e6))
    high = max(low + 1, ceil(log10(max(row.median_s for row in group) * 1e6)))

    def x_of(num_bytes: int) -> float:
        span = max(1.0, log2(sizes[-1]) - log2(sizes[0]))
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (log2(num_bytes) - log2(sizes[0])) / span

    def y_of(microseconds: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - log10(microseconds)) / (high - low)

    parts = [f'<text x="{_LEFT}" y="18" font-weight="bold">{title}</text>']
    for power in range(low, high + 1):
        y = y_of(10**power)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{_time_text(power)}</text>')
    for size in sizes:
        parts.append(
            f'<text x="{x_of(size):.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">'
            f"{size_text(size)}</text>"
        )
    for name in dict.fromkeys(row.method.name for row in group):
        mine = sorted((row for row in group if row.method.name == name), key=lambda row: row.cell.num_bytes)
        points = [(x_of(row.cell.num_bytes), y_of(row.median_s * 1e6)) for row in mine]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colours[name]}"/>' for x, y in points]
    return parts


def _legend(colours: dict[str, str], top: int) -> list[str]:
    parts = []
    for number, (name, colour) in enumerate(colours.items()):
        y = top + 10 + number * _LEGEND_LINE
        parts.append(f'<rect x="{_LEFT}" y="{y}" width="24" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{_LEFT + 32}" y="{y + 6}">{name}</text>')
    return parts


def _time_text(power: int) -> str:
    """``10^power`` microseconds."""
    unit, exponent = ("s", power - 6) if power >= 6 else ("ms", power - 3) if power >= 3 else ("us", power)
    return f"{10.0**exponent:g} {unit}"
