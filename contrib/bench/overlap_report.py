# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
"""Results of run-overlap: gathering over rounds, table, CSV files, picture."""
import csv
import os
import shutil
import statistics
import subprocess


def latencies(figures, stat):
    """T_lat in us per size, of one run."""
    return {int(f["bytes"]): float(f["value"]) for f in figures if f["figure"] == f"t_lat_{stat}"}


class Results:
    """Figures of all rounds, by setting and system."""

    def __init__(self, stat):
        self.stat = stat
        self.reference = {}  # setting -> size -> T_ref
        self.rows = {}       # (setting, system) -> figures of all rounds

    def add(self, setting, system, figures):
        self.rows.setdefault((setting, system), []).extend(figures)

    def values(self, setting, system, figure, mode=None, size=None):
        return [float(f["value"]) for f in self.rows.get((setting, system), [])
                if f["figure"] == figure and mode in (None, f["mode"]) and size in (None, int(f["bytes"] or 0))]

    def best(self, *key, stat=None):
        """Of the rounds' values: the least of the minima, or the median of the medians."""
        setting, system, figure, *rest = key
        stat = stat or self.stat
        values = self.values(setting, system, f"{figure}_{stat}", *rest)
        if not values:
            return None
        return min(values) if stat == "min" else statistics.median(values)

    def middle(self, *key):
        values = self.values(*key)
        return statistics.median(values) if values else None

    def counted(self, setting, system, ending, mode, size):
        """Sum over ranks and rounds of the counter of that name; None if the system has none."""
        values = [float(f["value"]) for f in self.rows.get((setting, system), [])
                  if f["unit"] == "counter" and f["figure"].endswith(ending) and f["mode"] == mode
                  and int(f["bytes"]) == size]
        return sum(values) if values else None


def line(results, setting, system, mode, size):
    """All that is reported of one system, mode and size; None if it was not measured."""
    reference = results.reference[setting.key][size]
    at = (setting.key, system.key)
    total, median = (results.best(*at, "t_total", mode, size, stat=s) for s in (results.stat, "med"))
    if total is None:
        return None
    t_syn = results.middle(*at, "t_syn", mode, size)
    arrival = results.best(*at, "t_arrival", mode, size)
    t_lat = results.best(*at, "t_lat", "none", size)
    transfers = sum(results.values(*at, "reps", mode, size))
    wakes = {k: results.counted(*at, f"wakes_{k}", mode, size) for k in ("match", "transport", "timer", "futile")}
    megabytes = transfers * size / 2**20

    def per(value, unit):
        return None if value is None or not unit else value / unit

    return {
        "setting": setting.key, "system": system.key, "mode": mode, "bytes": size,
        "t_lat": t_lat, "t_ref": reference, "t_lat_excess_percent": 100 * (t_lat / reference - 1),
        "t_syn": t_syn, "t_total": total, "t_total_median": median, "ideal": max(t_syn, reference),
        "overlap": 1 - (total - t_syn) / reference, "overlap_median": 1 - (median - t_syn) / reference,
        "overlap_arrival": 1 - (arrival - t_syn) / reference,
        "slowed_percent": results.middle(*at, "slowed_med", mode, size),
        "latency_1_byte": results.best(*at, "latency_1_byte"),
        "bandwidth": max(results.values(*at, "bandwidth_max"), default=None),
        "match_per_message": per(wakes["match"], transfers),
        "transport_per_mb": per(wakes["transport"], megabytes), "timer_per_mb": per(wakes["timer"], megabytes),
        "futile_percent": None if wakes["futile"] is None else
        100 * wakes["futile"] / max(wakes["match"] or 0, wakes["futile"], 1),
        "neighbour_slowed_percent": results.middle(*at, "neighbour_slowed"),
        "wrong_messages": sum(results.values(*at, "wrong_messages")),
    }


# ---- table ------------------------------------------------------------------------------------------

def number(value, form=".0f", missing="-"):
    return missing if value is None else format(value, form)


def micros(value):
    """Three or four significant digits, whatever the size."""
    return number(value, ".2f" if value is not None and value < 100 else ".0f")


COLUMNS = [
    ("size", 5), ("system", 20), ("T_lat", 8), ("vs best", 8), ("T_total", 8), ("ideal", 8), ("overlap", 8),
    ("median", 7), ("arrival", 7), ("slowed", 7), ("1 byte", 7), ("match/msg", 10), ("transp/MB", 10), ("timer/MB", 9), ("futile", 7),
]


EXPLANATION = """\
T_lat: posted to done, both ranks in MPI.  vs best: beside the best peer's T_lat, which is also the length of the
computation and the measure of overlap.  T_total: posted to done with the computation in between; where the sender
computes, until both are done.  ideal: all hidden.  overlap: 1 all hidden, 0 none, negative: worse than one after
the other.  arrival: the overlap if only the receiver's end counted.  slowed: what the computation lost."""


def cells(size_name, title, r):
    return [
        size_name, title, micros(r["t_lat"]), f"{r['t_lat_excess_percent']:+.1f}%", micros(r["t_total"]),
        micros(r["ideal"]), f"{min(r['overlap'], 1):.2f}", f"{min(r['overlap_median'], 1):.2f}",
        "-" if r["mode"] == "receiver" else f"{min(r['overlap_arrival'], 1):.2f}",
        f"{r['slowed_percent']:.1f}%", micros(r["latency_1_byte"]), number(r["match_per_message"], ".2f"),
        number(r["transport_per_mb"], ".1f"), number(r["timer_per_mb"], ".1f"),
        number(r["futile_percent"], ".1f") + ("" if r["futile_percent"] is None else "%"),
    ]


def aligned(words):
    parts = [w.ljust(width) if i < 2 else w.rjust(width) for i, (w, (_, width)) in enumerate(zip(words, COLUMNS))]
    return " ".join(parts).rstrip()


def tables(results, settings, systems, modes, sizes):
    counters = any(f["unit"] == "counter" for rows in results.rows.values() for f in rows)
    width = len(COLUMNS) if counters else 11
    head = aligned([name for name, _ in COLUMNS[:width]])
    for setting in settings:
        for mode in modes:
            who = {"receiver": "the receiver computes", "sender": "the sender computes", "both": "both compute"}[mode]
            yield f"{setting.title}, {who}  (times in us)"
            yield head
            yield "-" * len(head)
            for size, size_name in sizes.items():
                for system in systems:
                    r = line(results, setting, system, mode, size)
                    if r is None:
                        yield f"{size_name:<5} {system.title:<20} failed"
                    else:
                        wrong = "  WRONG DATA" if r["wrong_messages"] else ""
                        yield aligned(cells(size_name, system.title, r)[:width]) + wrong
                    size_name = ""
            yield ""
        yield from figures_per_system(results, setting, systems)
    yield EXPLANATION
    if counters:
        yield ("match/msg, transp/MB, timer/MB: wakes of the interrupt thread by cause, both ranks together; futile: of "
               "those by a match.")


def figures_per_system(results, setting, systems):
    rows = []
    for system in systems:
        at = (setting.key, system.key)
        bandwidth = max(results.values(*at, "bandwidth_max"), default=None)
        slowed = results.middle(*at, "neighbour_slowed")
        if bandwidth is not None or slowed is not None:
            rows.append(f"{system.title:<20} {number(bandwidth):>14} "
                        f"{number(slowed, '.2f') + ('' if slowed is None else ' %'):>22}")
    if rows:
        yield f"{setting.title}"
        yield f"{'system':<20} {'bandwidth MB/s':>14} {'idle neighbour slowed':>22}"
        yield from rows
        yield ""


# ---- picture ----------------------------------------------------------------------------------------

COLOURS = {
    "ob1": "#b8c4d0", "ob1-thread": "#5b7fa6", "ucx": "#8fb3a2", "mpich": "#c9b79c",
    "none": "#f3d2a2", "poll": "#e89c4b", "interrupt": "#a0529c", "helper": "#c8372d",
}
SCRIPT_HEAD = """\
set encoding utf8
set style data histograms
set style histogram clustered gap 1.2
set style fill solid 1.0 noborder
set boxwidth 0.92 relative
set border 3 linecolor rgb '#555555'
set xtics nomirror scale 0
set ytics nomirror
set grid ytics linecolor rgb '#dddddd' linewidth 1
set datafile missing '-'
"""


def block(name, settings_rows):
    return [f"${name} << EOD", *settings_rows, "EOD"]


def legend(systems, width, height):
    """One row of coloured squares and names, centred: gnuplot's own key keeps to the first diagram's width."""
    pixels = [34 + 7.2 * len(s.title) for s in systems]
    x, y, lines = (width - sum(pixels)) / 2, 0.905, []
    for n, (system, wide) in enumerate(zip(systems, pixels)):
        lines += [f"set object {n + 1} rectangle from screen {x / width:.4f}, {y - 7 / height:.4f} "
                  f"to screen {(x + 14) / width:.4f}, {y + 7 / height:.4f} "
                  f"fillcolor rgb '{COLOURS[system.key]}' fillstyle solid noborder",
                  f"set label {n + 10} '{system.title}' at screen {(x + 19) / width:.4f}, {y:.4f} left"]
        x += wide
    return lines


def script(results, settings, systems, mode, sizes, output, terminal):
    lowest = -0.25  # what lies below is cut off here, and its table line says the rest
    columns, lines = len(settings), [SCRIPT_HEAD]
    for i, setting in enumerate(settings):
        overlap, total = [], []
        for size, name in sizes.items():
            found = [line(results, setting, s, mode, size) for s in systems]
            overlap.append(" ".join([name, *("-" if r is None else f"{max(min(r['overlap'], 1), lowest):.4f}"
                                             for r in found)]))
            total.append(" ".join([name, *("-" if r is None else f"{r['t_total'] / r['ideal']:.4f}" for r in found)]))
        lines += block(f"overlap{i}", overlap) + block(f"total{i}", total)

    width, height = max(900, 110 + 430 * columns), 720
    who = {"receiver": "the receiver computes", "sender": "the sender computes", "both": "both compute"}[mode]
    lines += [f"set terminal {terminal} size {width},{height} font 'DejaVu Sans,10' background rgb 'white'"
              if terminal == "pngcairo" else
              f"set terminal {terminal} size {width},{height} font 'DejaVu Sans,12' background 'white'",
              f"set output '{output}'", "set multiplot"]
    left, right = 70 / width, 1 - 15 / width
    step = (right - left) / columns

    def plot(name, i):
        bars = []
        for n, s in enumerate(systems):
            source = f"${name}{i}" if n == 0 else "''"
            bars.append(f"{source} using {n + 2}:xticlabels(1) linecolor rgb '{COLOURS[s.key]}' notitle")
        return "plot " + ", ".join(bars)

    for row, (name, label) in enumerate((("overlap", "overlap  (1: all hidden)"),
                                         ("total", "T_{total} / ideal  (1: ideal)"))):
        lines += [f"set tmargin at screen {0.80 if row == 0 else 0.40}",
                  f"set bmargin at screen {0.50 if row == 0 else 0.09}"]
        for i, setting in enumerate(settings):
            lines += [f"set lmargin at screen {left + i * step + (0.035 if i else 0):.4f}",
                      f"set rmargin at screen {left + (i + 1) * step - 0.01:.4f}",
                      f"set ylabel '{label if i == 0 else ''}'",
                      f"set title '{setting.title if row == 0 else ''}' offset 0,-0.4",
                      "unset arrow; unset label; unset key",
                      f"set xrange [-0.6:{len(sizes) - 0.4}]"]
            if row == 0:
                lines += [f"set yrange [{lowest}:1.05]; set ytics 0.25",
                          "set arrow from graph 0, first 1 to graph 1, first 1 nohead linecolor rgb '#333333' "
                          "dashtype 2 front",
                          "set arrow from graph 0, first 0 to graph 1, first 0 nohead linecolor rgb '#333333' front"]
                if i == 0:
                    lines += [f"set label 1 'Hiding a message behind computation: {who}' at screen 0.5, 0.965 center "
                              "font ',15'", *legend(systems, width, height)]
            else:
                lines += ["set yrange [0:2.5]; set ytics 0.5",
                          "set label 2 'message size' at graph 0.5, -0.17 center",
                          "set arrow from graph 0, first 1 to graph 1, first 1 nohead linecolor rgb '#333333' "
                          "dashtype 2 front"]
            lines += [plot(name, i), "unset object"]
    lines += ["unset multiplot", "set output"]
    return "\n".join(lines) + "\n"


def picture(results, settings, systems, mode, sizes, out):
    """Writes overlap-MODE.svg and .png; returns the png's path, or None without gnuplot."""
    if not shutil.which("gnuplot"):
        return None
    base = os.path.join(out, f"overlap-{mode}")
    for terminal, ending in (("svg", "svg"), ("pngcairo", "png")):
        text = script(results, settings, systems, mode, sizes, f"{base}.{ending}", terminal)
        with open(f"{base}.gp", "w") as file:
            file.write(text)
        done = subprocess.run(["gnuplot", f"{base}.gp"], capture_output=True, text=True)
        if done.returncode:
            print(f"gnuplot failed: {done.stderr.strip()}")
            return None
    return f"{base}.png"


# ---- all of it ----------------------------------------------------------------------------------------

def write(results, settings, systems, modes, sizes, out):
    """Writes everything below `out`; returns what was written."""
    files = {"table": os.path.join(out, "overlap.txt"), "figures": os.path.join(out, "overlap.csv")}
    with open(files["table"], "w") as file:
        file.write("\n".join(tables(results, settings, systems, modes, sizes)) + "\n")
    lines = [line(results, t, s, m, size) for t in settings for m in modes for size in sizes for s in systems]
    lines = [r for r in lines if r]
    with open(files["figures"], "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]) if lines else ["setting"])
        writer.writeheader()
        for r in lines:
            writer.writerow({k: "" if v is None else f"{v:.6g}" if isinstance(v, float) else v for k, v in r.items()})
    for mode in modes:
        path = picture(results, settings, systems, mode, sizes, out)
        if path:
            files["picture" if len(modes) == 1 else mode] = path
    return files
