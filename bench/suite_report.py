"""The suite's ratios as markdown: every network and batch, geometric means, the worst, and what is missing."""
import collections
import math
import statistics

from report import machine  # noqa: F401: the suite's results carry it

# Goals for the geometric mean up to a batch, and for every single ratio. Random networks may have a
# quarter less.
ASKED_MEANS = {"cpu": {math.inf: 2.5}, "cuda": {128: 2.0, math.inf: 1.2}}
ASKED_LEAST = {"cpu": 1.0, "cuda": 0.8}


def geometric_mean(values):
    return math.exp(statistics.mean(map(math.log, values)))


def rated(row):
    """Adds the medians of sweetspot and of its best peer, and their ratio."""
    medians = {way: statistics.median(values) for way, values in row["speeds"].items()}
    if ours := medians.pop("sweetspot", None):
        row["sweetspot"] = ours
    if medians:
        best = max(medians, key=medians.get)
        row |= {"peer": medians[best], "peer_label": best}
        if ours:
            row["ratio"] = ours / medians[best]
    return row


def joined(row, later):
    """Two rows of one combination, whose runs may have had other peers: each peer against the sweetspot of its own
    run, the later one's where both had it. A later run of sweetspot alone is a new version of it, against the same
    peers."""
    if "speeds" not in row or "sweetspot" not in row or "sweetspot" not in later:
        return later if "skipped" not in later or "speeds" not in row else row
    if set(later["speeds"]) == {"sweetspot"} and not later.get("failed"):
        return rated(row | {"speeds": row["speeds"] | later["speeds"]})
    factor = later["sweetspot"] / row["sweetspot"]
    speeds = {way: [factor * value for value in values] for way, values in row["speeds"].items()}
    failed = {who: why for who, why in row.get("failed", {}).items() if who not in later["speeds"]}
    return rated(later | {"speeds": speeds | later["speeds"], "failed": failed | later.get("failed", {})})


def reasons(row):
    if "skipped" in row:
        return row["skipped"]
    who_by_why = {}
    for who, why in row.get("failed", {}).items():
        who_by_why.setdefault(why, []).append(who)
    return "; ".join(f"{who[0] if len(who) == 1 else f'{len(who)} ways'} failed: {why}"
                     for why, who in who_by_why.items())


def number(row, key, form="{:,.0f}"):
    return form.format(row[key]) if key in row else "–"


def rounds_of(row):
    return max((len(values) for values in row.get("speeds", {}).values()), default=0)


def line(row):
    """The progress line."""
    where = f"{row['network']}, {row.get('precision', '')}" + (f", batch {row['batch']}" if "batch" in row else "")
    if "peer" not in row:
        return f"{where}: sweetspot {number(row, 'sweetspot')}" + (f" [{reasons(row)}]" if reasons(row) else "")
    return (f"{where}: sweetspot {number(row, 'sweetspot')}, best peer "
            f"{number(row, 'peer')} ({row.get('peer_label', '–')}), ratio {number(row, 'ratio', '{:.2f}')}"
            + (f" [{reasons(row)}]" if reasons(row) else ""))


def in_order(rows):
    return sorted(rows, key=lambda r: (r["network"], r.get("batch", 0)))


def table(rows):
    yield "| network | batch | sweetspot | best peer | which | ratio | rounds | |"
    yield "|:--|--:|--:|--:|:--|--:|--:|:--|"
    for row in in_order(rows):
        yield (f"| {row['network']} | {row.get('batch', '')} | {number(row, 'sweetspot')} | {number(row, 'peer')} | "
               f"{row.get('peer_label', '–')} | {number(row, 'ratio', '{:.2f}')} | {rounds_of(row)} | {reasons(row)} |")


def verdict(value, asked):
    return f"{asked:.2g} asked: {'met' if value >= asked else 'NOT met'}"


def mean_line(name, rows, asked):
    mean, worst = geometric_mean(r["ratio"] for r in rows), min(rows, key=lambda r: r["ratio"])
    return (f"| {name} | {len(rows)} | {mean:.2f} | {verdict(mean, asked) if asked else ''} | "
            f"{worst['ratio']:.2f} | {worst['network']}, {worst['batch']} |")


def summary(rows, device, random):
    rated = [row for row in rows if "ratio" in row]
    if not rated:
        return ["No ratio was measured."]
    share = 0.75 if random else 1
    lines = ["| batch | ratios | geometric mean | | worst | of |", "|--:|--:|--:|:--|--:|:--|"]
    for batch in sorted({row["batch"] for row in rated}):
        lines.append(mean_line(batch, [row for row in rated if row["batch"] == batch], None))
    above = 0
    for up_to, asked in ASKED_MEANS[device].items():
        some = [row for row in rated if above < row["batch"] <= up_to]
        if some:
            lines.append(mean_line(f"{above + 1} to {max(r['batch'] for r in some)}", some, share * asked))
        above = up_to
    least, label = ASKED_LEAST[device], collections.Counter(row["peer_label"] for row in rated)
    below = sorted((r for r in rated if r["ratio"] < least), key=lambda r: r["ratio"])
    lines += ["", f"{len(rated)} of {len(rows)} combinations have a ratio; {len(below)} are below {least}"
              + "".join(f"{', ' if i else ': '}{r['network']} at {r['batch']} {r['ratio']:.2f}"
                        for i, r in enumerate(below)) + "."]
    if device == "cuda":
        lines.append("The best peer was " + ", ".join(f"{way} {count} times" for way, count in label.most_common()) + ".")
    return lines


def markdown(rows, device, random):
    parts = []
    for precision in sorted({row["precision"] for row in rows if "precision" in row}) or ["fp32"]:
        some = [row for row in rows if row.get("precision", precision) == precision]
        parts += [f"## Samples a second of a training step with Adam, {device}, {precision}", "",
                  *table(some), "", *summary(some, device, random), ""]
    return "\n".join(parts).rstrip()


def falls(speeds, least):
    """[(batch, its speed over that of half of it)] where it is below `least`."""
    ratios = {batch: speed / speeds[batch // 2] for batch, speed in speeds.items()
              if batch % 2 == 0 and batch // 2 in speeds}
    return [(batch, ratio) for batch, ratio in sorted(ratios.items()) if ratio < least]


def monotone_markdown(rows, least):
    batches = sorted({row["batch"] for row in rows if "batch" in row})
    groups = {}
    for row in rows:
        groups.setdefault((row["network"], row.get("precision", "fp32")), []).append(row)
    lines = [f"## Samples a second of sweetspot; a fall is a speed below {least:.0%} of that of half the batch", "",
             "| network | | " + " | ".join(map(str, batches)) + " | falls |",
             "|:--|:--|" + "--:|" * len(batches) + ":--|"]
    fallen = 0
    for (network, precision), some in sorted(groups.items()):
        speeds = {row["batch"]: row["sweetspot"] for row in some if "sweetspot" in row}
        found = ", ".join(f"{batch} ({ratio:.2f})" for batch, ratio in falls(speeds, least))
        fallen += bool(found)
        missing = "; ".join(sorted({reasons(row) for row in some} - {""}))
        lines.append(f"| {network} | {precision} | "
                     + " | ".join(f"{speeds[b]:,.0f}" if b in speeds else "–" for b in batches)
                     + f" | {'; '.join(filter(None, [found, missing])) or 'none'} |")
    return "\n".join([*lines, "", f"{fallen} of {len(groups)} networks and precisions fall somewhere."])
