// What the program embeds in the page; docs/report.md has the form.
export interface Interval {
  mean: number | null;
  low: number | null;
  high: number | null;
}

export interface Point {
  batch: number;
  trials: number;
  samples_per_second: Interval | null;
  memory_predicted_bytes: number | null;
  memory_measured_bytes: number | null;
  phase_shares: Record<string, number | null> | null;
}

export interface EpochPoint {
  batch: number;
  epoch: number;
  seeds: number;
  test_accuracy: Interval | null;
  train_seconds: Interval;
}

export interface Series {
  name: string;
  points: Point[];
  step_cost: { fixed_seconds: number; per_sample_seconds: number } | null;
  fitted: { batch: number; samples_per_second: Interval }[];
  epochs: EpochPoint[];
}

// float32 in base64.
export interface Steps {
  seconds: string;
  warm_up: number;
  outliers: number[];
  disturbed: [number, number][];  // from, and up to
}
export interface Trace {
  at_seconds: string | null;
  utilisation_share: string | null;
  memory_bytes: string | null;
  power_watts: string | null;
}

export interface Trial {
  id: number;
  setting: { batch: number };
  memory_bytes: { measured: number | null; by_use: Record<string, number | null> };
  outcome: string;
  stop_reason: string | null;
  note: string | null;
  raw_steps: Steps | null;
  trace: Trace | null;
}

export interface Recommendation {
  batch: number;
  samples_per_second: number;
  throughput_share: number;
  memory_bytes: number | null;
  bottleneck: string | null;
  sentence: string;
  reasons: string[];
  command: string;
}

export type Key = number | string | boolean | null;
export interface Data {
  study: string;
  workload: string;
  status: string;
  message: string | null;
  sentence: string;
  recommendation: Recommendation | null;
  figures: { name: string; value: string }[]; // the recommendation at a glance
  measured: { best_batch: number; smallest_within_tolerance: number } | null;
  limits: { tolerance_share: number; memory_bytes: number | null };
  trials: Trial[]; // in the order of table.rows
  series: Series[];
  memory_by_use: ({ batch: number } & Record<string, number>)[];
  table: {
    columns: { title: string; left: boolean }[];
    rows: { cells: string[]; keys: Key[] }[];
  };
  environment: Record<string, unknown>;
  live?: { events: string; steps: string };
}

export function readData(): Data {
  return JSON.parse(document.getElementById("data")!.textContent!) as Data;
}

export function floats(base64: string | null): number[] {
  if (!base64) return [];
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return Array.from(new Float32Array(bytes.buffer));
}

export function chosenBatch(data: Data): number | null {
  return data.recommendation?.batch ?? data.measured?.smallest_within_tolerance ?? null;
}
