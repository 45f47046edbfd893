# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
"""Results of run-messages: medians over runs with their spread, ratios of neighbouring runs, tables, CSV files, pictures."""
import csv
import math
import os
import statistics

BYTES = ("latency", "rate", "bandwidth")
# figure, mode, title, unit, whether more is better
KINDS = [
    ("latency", "ping_pong", "latency, half a round trip", "us", False),
    ("rate", "one_way", "message rate", "million/s", True),
    ("bandwidth", "one_way", "bandwidth, one way", "MB/s", True),
    ("bandwidth", "both_ways", "bandwidth, both ways together", "MB/s", True),
    ("match_posted", "oldest", "a message for the oldest of N posted receives", "us", False),
    ("match_posted", "newest", "a message for the newest of N posted receives", "us", False),
    ("match_posted", "newest_of_any", "the same, receives from any source", "us", False),
    ("match_unexpected", "oldest", "a receive of the oldest of N messages there", "us", False),
    ("match_unexpected", "newest", "a receive of the newest of N messages there", "us", False),
    ("match_unexpected", "newest_of_any", "the same, from any source", "us", False),
]
COUNTERS = ("wakes_sent", "wakes_match", "wakes_transport", "wakes_timer", "wakes_futile", "thread_events",
            "requests_armed", "eager_sent", "rts_sent")


class Run:
    """One run: its figures, what else the machine did just before it, smartint's counters."""

    def __init__(self, figures, others, counters):
        self.others, self.counters = others, counters
        self.values = {(f["figure"], f["mode"], int(f["bytes"] or 0)): float(f["value"])
                       for f in figures if not f["rank"]}
        self.ranks = {}
        for f in figures:
            if f["rank"]:
                self.ranks.setdefault((f["figure"], f["mode"]), []).append(float(f["value"]))

    def value(self, figure, mode, at, stat="med"):
        return self.values.get((f"{figure}_{stat}", mode, at))


class Results:
    def __init__(self, subject):
        self.subject = subject  # the system that the others are compared with
        self.runs = {}          # (setting, system) -> a Run or None for each round

    def add(self, setting, system, run):
        self.runs.setdefault((setting, system), []).append(run)

    def places(self, setting, figure, mode):
        found = {at for (s, _), runs in self.runs.items() if s == setting for r in runs if r
                 for name, m, at in r.values if name == f"{figure}_med" and m == mode}
        return sorted(found)

    def medians(self, setting, system, figure, mode, at):
        values = [r.value(figure, mode, at) if r else None for r in self.runs.get((setting, system), [])]
        return [v for v in values if v is not None]

    def ratios(self, setting, peer, figure, mode, at):
        """The subject's figure by the peer's, of the runs that stood beside each other."""
        pairs = zip(self.runs.get((setting, self.subject), []), self.runs.get((setting, peer), []))
        values = [(a.value(figure, mode, at), b.value(figure, mode, at)) for a, b in pairs if a and b]
        return [a / b for a, b in values if a and b]

    def counted(self, setting, system):
        """Counters of all ranks, the median over rounds; None if there are none."""
        runs = [r.counters for r in self.runs.get((setting, system), []) if r and r.counters]
        return {name: statistics.median(c.get(name, 0) for c in runs) for name in COUNTERS} if runs else None


def spread(values):
    """Half of what lies between the least and the greatest, in percent of the median."""
    middle = statistics.median(values)
    return 50 * (max(values) - min(values)) / middle if middle else 0


def digits(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def size_name(n):
    for power, unit in ((20, "M"), (10, "K")):
        if n >= 1 << power and n % (1 << power) == 0:
            return f"{n >> power}{unit}"
    return str(n)


def place_name(figure, at):
    return size_name(at) if figure in BYTES else str(at)


EXPLANATION = """\
Each figure is the median over the rounds of the runs' own medians; +-: half of what lies between the rounds' least and
greatest, in percent.  Under /NAME: smartint by that system, the median of the ratios of the runs beside each other in a
round, least and greatest in brackets.  Latency and cost of a match: below 1 smartint is quicker; rate and bandwidth: above
1."""


def tables(results, settings, systems):
    peers = [s for s in systems if s.key != results.subject]
    for setting in settings:
        yield f"== {setting.title}"
        yield from noise(results, setting, systems)
        for figure, mode, title, unit, _ in KINDS:
            places = results.places(setting.key, figure, mode)
            if places:
                yield ""
                yield f"{title} ({unit})"
                yield f"{'size' if figure in BYTES else 'N':>8} " + " ".join(
                    [f"{s.title:>18}" for s in systems] + [f"{'/' + p.title:>21}" for p in peers])
            for at in places:
                cells = []
                for s in systems:
                    v = results.medians(setting.key, s.key, figure, mode, at)
                    cells.append(f"{digits(statistics.median(v)):>11} +-{spread(v):3.0f}%" if v else f"{'-':>18}")
                for p in peers:
                    v = results.ratios(setting.key, p.key, figure, mode, at)
                    cells.append(f"{statistics.median(v):7.3f} ({min(v):5.2f}-{max(v):5.2f})" if v else f"{'-':>21}")
                yield f"{place_name(figure, at):>8} " + " ".join(cells)
        yield from memory(results, setting, systems)
        yield from wakes(results, setting, systems)
        yield ""
    yield EXPLANATION


def noise(results, setting, systems):
    for s in systems:
        runs = [r for r in results.runs.get((setting.key, s.key), []) if r]
        if runs:
            others = [r.others for r in runs]
            preempted = [r.values.get(("preempted", "all", 0), 0) for r in runs]
            yield (f"   {s.title:<18} {len(runs)} runs; cores used by others just before a run: median "
                   f"{statistics.median(others):.2f}, most {max(others):.2f}; taken off the core "
                   f"{statistics.median(preempted):.0f} times a second, at most {max(preempted):.0f}")
        if len(runs) < len(results.runs.get((setting.key, s.key), [])):
            yield f"   {s.title}: {len(results.runs[setting.key, s.key]) - len(runs)} runs FAILED"
        if any(r.values.get(("wrong_messages", "all", 0)) for r in runs):
            yield f"   {s.title}: WRONG DATA"


def memory(results, setting, systems):
    rows = []
    for s in systems:
        runs = [r for r in results.runs.get((setting.key, s.key), []) if r]
        row = [statistics.median(statistics.median(r.ranks[at]) for r in runs if at in r.ranks)
               if any(at in r.ranks for r in runs) else None
               for at in ((f"memory_{kind}", when) for when in ("after_init", "after_messages")
                          for kind in ("rss", "pss", "anonymous"))]
        if None not in row:
            rows.append(f"{s.title:<18} " + " ".join(f"{v:10.0f}" for v in row))
    if rows:
        yield ""
        yield "memory of a rank, KiB: after MPI_Init, and after messages with all others"
        yield f"{'':<18} " + " ".join(f"{w:>10}" for w in ("rss", "pss", "anonymous") * 2)
        yield from rows


def wakes(results, setting, systems):
    for s in systems:
        c = results.counted(setting.key, s.key)
        if c:
            yield ""
            yield f"{s.title}, both ranks in a run: " + ", ".join(f"{name} {c[name]:.0f}" for name in COUNTERS)


# ---- pictures --------------------------------------------------------------------------------------------

COLOURS = {"ob1": "#5b7fa6", "ob1-thread": "#8aa5c0", "ucx": "#8fb3a2", "mpich": "#c9b79c", "none": "#f3d2a2",
           "poll": "#e89c4b", "helper": "#c8372d"}
WIDE, HIGH, LEFT, TOP = 360, 250, 64, 40


def scale(low, high, length):
    """A logarithmic axis: position of a value, and the decades on it."""
    low, high = math.log10(low) - 0.05, math.log10(high) + 0.05
    decades = [10 ** k for k in range(math.ceil(low), math.floor(high) + 1)]
    return (lambda v: length * (math.log10(v) - low) / max(high - low, 1e-9)), decades


def panel(results, setting, systems, kind, x0, y0):
    figure, mode, title, unit, _ = kind
    places = [p for p in results.places(setting.key, figure, mode)]
    series = {s.key: [(max(p, 0.5), results.medians(setting.key, s.key, figure, mode, p)) for p in places] for s in systems}
    series = {k: [(p, v) for p, v in points if v] for k, points in series.items()}
    values = [x for points in series.values() for _, v in points for x in v]
    if not values:
        return []
    across, _ = scale(max(places[0], 0.5), max(places[-1], 1), WIDE)
    up, decades = scale(min(values), max(values), HIGH)
    out = [f'<rect x="{x0}" y="{y0}" width="{WIDE}" height="{HIGH}" fill="none" stroke="#555"/>',
           f'<text x="{x0 + WIDE / 2}" y="{y0 - 8}" text-anchor="middle" font-weight="bold">{title} ({unit})</text>']
    for d in decades:
        y = y0 + HIGH - up(d)
        out += [f'<line x1="{x0}" x2="{x0 + WIDE}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>',
                f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{d:g}</text>']
    for p in places[::max(1, len(places) // 7)]:
        out.append(f'<text x="{x0 + across(max(p, 0.5)):.1f}" y="{y0 + HIGH + 15}" text-anchor="middle">'
                   f'{place_name(figure, p)}</text>')
    for s in systems:
        points = [(x0 + across(p), y0 + HIGH - up(statistics.median(v)), y0 + HIGH - up(min(v)), y0 + HIGH - up(max(v)))
                  for p, v in series[s.key]]
        colour = COLOURS[s.key]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.8" points="'
                   + " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points) + '"/>')
        out += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{a:.1f}" y2="{b:.1f}" stroke="{colour}"/>' for x, _, a, b in points]
    return out


def picture(results, setting, systems, path):
    """All kinds of figures of one setting; bars from the least to the greatest of the rounds."""
    kinds = [k for k in KINDS if results.places(setting.key, k[0], k[1])]
    columns = min(3, max(1, len(kinds)))
    rows = (len(kinds) + columns - 1) // columns
    width, height = columns * (WIDE + LEFT + 16), 50 + rows * (HIGH + TOP + 34)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
           f'font-size="11"><rect width="100%" height="100%" fill="white"/>'
           f'<text x="{LEFT}" y="24" font-size="15">{setting.title}</text>']
    for n, s in enumerate(systems):
        x = width / 2 + n * 130 - 65 * len(systems) + 130
        out.append(f'<rect x="{x}" y="13" width="13" height="13" fill="{COLOURS[s.key]}"/>'
                   f'<text x="{x + 18}" y="24">{s.title}</text>')
    for n, kind in enumerate(kinds):
        out += panel(results, setting, systems, kind, LEFT + n % columns * (WIDE + LEFT + 16),
                     50 + TOP + n // columns * (HIGH + TOP + 34))
    with open(path, "w") as file:
        file.write("\n".join(out + ["</svg>", ""]))


# ---- all of it -------------------------------------------------------------------------------------------


def write(results, settings, systems, out):
    """Writes everything below `out`; returns what was written."""
    files = {"table": os.path.join(out, "messages.txt"), "figures": os.path.join(out, "messages.csv")}
    with open(files["table"], "w") as file:
        file.write("\n".join(tables(results, settings, systems)) + "\n")
    with open(files["figures"], "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["setting", "system", "figure", "mode", "at", "unit", "rounds", "median", "least", "greatest",
                         "ratio", "ratio_least", "ratio_greatest"])
        for setting in settings:
            for figure, mode, _, unit, _ in KINDS:
                for at in results.places(setting.key, figure, mode):
                    for s in systems:
                        v = results.medians(setting.key, s.key, figure, mode, at)
                        r = results.ratios(setting.key, s.key, figure, mode, at) or [math.nan]
                        if v:
                            writer.writerow([setting.key, s.key, figure, mode, at, unit, len(v)] + [
                                f"{x:.5g}" for x in (statistics.median(v), min(v), max(v), statistics.median(r), min(r),
                                                     max(r))])
    for setting in settings:
        files[setting.key] = os.path.join(out, f"messages-{setting.key}.svg")
        picture(results, setting, systems, files[setting.key])
    return files
