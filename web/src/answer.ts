import type { Data } from "./data";
import { byId, element } from "./dom";
import { words } from "./format";

function set(id: string, text: string | null | undefined): void {
  const place = byId(id);
  if (place.textContent !== (text ?? "")) place.textContent = text ?? "";
  place.hidden = !text;
}

// The sentence, its reasons and the command, if they change.
export function fillAnswer(data: Data): void {
  const made = data.recommendation;
  set("status", words(data.status));
  byId("status").dataset.status = data.status;
  set("sentence", data.sentence || "No recommendation yet");
  set("message", data.message);
  set("command", made?.command);
  offerCopy();
  byId("figures").replaceChildren(...data.figures.map(({ name, value }) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  byId("reasons").replaceChildren(...(made?.reasons ?? []).map((r) => element("li", {}, r.text)));
}

// "Copy" next to the command, if the browser allows it.
export function offerCopy(): void {
  const command = byId("command");
  if (!navigator.clipboard || command.hidden || command.nextElementSibling) return;
  const button = element("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(command.textContent ?? "").then(
      () => (button.textContent = "Copied"), () => (button.textContent = "Not allowed"));
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  command.after(button);
}

export function localTime(): void {
  for (const time of document.querySelectorAll("time"))
    time.textContent = new Date(time.dateTime).toLocaleString(undefined,
      { dateStyle: "medium", timeStyle: "short" });
}
