import { floats, type Steps, type Trace, type Trial } from "../data";
import { bytes, count, percent, seconds } from "../format";
import type { Line, Spec } from "../spec";
import { byteTicks } from "./common";

export function stepTimes(steps: Steps): Spec {
  const times = floats(steps.seconds);
  const outliers = new Set(steps.outliers);
  const warmUp = new Uint8Array(times.length);
  for (const [from, to] of steps.warm_up) warmUp.fill(1, from, to);
  const kinds: [string, number, (i: number) => boolean][] = [
    ["measured", 0, () => false],
    ["warm-up", 5, (i) => warmUp[i] === 1],
    ["outlier", 1, (i) => outliers.has(i)],
  ];
  const kind = (i: number) => (kinds.find(([, , is]) => is(i)) ?? kinds[0]!)[0];
  const lines = kinds.map(([name, colour]): Line => ({
    name, colour, draw: "points",
    ys: times.map((t, i) => (kind(i) === name && Number.isFinite(t) ? t : null)),
    told: (i) => seconds(times[i]),
  })).filter((line) => line.ys.some((y) => y != null));
  return {
    title: "Step times",
    hint: `${count(times.length)} steps in the order they ran; warm-up and outliers are flagged.`,
    xs: times.map((_, i) => i + 1),
    x: { label: "step", scale: "linear", words: count },
    y: { label: "time of a step", words: seconds }, lines,
    numbers: { head: ["step", "time", "kind"],
      rows: times.map((t, i) => [count(i + 1), seconds(t), kind(i)]) },
  };
}

const readings: [keyof Trace, string, string, (v: number) => string, number | undefined][] = [
  ["utilisation_share", "Utilisation", "busy", percent, 1],
  ["power_watts", "Power", "power", (v) => `${count(v)} W`, undefined],
  ["memory_bytes", "Memory over time", "memory held", bytes, undefined],
];

// Utilisation, power and memory during the steps; missing readings are omitted.
export function traces(trial: Trial): Spec[] {
  if (!trial.trace) return [];
  const taken = floats(trial.trace.at_seconds);
  const places = taken.map((_, i) => i).filter((i) => Number.isFinite(taken[i]));
  const at = places.map((i) => taken[i]!);
  return readings.flatMap(([key, title, label, words, to], colour): Spec[] => {
    if (!trial.trace![key]) return [];
    const read = floats(trial.trace![key]);
    const values = places.map((i) => (Number.isFinite(read[i]) ? read[i]! : null));
    return [{
      title, hint: "", xs: at, x: { label: "time since the trial began", scale: "linear", words: seconds },
      y: { label, words, from: 0, to, ...(words === bytes ? { ticks: byteTicks } : {}) },
      lines: [{ name: "", colour, draw: "line", ys: values, told: (i) => words(values[i]!) }],
      numbers: { head: ["time", label],
        rows: at.map((t, i) => [seconds(t), values[i] == null ? "–" : words(values[i]!)]) },
    }];
  });
}
