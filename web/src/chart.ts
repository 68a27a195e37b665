import uPlot from "uplot";
import { element, plainTable } from "./dom";
import { options } from "./options";
import type { Spec } from "./spec";
import { onPaper } from "./theme";

const paperWidth = 660; // of A4 less its margins, in CSS pixels

// One figure: heading, plot with tooltip, legend, and the numbers as a table. It is drawn when it
// becomes visible, and again whenever its data, width or colours change.
export class Chart {
  readonly figure: HTMLElement;
  private readonly title = element("h3");
  private readonly hint = element("p", { class: "hint" });
  private readonly legend = element("ul", { class: "legend" });
  private readonly plot: HTMLElement;
  private readonly tip = element("div", { class: "tip", "aria-hidden": "true", hidden: true });
  private readonly said = element("p", { class: "unseen", "aria-live": "polite" });
  private readonly numbers = element("details", {}, element("summary", {}, "Numbers"));
  private spec: Spec | null = null;
  private drawn: uPlot | null = null;
  private visible = false;
  private at: number | null = null;
  private known: number[] = []; // indices of xs with a value

  constructor(parent: HTMLElement, readonly id: string, private readonly height = 300) {
    this.title.id = `${id}-title`;
    this.plot = element("div", {
      class: "plot", tabindex: "0", role: "group", "aria-roledescription": "chart",
      "aria-labelledby": this.title.id,
    });
    this.plot.style.minHeight = `${height}px`; // drawing it moves nothing that is below
    this.figure = element("figure", { id, class: "chart", hidden: true },
      this.title, this.hint, this.legend, this.plot, this.said, this.numbers);
    parent.append(this.figure);
    new IntersectionObserver((entries) => {
      if (!this.visible && entries.some((e) => e.isIntersecting)) (this.visible = true), this.draw();
    }, { rootMargin: "400px" }).observe(this.figure);
    new ResizeObserver(() => {
      if (this.drawn && this.drawn.width !== this.width()) this.draw();
    }).observe(this.plot);
    this.plot.addEventListener("keydown", (event) => this.onKey(event));
    this.plot.addEventListener("blur", () => this.tell(null));
    this.numbers.addEventListener("toggle", () => this.fillNumbers());
  }

  show(spec: Spec | null): void {
    this.spec = spec;
    this.figure.hidden = !spec;
    if (!spec) return;
    this.known = spec.xs.map((_, i) => i)
      .filter((i) => spec.lines.some((line) => line.told && line.ys[i] != null));
    this.title.textContent = spec.title;
    this.hint.textContent = spec.hint;
    const named = spec.lines.filter((line) => line.name);
    this.legend.replaceChildren(...named.map((line) => element("li", {
      "data-colour": String(line.colour % 7 + 1), "data-draw": line.draw }, line.name)));
    this.legend.hidden = named.length < 2;
    this.fillNumbers();
    this.draw();
  }

  draw(force = false): void {
    if (!this.spec || (!this.visible && !force)) return;
    this.visible = true;
    this.drawn?.destroy();
    const data = [this.spec.xs, ...this.spec.lines.map((line) => line.ys)] as uPlot.AlignedData;
    this.drawn = new uPlot(options(this.spec, this.width(), this.height, (u) => this.onCursor(u)),
      data, this.plot);
    this.drawn.over.append(this.tip);
    this.figure.dataset.drawn = "";
  }

  private width(): number {
    return onPaper() ? paperWidth : Math.max(240, Math.floor(this.plot.clientWidth));
  }

  // Filled when opened: most never are.
  private fillNumbers(): void {
    this.numbers.querySelector("table")?.remove();
    if (this.numbers.open && this.spec)
      this.numbers.append(plainTable(this.spec.numbers, this.spec.title));
  }

  private told(index: number): string[] {
    return this.spec!.lines
      .map((line) => [line.name, line.ys[index] != null ? line.told?.(index) : null])
      .filter(([, words]) => words)
      .map((parts) => parts.filter(Boolean).join(": "));
  }

  private onCursor(u: uPlot): void {
    const { left } = u.cursor;
    if (left == null || left < 0) return this.tell(null);
    let best: number | null = null;
    let distance = Infinity;
    for (const i of this.known) {
      const away = Math.abs(u.valToPos(this.spec!.xs[i]!, "x") - left);
      if (away < distance) (best = i), (distance = away);
    }
    this.tell(best);
  }

  private tell(index: number | null): void {
    if (index === this.at && !this.tip.hidden) return;
    this.at = index;
    this.tip.hidden = index == null;
    if (index == null || !this.drawn || !this.spec) return;
    const head = this.spec.x.words(this.spec.xs[index]!);
    const lines = this.told(index);
    this.tip.replaceChildren(element("b", {}, `${this.spec.x.label.replace(/ \(.*/, "")} ${head}`),
      ...lines.map((line) => element("div", {}, line)));
    const x = this.drawn.valToPos(this.spec.xs[index]!, "x");
    const turn = x > this.drawn.over.clientWidth / 2;
    this.tip.style.left = turn ? "auto" : `${x + 10}px`;
    this.tip.style.right = turn ? `${this.drawn.over.clientWidth - x + 10}px` : "auto";
    if (document.activeElement === this.plot) this.said.textContent = [head, ...lines].join("; ");
  }

  // Arrow keys move between the points with a value.
  private onKey(event: KeyboardEvent): void {
    if (!this.spec || !this.drawn) return;
    if (event.key === "Escape") return this.tell(null);
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: Infinity, End: -Infinity }[event.key];
    if (!step) return;
    event.preventDefault();
    const { known } = this;
    if (!known.length) return;
    const last = known.length - 1;
    const now = this.at == null ? -1 : known.indexOf(this.at);
    const next = step === Infinity ? 0 : step === -Infinity ? last
      : now < 0 ? (step > 0 ? 0 : last) : Math.min(last, Math.max(0, now + step));
    this.tell(known[next]!);
  }
}

