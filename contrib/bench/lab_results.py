# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors
"""The runs of run-lab: which count, and what they say together."""
import csv
import os
import statistics


def spread(values):
    """Width of the middle half, as a part of the median."""
    middle = statistics.median(values)
    if len(values) < 4:
        width = (max(values) - min(values)) / 2
    else:
        first, _, third = statistics.quantiles(values, n=4)
        width = third - first
    return width / abs(middle) if middle else 0.0


class Value:
    """One figure over the rounds."""

    def __init__(self, values):
        self.n, self.low, self.high = len(values), min(values), max(values)
        self.middle = statistics.median(values)

    def beside(self, other):
        return self.low <= other.high and other.low <= self.high


class Results:
    def __init__(self, directory, disturbed, entries):
        self.directory, self.entries = directory, list(entries)
        self.runs = {}  # (experiment, setting, system) -> [{(figure, mode, bytes): value}]
        self.dropped, self.elsewhere = [], []
        groups = {}
        for entry in self.entries:
            if entry["ok"]:
                groups.setdefault((entry["experiment"], entry["setting"], entry["system"]), []).append(entry)
        states = self.common_states(groups)
        for key, group in groups.items():
            # runs with another distance of the machine's cores cannot be compared
            wanted = states.get(key[:2])
            self.elsewhere += [e for e in group if e.get("distance") != wanted]
            group[:] = [e for e in group if e.get("distance") == wanted]
            if not group:
                continue
            # the rule: what others disturbed is dropped, but two runs stay, the least disturbed
            group.sort(key=lambda e: e["others"] + 10 * e["stolen"])
            kept = [e for i, e in enumerate(group) if i < 2 or (e["others"] <= disturbed and e["stolen"] < 0.05)]
            self.dropped += [e for e in group if e not in kept]
            self.runs[key] = [self.figures(e) for e in kept]

    @staticmethod
    def common_states(groups):
        """(experiment, setting) -> the state in which the most systems ran, and most often."""
        counts = {}
        for (experiment, setting, system), group in groups.items():
            for entry in group:
                state = entry.get("distance")
                if state != "moved":
                    at = counts.setdefault((experiment, setting), {}).setdefault(state, {})
                    at[system] = at.get(system, 0) + 1
        return {at: max(states, key=lambda s: (len(states[s]), sum(states[s].values()))) for at, states in counts.items()}

    def figures(self, entry):
        """A figure that every rank reports counts with the ranks' median, counters with their sum."""
        found = {}
        with open(os.path.join(self.directory, entry["file"])) as file:
            for f in csv.DictReader(file):
                key = (f["figure"], f["mode"], int(f["bytes"] or 0))
                found.setdefault(key, (f["unit"], []))[1].append(float(f["value"]))
        return {key: sum(v) if unit == "counter" else statistics.median(v) for key, (unit, v) in found.items()}

    def sizes(self, experiment, setting, figure, mode):
        return sorted({b for (e, s, _), runs in self.runs.items() if (e, s) == (experiment, setting)
                       for run in runs for f, m, b in run if (f, m) == (figure, mode)})

    def modes(self, experiment, setting, figure):
        """In the order in which they were measured."""
        found = {}
        for (e, s, _), runs in self.runs.items():
            if (e, s) == (experiment, setting):
                found.update((m, None) for run in runs for f, m, _ in run if f == figure)
        return list(found)

    def values(self, experiment, setting, system, figure, mode, size):
        return [run[figure, mode, size] for run in self.runs.get((experiment, setting, system), [])
                if (figure, mode, size) in run]

    def all_values(self, experiment, setting, system, figure, mode):
        """Of the largest size."""
        sizes = self.sizes(experiment, setting, figure, mode)
        return self.values(experiment, setting, system, figure, mode, sizes[-1]) if sizes else []

    def get(self, *key):
        values = self.values(*key)
        return Value(values) if values else None

    def settings(self, experiment):
        return list(dict.fromkeys(s for e, s, _ in self.runs if e == experiment))

    # counters, what only serves a run's own control, and what follows from other figures
    LEFT_OUT = ("smartint_", "pml_smartint", "btl_smartint", "loops", "late_", "reps", "others", "stolen", "measured",
                "t_arrival", "t_lat_all", "t_ref", "wrong", "preempted", "memory_thread", "memory_board", "memory_malloc",
                "slowed", "ideal")

    def everything(self):
        """Rows of a small table, one for each figure: of those by repetition the least."""
        for (experiment, setting, system), runs in self.runs.items():
            keys = dict.fromkeys(k for run in runs for k in run)
            figures = {figure for figure, _, _ in keys}
            for figure, mode, size in keys:
                if figure.startswith(self.LEFT_OUT) or figure.endswith("_med") and f"{figure[:-4]}_min" in figures:
                    continue
                if figure.startswith("t_sender") and mode != "late":
                    continue
                v = Value([run[figure, mode, size] for run in runs if (figure, mode, size) in run])
                yield [experiment, setting, system, figure, mode, size or "", v.n, f"{v.middle:.4g}", f"{v.low:.4g}",
                       f"{v.high:.4g}"]
