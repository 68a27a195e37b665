import type { Data, Series } from "../data";
import { count, percent, words } from "../format";
import type { Line, Spec } from "../spec";
import { batchAxis } from "./common";

interface Column {
  batch: number;
  shares: Record<string, number>;
}

const phases = ["data_wait", "overhead", "optimizer", "forward", "backward"];
const phaseColours = [1, 4, 2, 5, 0]; // time that is not training stands out
const costs = ["fixed cost of a step", "cost of its samples"];

// The measured phases if available; else the fitted cost of a step.
function columns(series: Series): { parts: string[]; list: Column[] } {
  const measured = series.points.flatMap((p) => p.phase_shares
    ? [{ batch: p.batch, shares: p.phase_shares as Record<string, number> }] : []);
  if (measured.length) return { parts: phases, list: measured };
  const cost = series.step_cost;
  if (!cost) return { parts: [], list: [] };
  const list = series.points.filter((p) => p.samples_per_second).map((p) => {
    const step = cost.fixed_seconds + cost.per_sample_seconds * p.batch;
    const fixed = step > 0 ? cost.fixed_seconds / step : 0;
    return { batch: p.batch, shares: { [costs[0]!]: fixed, [costs[1]!]: 1 - fixed } };
  });
  return { parts: costs, list };
}

export function shares(data: Data): Spec | null {
  const series = data.series.reduce<Series | null>((best, s) =>
    columns(s).list.length > (best ? columns(best).list.length : 0) ? s : best, null);
  if (!series) return null;
  const { parts, list } = columns(series);
  const upTo = (column: Column, last: number) =>
    parts.slice(0, last + 1).reduce((sum, part) => sum + (column.shares[part] ?? 0), 0);
  const lines = parts.map((part, at): Line => ({
    name: words(part), colour: parts === phases ? phaseColours[at]! : 1 - at, draw: "bars",
    ys: list.map((column) => upTo(column, at)),
    told: (i) => percent(list[i]!.shares[part]),
  })).reverse();
  return {
    title: "Where a step's time goes",
    hint: `Shares of a mean step at each batch${series.name ? ` (${series.name})` : ""}.`,
    xs: list.map((_, i) => i),
    x: { ...batchAxis(data), scale: "places", words: (i) => count(list[i]?.batch) },
    y: { label: "share of a step", words: percent, from: 0, to: 1 },
    lines,
    numbers: {
      head: ["batch", ...parts.map(words)],
      rows: list.map((c) => [count(c.batch), ...parts.map((part) => percent(c.shares[part]))]),
    },
  };
}
