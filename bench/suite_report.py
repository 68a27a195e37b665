"""The suite's ratios as markdown: every network and batch, geometric means, the worst, and what is missing."""
import collections
import math
import statistics

from report import machine  # noqa: F401: the suite's results carry it

# Asked of the geometric mean up to a batch, and of every single ratio. Random networks may have a quarter less.
ASKED_MEANS = {"cpu": {math.inf: 2.5}, "cuda": {128: 2.0, math.inf: 1.2}}
ASKED_LEAST = {"cpu": 1.0, "cuda": 0.8}


def geometric_mean(values):
    return math.exp(statistics.mean(map(math.log, values)))


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
    return min((len(values) for values in row.get("speeds", {}).values()), default=0)


def line(row):
    """What is said while it runs."""
    return (f"{row['network']}, batch {row['batch']}: sweetspot {number(row, 'sweetspot')}, best peer "
            f"{number(row, 'peer')} ({row.get('peer_label', '–')}), ratio {number(row, 'ratio', '{:.2f}')}"
            + (f" [{reasons(row)}]" if reasons(row) else ""))


def table(rows):
    yield "| network | batch | sweetspot | best peer | which | ratio | rounds | |"
    yield "|:--|--:|--:|--:|:--|--:|--:|:--|"
    for row in rows:
        yield (f"| {row['network']} | {row['batch']} | {number(row, 'sweetspot')} | {number(row, 'peer')} | "
               f"{row.get('peer_label', '–')} | {number(row, 'ratio', '{:.2f}')} | {rounds_of(row)} | {reasons(row)} |")


def asked_mean(device, batch, share):
    return share * next(value for up_to, value in ASKED_MEANS[device].items() if batch <= up_to)


def verdict(value, asked):
    return f"{asked:.2g} asked: {'met' if value >= asked else 'NOT met'}"


def summary(rows, device, random):
    rated = [row for row in rows if "ratio" in row]
    if not rated:
        return ["No ratio was measured."]
    share = 0.75 if random else 1
    by_batch = collections.defaultdict(list)
    for row in rated:
        by_batch[row["batch"]].append(row)
    lines = ["| batch | networks | geometric mean | | worst | of |", "|--:|--:|--:|:--|--:|:--|"]
    for batch, some in sorted(by_batch.items()):
        mean, worst = geometric_mean(r["ratio"] for r in some), min(some, key=lambda r: r["ratio"])
        lines.append(f"| {batch} | {len(some)} | {mean:.2f} | {verdict(mean, asked_mean(device, batch, share))} | "
                     f"{worst['ratio']:.2f} | {worst['network']} |")
    worst = min(rated, key=lambda r: r["ratio"])
    least = ASKED_LEAST[device]
    below = sum(r["ratio"] < least for r in rated)
    lines += ["", f"Overall: geometric mean {geometric_mean(r['ratio'] for r in rated):.2f} over {len(rated)} of "
              f"{len(rows)} combinations; worst {worst['ratio']:.2f} ({worst['network']}, batch {worst['batch']}); "
              f"{below} below {least}."]
    return lines


def markdown(rows, device, precision, random):
    return "\n".join([f"## Samples a second of a training step with Adam, {device}, {precision}", "",
                      *table(rows), "", *summary(rows, device, random)])


def falls(row, least):
    """[(batch, its speed over that of half of it)] where it is below `least`."""
    medians = {int(batch): statistics.median(values) for batch, values in row.get("speeds", {}).items()}
    ratios = {batch: speed / medians[batch // 2] for batch, speed in medians.items()
              if batch % 2 == 0 and batch // 2 in medians}
    return [(batch, ratio) for batch, ratio in ratios.items() if ratio < least]


def monotone_line(row, least):
    fallen = ", ".join(f"batch {batch}: {ratio:.2f} of {batch // 2}'s" for batch, ratio in falls(row, least))
    return f"{row['network']}: {fallen or 'never falls' if row.get('speeds') else reasons(row)}"


def monotone_markdown(rows, least):
    batches = sorted({int(batch) for row in rows for batch in row.get("speeds", {})})
    lines = [f"## Samples a second of sweetspot; a fall is a speed below {least:.0%} of that of half the batch", "",
             "| network | " + " | ".join(map(str, batches)) + " | falls |", "|:--|" + "--:|" * len(batches) + ":--|"]
    for row in rows:
        speeds = {int(batch): f"{statistics.median(v):,.0f}" for batch, v in row.get("speeds", {}).items()}
        fallen = ", ".join(f"{batch} ({ratio:.2f})" for batch, ratio in falls(row, least))
        lines.append(f"| {row['network']} | " + " | ".join(speeds.get(b, "–") for b in batches)
                     + f" | {fallen or reasons(row) or 'none'} |")
    fallen = sum(bool(falls(row, least)) for row in rows)
    return "\n".join([*lines, "", f"{fallen} of {len(rows)} networks fall somewhere."])
