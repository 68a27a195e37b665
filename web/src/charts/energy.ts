import type { Data, Series } from "../data";
import { count, joules } from "../format";
import type { Line, Spec } from "../spec";
import { batchAxis, chosenRule, shownSeries, unionOf } from "./common";

function measured(series: Series): Map<number, number> {
  return new Map(series.points.flatMap((p) =>
    p.joules_per_sample == null ? [] : [[p.batch, p.joules_per_sample] as const]));
}

export function energy(data: Data): Spec | null {
  const all = shownSeries(data);
  const xs = unionOf(...all.map((s) => [...measured(s).keys()]));
  if (!xs.length) return null;
  const lines = all.map((series, colour): Line => {
    const points = measured(series);
    return {
      name: all.length === 1 ? "measured" : series.name, colour, draw: "both",
      ys: xs.map((x) => points.get(x) ?? null),
      told: (i) => `${joules(points.get(xs[i]!))} a sample`,
    };
  });
  return {
    title: "Energy",
    hint: "What the device used for each sample, over the sampled steps.",
    xs, x: batchAxis(data), y: { label: "energy of a sample", words: joules, log: true },
    lines, rules: chosenRule(data),
    numbers: {
      head: ["series", "batch", "energy/sample"],
      rows: all.flatMap((series) => [...measured(series)].map(([batch, value]) => [
        series.name || "all", count(batch), joules(value)])),
    },
  };
}
