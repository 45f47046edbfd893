# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
"""Charts as SVG text: lines and bars, readable in print (marks and dashes besides colours)."""
import html
import math

COLOURS = {
    "ob1": "#7a8794", "ob1-thread": "#2f5f93", "ucx": "#3f8f6b", "mpich": "#a07d3f",
    "none": "#d9a441", "poll": "#d56b2a", "interrupt": "#a0529c", "helper": "#c0202a", "ideal": "#000000",
}
DASHES = {"none": "6 3", "poll": "2 2", "ob1-thread": "9 3", "ideal": "1 3"}
MARKS = {"ob1": "circle", "ob1-thread": "square", "ucx": "triangle", "mpich": "diamond", "none": "circle",
         "poll": "triangle", "interrupt": "diamond", "helper": "square"}
WIDTH, HEIGHT = 460, 285
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 26, 71


def number(v):
    return f"{v:.4g}"


def ticks(low, high):
    step = 10 ** math.floor(math.log10((high - low) / 4 or 1))
    for factor in (1, 2, 5, 10):
        if (high - low) / (step * factor) <= 6:
            step *= factor
            break
    first = math.ceil(low / step - 1e-9) * step
    return [first + i * step for i in range(int((high - first) / step + 1e-9) + 1)]


class Canvas:
    def __init__(self, title, width=WIDTH):
        self.width = width
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" '
                      f'height="{HEIGHT}" role="img" font-family="sans-serif" font-size="11">'
                      f"<title>{html.escape(title)}</title>"
                      f'<rect width="{width}" height="{HEIGHT}" fill="white"/>']
        self.text(width / 2, 15, title, anchor="middle", weight="bold")

    def text(self, x, y, words, anchor="start", weight="normal", turn=0, size=11):
        turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" '
                          f'font-size="{size}"{turned}>{html.escape(str(words))}</text>')

    def line(self, x1, y1, x2, y2, colour="#ddd", width=1, dash=""):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
                          f'stroke-width="{width}"{dashed}/>')

    def mark(self, x, y, key):
        colour, kind = COLOURS.get(key, "#444"), MARKS.get(key)
        if kind == "circle":
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
        elif kind:
            points = {"square": [(-3, -3), (3, -3), (3, 3), (-3, 3)], "triangle": [(0, -4), (4, 3), (-4, 3)],
                      "diamond": [(0, -4), (4, 0), (0, 4), (-4, 0)]}[kind]
            at = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in points)
            self.parts.append(f'<polygon points="{at}" fill="{colour}"/>')

    def axis(self, low, high, label):
        self.low, self.high = low, high
        for t in ticks(low, high):
            y = self.y(t)
            self.line(LEFT, y, self.width - RIGHT, y)
            self.text(LEFT - 4, y + 4, number(t), anchor="end")
        self.text(13, (TOP + HEIGHT - BOTTOM) / 2, label, anchor="middle", turn=-90)

    def y(self, v):
        v = min(max(v, self.low), self.high)
        return HEIGHT - BOTTOM - (v - self.low) / ((self.high - self.low) or 1) * (HEIGHT - BOTTOM - TOP)

    def legend(self, keys, titles):
        """Below the axis' title, in as many rows as it takes."""
        x, y = LEFT, HEIGHT - BOTTOM + 44
        for key in keys:
            words = titles.get(key, key)
            wide = 24 + 5.4 * len(words)
            if x + wide > self.width:
                x, y = LEFT, y + 14
            self.line(x, y - 4, x + 16, y - 4, COLOURS.get(key, "#444"), 2, DASHES.get(key, ""))
            self.mark(x + 8, y - 4, key)
            self.text(x + 19, y, words, size=10)
            x += wide

    def done(self):
        return "".join(self.parts) + "</svg>"


def lines(title, x_title, y_title, series, titles, log=False, low=None, high=None):
    """series: key -> [(x, y)]."""
    points = [p for s in series.values() for p in s]
    if not points:
        return ""
    xs = sorted({x for x, _ in points})
    place = (lambda x: math.log2(x)) if log else (lambda x: x)
    first, last = place(xs[0]), place(xs[-1])
    c = Canvas(title)
    top = max(y for _, y in points) if high is None else high
    bottom = min([0.0, *(y for _, y in points)]) if low is None else low
    c.axis(bottom, top * 1.04 if high is None else top, y_title)

    def at(x):
        return LEFT + 8 + (place(x) - first) / ((last - first) or 1) * (c.width - LEFT - RIGHT - 16)
    shown = []
    for x in xs:
        if not shown or at(x) - shown[-1] > 26:
            c.text(at(x), HEIGHT - BOTTOM + 14, size_name(x) if log else number(x), anchor="middle")
            shown.append(at(x))
    c.text((LEFT + c.width) / 2, HEIGHT - BOTTOM + 27, x_title, anchor="middle", size=10)
    for key, s in series.items():
        s = sorted(s)
        path = " ".join(f"{at(x):.1f},{c.y(y):.1f}" for x, y in s)
        dash = f' stroke-dasharray="{DASHES[key]}"' if key in DASHES else ""
        c.parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS.get(key, "#444")}" '
                       f'stroke-width="{2.2 if key == "helper" else 1.5}"{dash}/>')
        for x, y in s:
            c.mark(at(x), c.y(y), key)
    c.legend(series, titles)
    return c.done()


def bars(title, y_title, groups, keys, titles, low=None, high=None, one=None):
    """groups: name -> {key: value}; `one`: where a line is drawn."""
    values = [v for g in groups.values() for v in g.values()]
    if not values:
        return ""
    c = Canvas(title, max(WIDTH, 80 + len(groups) * (10 + 9 * len(keys))))
    c.axis(min([0.0, *values]) if low is None else low, max([0.0, *values]) * 1.04 if high is None else high, y_title)
    each = (c.width - LEFT - RIGHT) / len(groups)
    wide = each * 0.84 / len(keys)
    for i, (name, group) in enumerate(groups.items()):
        for j, key in enumerate(keys):
            if key in group:
                x, y, zero = LEFT + i * each + each * 0.08 + j * wide, c.y(group[key]), c.y(max(0.0, c.low))
                c.parts.append(f'<rect x="{x:.1f}" y="{min(y, zero):.1f}" width="{max(wide - 1, 1):.1f}" '
                               f'height="{max(abs(zero - y), 0.8):.1f}" fill="{COLOURS.get(key, "#444")}"/>')
        c.text(LEFT + (i + 0.5) * each, HEIGHT - BOTTOM + 13, name, anchor="middle", size=10 if len(groups) < 9 else 8)
    if one is not None:
        c.line(LEFT, c.y(one), c.width - RIGHT, c.y(one), "#000", 1, "4 3")
    c.line(LEFT, c.y(max(0.0, c.low)), c.width - RIGHT, c.y(max(0.0, c.low)), "#555")
    c.legend(keys, titles)
    return c.done()


def size_name(size):
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{int(size) // unit}{name}"
    return str(int(size))
