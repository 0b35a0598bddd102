#!/usr/bin/env python3
"""A terminal's screen as an SVG picture: tmux capture-pane -e -p | screen_svg.py TITLE > picture.svg

Knows the attributes that muster and a prompt use: bold, faint, reverse, and the 16 colours. Cells are placed by line and
column, so that a table stays one whatever font the reader has."""
import re
import sys
from xml.sax.saxutils import escape

CELL, LINE, PAD, SIZE = 8.43, 19, 14, 14
GROUND, INK = "#1d2025", "#e3e6ea"
COLOURS = ["#3b4048", "#f2777a", "#99cc99", "#ffcc66", "#6fb3f2", "#cc99cc", "#66cccc", "#e3e6ea"]


def apply(codes, style):
    for code in (int(c or 0) for c in codes.split(";")):
        if code == 0:
            style.clear()
        elif code in (1, 2, 7):
            style[code] = True
        elif code == 22:
            style.pop(1, None)
            style.pop(2, None)
        elif code == 27:
            style.pop(7, None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style["fill"] = COLOURS[code % 10]
        elif code == 39:
            style.pop("fill", None)


def stretches(line, style):
    """(text, its style) of each part of one look; the style goes on in the next line."""
    for i, part in enumerate(re.split(r"\x1b\[([\d;]*)m", line)):
        if i % 2:
            apply(part, style)
        elif part:
            yield part, dict(style)


def span(text, style, column, y):
    x, fill = PAD + column * CELL, style.get("fill", INK)
    box = ""
    if style.get(7):
        box = f'<rect x="{x:.1f}" y="{y - 14}" width="{len(text) * CELL:.1f}" height="{LINE}" fill="{fill}"/>'
        fill = GROUND
    more = ' font-weight="bold"' if style.get(1) else ""
    more += ' opacity="0.65"' if style.get(2) else ""
    words = ""
    for word in re.finditer(r"\S+(?: \S+)*", text):
        at, length = x + word.start() * CELL, len(word.group()) * CELL
        words += f'<text x="{at:.1f}" y="{y}" textLength="{length:.1f}" fill="{fill}"{more}>{escape(word.group())}</text>'
    return box + words


def main():
    lines = sys.stdin.read().rstrip("\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    rows, widest, style = [], 0, {}
    for i, line in enumerate(lines):
        column = 0
        for text, look in stretches(line, style):
            rows.append(span(text, look, column, PAD + 14 + i * LINE))
            column += len(text)
            widest = max(widest, column if text.strip() else 0)
    width, height = round(2 * PAD + widest * CELL), 2 * PAD + len(lines) * LINE
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
          f'font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="{SIZE}">')
    print(f"<title>{escape(sys.argv[1])}</title>")
    print(f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>')
    print("\n".join(row for row in rows if row))
    print("</svg>")


if __name__ == "__main__":
    main()
