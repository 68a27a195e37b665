"""The ratio table as markdown, and everything measured as JSON."""
import os
import pathlib
import platform
import statistics
import subprocess

from contestants import cores

MIN_RATIO, BATCH_16_SHARE = 2.5, 0.7


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    names = [line.split(":", 1)[1].strip() for line in info.splitlines() if line.startswith("model name")]
    return {"cpu": names[0] if names else platform.machine(), "cores": cores(),
            "kernel": platform.release(), "load_average": os.getloadavg()[0]}


def package_versions():
    names = ["python3-torch", "libdnnl2", "libopenblas0-pthread", "libopenblas0-openmp"]
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names],
                           capture_output=True, text=True, check=False).stdout
    return [line for line in shown.splitlines() if len(line.split()) == 2]


def spread(speeds):
    middle = statistics.median(speeds)
    return f"{min(speeds) / middle:.2f}–{max(speeds) / middle:.2f}"


def rows(samples, batches, limits):
    peak = limits["peak_gflops_all"]
    bound = peak * 1e9 / limits["live_flops_per_sample"]
    for batch in batches:
        peer, ours, bare = (samples.of(batch, side) for side in ("torch", "sweetspot", "onednn"))
        row = {"batch": batch, "contended_share": samples.contended(batch, peak), "fma_bound": bound,
               "onednn": statistics.median(bare[0][1])}
        if peer:
            row |= {"torch": statistics.median(peer[0][1]), "torch_configuration": peer[0][0].label,
                    "torch_spread": spread(peer[0][1])}
        if ours:
            chosen = max(ours, key=lambda entry: entry[0].threads)  # its default: every core
            row |= {"sweetspot": statistics.median(chosen[1]), "sweetspot_spread": spread(chosen[1]),
                    "sweetspot_1_thread": statistics.median(min(ours, key=lambda e: e[0].threads)[1])}
        if peer and ours:
            by_round = [a / b for a, b in zip(chosen[1], peer[0][1])]
            row |= {"ratio": row["sweetspot"] / row["torch"], "ratio_low": min(by_round),
                    "ratio_high": max(by_round)}
        yield row


def cell(row, key, form="{:,.0f}"):
    return form.format(row[key]) if key in row else "–"


def table(found):
    lines = ["| batch | PyTorch, its best | configuration | sweetspot, 1 thread | sweetspot, all cores | ratio "
             "| ratio by round | bare oneDNN | FMA bound | spread PyTorch | spread sweetspot | contended |",
             "|" + "---:|" * 2 + "---|" + "---:|" * 9]
    for row in found:
        by_round = f"{row['ratio_low']:.2f}–{row['ratio_high']:.2f}" if "ratio" in row else "–"
        ratio = f"**{row['ratio']:.2f}**" if "ratio" in row else "–"
        lines.append("| " + " | ".join([
            str(row["batch"]), cell(row, "torch"), row.get("torch_configuration", "–"),
            cell(row, "sweetspot_1_thread"), cell(row, "sweetspot"), ratio, by_round,
            cell(row, "onednn"), cell(row, "fma_bound"), row.get("torch_spread", "–"),
            row.get("sweetspot_spread", "–"), f"{row['contended_share']:.0%}"]) + " |")
    return "\n".join(lines)


def verdicts(found):
    rated = [row for row in found if "ratio" in row]
    if rated:
        least = min(rated, key=lambda row: row["ratio"])
        met = "met" if least["ratio"] >= MIN_RATIO else "NOT met"
        yield f"Lowest ratio {least['ratio']:.2f} at batch {least['batch']} (at least {MIN_RATIO} asked: {met})."
    ours = {row["batch"]: row["sweetspot"] for row in found if "sweetspot" in row}
    if 16 in ours and len(ours) > 1:
        share = ours[16] / max(ours.values())
        met = "met" if share >= BATCH_16_SHARE else "NOT met"
        yield f"Batch 16 reaches {share:.0%} of the best batch ({BATCH_16_SHARE:.0%} asked: {met})."
    contended = statistics.mean(row["contended_share"] for row in found)
    if contended > 0.1:
        yield (f"The machine was not ours for {contended:.0%} of the probes: "
               "figures are low and ratios loose; run again when it is quiet.")


def markdown(result):
    m, l = result["machine"], result["limits"]
    return "\n".join([
        "## paper-cnn, fp32 training steps: samples a second", "",
        f"{m['cpu']}, {m['cores']} cores, Linux {m['kernel']}; {'; '.join(result['versions'])}; "
        f"{result['rounds']} interleaved rounds, medians.",
        f"FMA peak {l['peak_gflops_1']:.0f} GFLOP/s on one thread, {l['peak_gflops_all']:.0f} on all; "
        f"triad {l['triad_gb_per_second']:.1f} GB/s; {l['live_flops_per_sample'] / 1e6:.1f} MFLOP a sample "
        f"({l['nominal_flops_per_sample'] / 1e6:.1f} with dead positions).", "",
        table(result["rows"]), "", *verdicts(result["rows"])])
