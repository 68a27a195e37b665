// What the program embeds in the page; docs/report.md documents the format.
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
  joules_per_sample: number | null;
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
  epochs: EpochPoint[];
}

// float32 in base64. Updates that were timed together are one step, at their mean.
export interface Steps {
  seconds: string;
  warm_up: [number, number][]; // from, and up to
  outliers: number[];
}
export interface Trace {
  at_seconds: string | null;
  utilisation_share: string | null;
  memory_bytes: string | null;
  power_watts: string | null;
}

export interface Trial {
  id: number;
  setting: { batch: number; micro_batch: number };
  memory_bytes: { measured: number | null; by_use: Record<string, number | null> };
  outcome: string;
  stop_reason: string | null;
  note: string | null;
  last_output: string | null; // of a program that failed
  raw_steps: Steps | null;
  trace: Trace | null;
}

export interface Recommendation {
  batch: number;
  micro_batch: number;
  global_batch: number | null; // given: sizes are micro-batches
  samples_per_second: number;
  throughput_share: number;
  memory_bytes: number | null;
  bottleneck: string | null;
  sentence: string;
  reasons: { kind: string; text: string }[];
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
  running: { batch: number; started_at_unix_seconds: number } | null; // a trial that is kept when it ends
  environment: Record<string, unknown>;
  live?: { events: string; steps: string; studies?: string };
}

export function readData(): Data {
  return JSON.parse(document.getElementById("data")!.textContent!) as Data;
}

export function floats(base64: string | null): number[] {
  if (!base64) return [];
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return Array.from(new Float32Array(bytes.buffer));
}

// The charts' x-axis: with a given batch, the micro-batch.
export function sizeWord(data: Data): string {
  return data.recommendation?.global_batch ? "micro-batch" : "batch";
}
export function sizeOf(setting: { batch: number; micro_batch: number }, data: Data): number {
  return data.recommendation?.global_batch ? setting.micro_batch : setting.batch;
}
export function chosenBatch(data: Data): number | null {
  const made = data.recommendation;
  return made ? sizeOf(made, data) : data.measured?.smallest_within_tolerance ?? null;
}
