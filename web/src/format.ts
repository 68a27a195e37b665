// Numbers for users: thousands separated by a narrow no-break space, unknown as a dash.
export const unknown = "–";
const narrow = "\u202f";

export function count(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return unknown;
  if (Math.abs(value) < 1000) return String(Number(value.toPrecision(4)));
  if (Math.abs(value) >= 1e15) return value.toPrecision(3);
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, narrow);
}

export function bytes(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return unknown;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit + 1 < units.length) (value /= 1024), ++unit;
  return `${Number(value.toPrecision(3))}${narrow}${units[unit]}`;
}

export function seconds(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return unknown;
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-3) return `${Number((value * 1e6).toPrecision(3))}${narrow}µs`;
  if (size < 1) return `${Number((value * 1e3).toPrecision(4))}${narrow}ms`;
  return `${Number(value.toPrecision(4))}${narrow}s`;
}

export function joules(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return unknown;
  const size = Math.abs(value);
  const [factor, unit] = size >= 0.01 || size === 0 ? [1, "J"]
    : size >= 1e-3 ? [1e3, "mJ"] : size >= 1e-6 ? [1e6, "µJ"] : [1e9, "nJ"];
  return `${Number((value * factor).toPrecision(3))}${narrow}${unit}`;
}

export function percent(share: number | null | undefined): string {
  if (share == null || !Number.isFinite(share)) return unknown;
  return `${Number((100 * share).toPrecision(3))}${narrow}%`;
}

export function words(name: string): string {
  return name.replaceAll("_", " ");
}
