// Charts are drawn on canvases, which ignore CSS: they get their colours here, and are redrawn when
// the scheme or the medium changes.
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
export const seriesColours = 7;
export function seriesColour(place: number): string {
  return colour(`chart-${(place % seriesColours) + 1}`);
}

export const onPaper = () => document.documentElement.hasAttribute("data-paper");

export function onThemeChange(redraw: () => void): void {
  const paper = (printing: boolean) => {
    document.documentElement.toggleAttribute("data-paper", printing);
    redraw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", (event) => paper(event.matches));
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
}
