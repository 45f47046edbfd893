# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
"""The report of run-lab: one HTML file that needs nothing else, and the figures as CSV."""
import csv
import html
import json
import os

import lab_charts as charts
import lab_claims
import lab_plan as plan
from bench_run import SYSTEMS, Setting
from lab_results import Results, spread  # noqa: F401

TITLES = {s.key: s.title for s in SYSTEMS} | {"ideal": "ideal"}
PEERS = [s.key for s in SYSTEMS if s.peer]
OURS = "helper"
STYLE = """
body{font:15px/1.45 sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#111}
h1{font-size:1.6em}h2{font-size:1.25em;border-bottom:1px solid #999;margin-top:2em}h3{font-size:1.05em}
table{border-collapse:collapse;margin:.8em 0;font-size:13px}th,td{border:1px solid #bbb;padding:2px 7px;text-align:right}
th:first-child,td:first-child,td.l,th.l{text-align:left}tr.us td{font-weight:bold}.small{font-size:12.5px;color:#333}
.charts{display:flex;flex-wrap:wrap;gap:10px}code{background:#eee;padding:0 3px}
@media print{body{margin:0;max-width:none;font-size:11px}h2{break-after:avoid}svg,table{break-inside:avoid}}
"""


def title_of(setting):
    return "the cluster" if setting == "cluster" else Setting(setting).title


def esc(words):
    return html.escape(str(words))


def shown(value, unit=""):
    """Median, and in brackets the rounds' range where there is one."""
    if value is None:
        return "-"
    form = "{:.2f}" if unit == "1" else "{:.3g}" if abs(value.middle) < 1000 else "{:.0f}"
    text = form.format(value.middle)
    if value.n > 1:
        text += f' <span class="small">({form.format(value.low)}–{form.format(value.high)})</span>'
    return text


def table(head, rows, marked=()):
    lines = ["<table><tr>" + "".join(f"<th>{h}</th>" for h in head) + "</tr>"]
    for row in rows:
        mark = ' class="us"' if row[0] in marked else ""
        lines.append(f"<tr{mark}>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>")
    return "\n".join(lines) + "</table>"


class Report:
    def __init__(self, results, about, notes):
        self.r, self.about, self.notes = results, about, notes
        self.systems = [s.key for s in SYSTEMS if any(k[2] == s.key for k in results.runs)]

    # ---- where smartint is behind

    HIGHER = ("availability", "overlap", "bandwidth", "rma_bandwidth")

    def behind(self):
        """(experiment, setting, figure, mode, size, ours, peer's key, peer's value, ratio), worst first."""
        found = []
        for e in plan.EXPERIMENTS:
            for setting in self.r.settings(e.key):
                for figure, mode in e.headline:
                    for size in self.r.sizes(e.key, setting, figure, mode):
                        row = self.compare(e, setting, figure, mode, size)
                        if row:
                            found.append(row)
        return sorted(found, key=lambda row: -row[-1])

    def compare(self, e, setting, figure, mode, size):
        ours = self.r.get(e.key, setting, OURS, figure, mode, size)
        peers = {p: self.r.get(e.key, setting, p, figure, mode, size) for p in PEERS}
        peers = {p: v for p, v in peers.items() if v}
        if not ours or not peers:
            return None
        higher = figure.startswith(self.HIGHER)
        best = (max if higher else min)(peers, key=lambda p: peers[p].middle)
        theirs = peers[best]
        if figure.startswith("availability") or figure == "neighbour_slowed":
            # parts of one, and percent: differences
            worse = (theirs.middle - ours.middle) if higher else (ours.middle - theirs.middle) / 100
            loss = worse
        else:
            loss = (theirs.middle / ours.middle if higher else ours.middle / theirs.middle) - 1
        alone = 1 in (ours.n, theirs.n)  # no spread is known
        if loss < (0.5 if alone else 0.05) or ours.beside(theirs):
            return None
        return (e, setting, figure, mode, size, ours, best, theirs, loss)

    def why(self, e, setting, mode):
        for key in (f"{e.key} {setting} {mode}", f"{e.key} {mode}", f"{e.key} {setting}", e.key):
            if key in self.notes:
                return self.notes[key]
        return ""

    def behind_section(self):
        rows = []
        for e, setting, figure, mode, size, ours, best, theirs, loss in self.behind():
            what = f"{esc(e.title)}: {esc(figure.replace('_min', ''))} {esc(mode)}"
            rows.append([what, title_of(setting), charts.size_name(size) if size else "-", shown(ours),
                         f"{TITLES[best]}: {shown(theirs)}", f"{100 * loss:.0f} %", f'<span class="small">{esc(self.why(e, setting, mode))}</span>'])
        text = "<p>Headline figures in which the best peer is more than 5 % (for availability: 0.05) better and the rounds' ranges do " \
               "not meet; of single runs only what is more than 50 % behind. Strategy <b>helper</b>, the default; the middle of the rounds, their range in brackets; times in us.</p>"
        if not rows:
            return text + "<p>None.</p>"
        return text + table(["what", "where", "size", "smartint", "best peer", "behind by", "why"], rows)

    # ---- four figures together

    def four(self):
        parts = []
        for setting in self.r.settings("overlap"):
            for mode in ("receiver", "sender", "both", "exchange"):
                for size in self.r.sizes("overlap", setting, "t_total_min", f"{mode}@1")[-1:]:
                    rows = []
                    for system in self.systems:
                        at = ("overlap", setting, system)
                        total = self.r.get(*at, "t_total_min", f"{mode}@1", size)
                        t_syn = self.r.get(*at, "t_syn", f"{mode}@1", size)
                        if not total or not t_syn:
                            continue
                        rows.append([TITLES[system], shown(self.r.get(*at, "overlap_min", f"{mode}@1", size), "1"),
                                     shown(total), f"{total.middle / t_syn.middle:.2f}",
                                     shown(self.r.get(*at, "slowed_med", f"{mode}@1", size)) + " %",
                                     shown(self.r.get("latency", setting, system, "latency_1_byte_min", "none", 1))])
                    if rows:
                        who = {"receiver": "the receiver computes", "sender": "the sender computes",
                               "both": "both compute", "exchange": "both send, receive and compute"}[mode]
                        parts.append(f"<h3>{title_of(setting)}, {charts.size_name(size)}, {who}</h3>")
                        parts.append(table(["system", "overlap", "T_total, us", "of ideal", "computation slowed",
                                            "1-byte latency, us"], rows, (TITLES[OURS],)))
        return "\n".join(parts)

    # ---- experiments

    def over_x(self, e, setting, figure, base, size, relative=None):
        """system -> [(ratio, value)] of modes base@ratio."""
        series = {}
        for system in self.systems:
            for mode in self.r.modes(e.key, setting, figure):
                name, _, ratio = mode.partition("@")
                if name != base or not ratio:
                    continue
                v = self.r.get(e.key, setting, system, figure, mode, size)
                if v:
                    series.setdefault(system, []).append((float(ratio), v.middle / (relative or 1)))
        return series

    def over_size(self, e, setting, figure, mode, relative_to=None):
        series = {}
        for system in self.systems:
            for size in self.r.sizes(e.key, setting, figure, mode):
                v = self.r.get(e.key, setting, system, figure, mode, size)
                base = relative_to(size) if relative_to else 1
                if v and base:
                    series.setdefault(system, []).append((size, v.middle / base))
        return series

    def by_mode(self, e, setting, figure, modes, size, clamp=None):
        groups = {}
        for mode in modes:
            for system in self.systems:
                v = self.r.get(e.key, setting, system, figure, mode, size)
                if v:
                    groups.setdefault(mode, {})[system] = max(v.middle, clamp) if clamp is not None else v.middle
        return groups

    def best_peer(self, e, setting, figure, mode, size):
        values = [self.r.get(e.key, setting, p, figure, mode, size) for p in PEERS]
        return min((v.middle for v in values if v), default=None)

    def charts_of(self, e, setting):
        where = title_of(setting)
        if e.key == "latency":
            yield charts.lines(f"T_lat beside the best peer's, {where}", "bytes", "ratio", self.over_size(
                e, setting, "t_lat_min", "none", lambda s: self.best_peer(e, setting, "t_lat_min", "none", s)), TITLES,
                log=True, low=0)
        elif e.key in ("overlap", "progression"):
            progression = e.key == "progression"
            figure = "t_there_min" if progression else "t_total_min"
            for base in ("receiver", "sender", "both", "exchange"):
                modes = [m for m in self.r.modes(e.key, setting, figure) if m.startswith(base + "@")]
                for size in self.r.sizes(e.key, setting, figure, modes[0])[-2:] if modes else []:
                    t_ref = next((v for s in self.systems if (v := self.r.get(
                        e.key, setting, s, "t_ref", "exchange" if base == "exchange" else "none", size))), None)
                    series = self.over_x(e, setting, figure, base, size, t_ref.middle)
                    xs = sorted({x for s in series.values() for x, _ in s})
                    series["ideal"] = [(x, 1 if progression else max(1, x)) for x in xs]
                    name = {"receiver": "receiver computes", "sender": "sender computes", "both": "both compute",
                            "exchange": "both ways, both compute"}[base]
                    yield charts.lines(f"{name}, {charts.size_name(size)}, {where}", "T_syn / T_lat",
                                       "T_there / T_lat" if progression else "T_total / T_lat", series, TITLES, low=0)
        elif e.key == "availability":
            for side in ("receiver", "sender"):
                yield charts.lines(f"availability of the {side}, {where}", "bytes", "availability",
                                   self.over_size(e, setting, "availability", side), TITLES, log=True, low=-0.25, high=1.05)
        elif e.key == "window":
            size = self.r.sizes(e.key, setting, "overlap_min", "plain")[-1]
            modes = self.r.modes(e.key, setting, "overlap_min")
            yield charts.bars(f"overlap, 64 messages of {charts.size_name(size)}, {where}", "overlap",
                              self.by_mode(e, setting, "overlap_min", modes, size, -0.5), self.systems, TITLES, -0.5, 1.05, 1)
            groups = {}
            for size in self.r.sizes(e.key, setting, "t_lat_min", "plain"):
                for system in self.systems:
                    v = self.r.get(e.key, setting, system, "t_lat_min", "plain", size)
                    if v:
                        groups.setdefault(charts.size_name(size), {})[system] = 64 * size / v.middle
            yield charts.bars(f"bandwidth of the window, {where}", "MB/s", groups, self.systems, TITLES)
        elif e.key.startswith("collectives"):
            modes = self.r.modes(e.key, setting, "overlap_min")
            size = self.r.sizes(e.key, setting, "overlap_min", modes[-1])[-1]
            groups = self.by_mode(e, setting, "overlap_min", modes, size, -0.5)
            yield charts.bars(f"overlap, {charts.size_name(size)} per rank, {where}", "overlap",
                              {k[1:].replace("reduce_scatter", "red_scat"): v for k, v in groups.items()}, self.systems,
                              TITLES, -0.5, 1.05, 1)
        elif e.program == "epochs":
            for who, words in (("_origin", "the origin computes"), ("_target", "the target computes"),
                               ("_late", "the origin computes, what it waits for comes late")):
                modes = [m for m in self.r.modes(e.key, setting, "t_total_min") if m.endswith(who)]
                if not modes:
                    continue
                size = self.r.sizes(e.key, setting, "t_total_min", modes[0])[-1]
                groups = {}
                for mode in modes:
                    for system in self.systems:
                        total = self.r.get(e.key, setting, system, "t_total_min", mode, size)
                        t_syn = self.r.get(e.key, setting, system, "t_syn", mode, size)
                        if total and t_syn:
                            groups.setdefault(mode[:-len(who)].replace("_", " "), {})[system] = total.middle / t_syn.middle
                yield charts.bars(f"epoch of {charts.size_name(size)}, {words}, {where}", "of the ideal",
                                  groups, self.systems, TITLES, 0, None, 1)
        elif e.key == "passive":
            for how, words in (("idle", "waits in MPI, and computes in turns"), ("computing", "computes, and waits in turns"),
                               ("always", "waits in MPI all the time")):
                groups = {}
                for op in ("fetch_and_op", "accumulate", "get", "lock_put_unlock"):
                    for system in self.systems:
                        v = self.r.get(e.key, setting, system, f"passive_{how}_med", op, 8)
                        if v:
                            groups.setdefault(op.replace("_", " "), {})[system] = min(v.middle, 400)
                yield charts.bars(f"8 bytes, the target {words}, {where}", "us (400: or more)", groups, self.systems, TITLES)
        elif e.key == "passive-small":
            for op in ("put", "get"):
                series = {}
                for size in self.r.sizes(e.key, setting, "rma_bandwidth_max", op):
                    for system in self.systems:
                        v = self.r.get(e.key, setting, system, "rma_bandwidth_max", op, size)
                        if v:
                            series.setdefault(system, []).append((size, size / v.middle))
                yield charts.lines(f"64 {op}s in a row and a flush, {where}", "bytes", "us each", series, TITLES, log=True, low=0)
        elif e.program in plan.KERNELS:
            groups = {}
            for form in ("in_turn", "hidden"):
                mode = f"{e.program}@{form}"
                size = self.r.sizes(e.key, setting, "t_total_min", mode)[-1]
                for system in self.systems:
                    v = self.r.get(e.key, setting, system, "t_total_min", mode, size)
                    if v:
                        groups.setdefault(form.replace("_", " "), {})[system] = v.middle / 1000
            yield charts.bars(f"time of a run, {where}", "ms", groups, self.systems, TITLES)
        elif e.key == "skew":
            for call in ("gather", "reduce"):
                size = self.r.sizes(e.key, setting, "others", f"{call}@0")
                if size:
                    yield charts.lines(f"{call}: the others' time in the call, {charts.size_name(size[-1])}, {where}",
                                       "root late by, in T_lat", "us", self.over_x(e, setting, "others", call, size[-1]), TITLES)
        else:
            figure, mode = e.headline[0]
            if mode not in self.r.modes(e.key, setting, figure):
                return
            groups = {}
            for size in self.r.sizes(e.key, setting, figure, mode):
                for system in self.systems:
                    v = self.r.get(e.key, setting, system, figure, mode, size)
                    if v:
                        groups.setdefault(charts.size_name(size) if size else mode, {})[system] = v.middle
            yield charts.bars(f"{figure.replace('_min', '')} {mode}, {where}", "", groups, self.systems, TITLES)

    KERNEL_COLUMNS = [("compute", "t_total_min", "@compute"), ("communicate", "t_total_min", "@communicate"),
                      ("in turn", "t_total_min", "@in_turn"), ("hidden", "t_total_min", "@hidden"),
                      ("waiting, in turn", "waiting_med", "@in_turn"), ("waiting, hidden", "waiting_med", "@hidden"),
                      ("overlap", "overlap_min", ""), ("slowed %", "slowed_med", "")]

    def table_of(self, e, setting):
        columns = []
        if e.program in plan.KERNELS:
            for name, figure, ending in self.KERNEL_COLUMNS:
                sizes = self.r.sizes(e.key, setting, figure, e.program + ending)
                columns += [(name, figure, e.program + ending, sizes[-1])] if sizes else []
        else:
            for figure, mode in e.headline:
                for size in self.r.sizes(e.key, setting, figure, mode)[-1:]:
                    name = f"{figure.replace('_min', '')} {mode} {charts.size_name(size) if size else ''}"
                    columns.append((name, figure, mode, size))
        rows = []
        for system in self.systems:
            cells = [shown(self.r.get(e.key, setting, system, f, m, s), "1" if f.startswith(("overlap", "avail")) else "")
                     for _, f, m, s in columns]
            if any(c != "-" for c in cells):
                rows.append([TITLES[system], *cells])
        return table(["system", *(esc(c[0]) for c in columns)], rows, (TITLES[OURS],)) if rows else ""

    def experiment(self, e):
        parts = [f'<h2 id="{e.key}">{esc(e.title)}</h2>',
                 f'<p class="small">Repeats {esc(e.figure)}. ' * bool(e.figure) + ('<p class="small">' * (not e.figure))
                 + f"<code>{esc(e.program)} {esc(e.words)}</code>, {e.ranks} ranks.</p>"]
        for setting in self.r.settings(e.key):
            parts.append('<div class="charts">' + "".join(self.charts_of(e, setting)) + "</div>")
            parts.append(f"<p>{title_of(setting)}:</p>" + self.table_of(e, setting))
        return "\n".join(parts)

    # ---- the rest

    def claims(self):
        measured = [(c, here) for c in lab_claims.CLAIMS if (here := c.here(self.r)) is not None]
        rows = [[esc(c.source), f'<span class="small">{esc(c.claim)}</span>', f'<span class="small">{esc(here)}</span>',
                 f'<span class="small">{esc(c.why)}</span>'] for c, here in measured]
        return table(["document", "claim", "here", "why"], rows).replace("<td>", '<td class="l">')

    def runs(self):
        entries = self.r.entries
        failed = [e for e in entries if not e["ok"]]
        others = sorted(e["others"] for e in entries)
        text = [f"<p>{len(entries)} runs in {sum(e['seconds'] for e in entries) / 60:.0f} minutes of measurement; during the "
                f"median one others used {others[len(others) // 2]:.2f} cores, at most {others[-1]:.2f}. "
                f"{len(self.r.dropped)} disturbed runs were dropped, and {len(self.r.elsewhere)} during which the machine's cores lay at "
                f"another distance than in most; {len(failed)} failed.</p>"]
        if failed:
            text.append("<p>Failed: " + ", ".join(sorted({f"{e['experiment']} {e['setting']} {TITLES[e['system']]}" for e in failed}))
                        + ".</p>")
        return "".join(text)

    def text(self, options):
        facts = self.about["facts"]
        head = table(["", ""], [[esc(k), esc(v)] for k, v in facts.items()] + [["command", f"<code>{esc(self.about['command'])}</code>"],
                     ["load at the start", f"{self.about['load']:.1f}"]])
        paragraphs = "".join(f"<p>{esc(p)}</p>" for p in self.notes.get("text", []))
        return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{esc(options.title)}</title><style>{STYLE}</style></head><body>
<h1>{esc(options.title)}</h1>
{paragraphs}
<h2>Where smartint is behind</h2>
{self.behind_section()}
<h2>Overlap, total time, slowdown and latency together</h2>
<p>The computation is as long as the best peer's latency (T_syn = T_lat), and overlap is measured against that latency: 1 all
hidden, 0 none, below 0 slower than one after the other. "Of ideal" is T_total against max(computation, communication).</p>
{self.four()}
<h2>The documents' claims</h2>
{self.claims()}
{"".join(self.experiment(e) for e in plan.EXPERIMENTS if self.r.settings(e.key))}
<h2>Method and limits</h2>
{lab_claims.METHOD}
{self.runs()}
{head}
</body></html>
"""


def write(directory, options):
    with open(os.path.join(directory, "journal.jsonl")) as file:
        entries = [json.loads(line) for line in file]
    with open(os.path.join(directory, "about.json")) as file:
        about = json.load(file)
    notes = {}
    if options.notes:
        with open(options.notes) as file:
            notes = json.load(file)
    results = Results(directory, options.disturbed, entries)
    with open(os.path.join(directory, "lab.csv"), "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["experiment", "setting", "system", "figure", "mode", "bytes", "runs", "median", "least", "most"])
        writer.writerows(results.everything())
    path = os.path.join(directory, "lab.html")
    with open(path, "w") as file:
        file.write(Report(results, about, notes).text(options))
    return path
