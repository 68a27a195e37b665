import { Chart } from "./chart";
import { stepTimes, traces } from "./charts/trial";
import { floats, sizeOf, sizeWord, type Data, type Steps, type Trial } from "./data";
import { element } from "./dom";
import { count, words } from "./format";

// One trial: its raw step times, and the machine's readings.
export class TrialDialog {
  private readonly title = element("h2", { id: "trial-title" });
  private readonly note = element("p");
  private readonly output = element("pre", { id: "trial-output", tabindex: "0" });
  private readonly charts = element("div");
  private readonly dialog = element("dialog", { id: "trial", "aria-labelledby": "trial-title" },
    element("form", { method: "dialog" }, element("button", { class: "close" }, "Close")),
    this.title, this.note, this.output, this.charts);
  private shown: Chart[] = [];

  constructor(private data: Data) {
    document.body.append(this.dialog);
  }

  update(data: Data): void {
    this.data = data;
  }
  redraw(): void {
    this.shown.forEach((chart) => chart.draw());
  }

  async open(place: number): Promise<void> {
    const trial = this.data.trials[place]!;
    this.title.textContent = `Trial ${place + 1}: ${sizeWord(this.data)} ${
      count(sizeOf(trial.setting, this.data))}`;
    this.note.textContent = [words(trial.outcome), words(trial.stop_reason ?? ""), trial.note ?? ""]
      .filter(Boolean).join(" · ");
    this.output.textContent = trial.last_output ?? "";
    this.output.hidden = !trial.last_output;
    this.charts.replaceChildren(element("p", {}, "Loading…"));
    this.dialog.showModal();
    const steps = await this.stepsOf(trial);
    this.charts.replaceChildren();
    this.shown = [];
    if (steps) {
      this.add("trial-steps", stepTimes(steps), 280);
      this.charts.append(rawText(steps));
    } else this.charts.append(element("p", {}, "No step times were kept of this trial."));
    traces(trial).forEach((spec, i) => this.add(`trial-trace-${i}`, spec, 180));
  }

  private add(id: string, spec: ReturnType<typeof stepTimes>, height: number): void {
    const chart = new Chart(this.charts, id, height);
    chart.show(spec);
    chart.draw(true);
    this.shown.push(chart);
  }

  // A live page has no raw steps until they are requested.
  private async stepsOf(trial: Trial): Promise<Steps | null> {
    if (trial.raw_steps || !this.data.live) return trial.raw_steps;
    try {
      const response = await fetch(this.data.live.steps + trial.id);
      return response.ok ? ((await response.json()) as Steps | null) : null;
    } catch {
      return null;
    }
  }
}

// The numbers themselves, to copy; written when opened.
function rawText(steps: Steps): HTMLElement {
  const text = element("textarea", { readonly: true, rows: "8", "aria-label": "Raw step times in seconds" });
  const details = element("details", {}, element("summary", {}, "Raw step times in seconds"), text);
  details.addEventListener("toggle", () => {
    if (details.open) text.value = floats(steps.seconds).map((t) => t.toPrecision(7)).join("\n");
  });
  return details;
}
