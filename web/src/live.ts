import type { Data } from "./data";
import { byId } from "./dom";
import { count } from "./format";

// Listens to a running study. The browser reconnects automatically; important changes are
// announced.
export function listen(first: Data, update: (data: Data) => void): void {
  const { live } = first;
  if (!live) return;
  const state = byId("live");
  state.hidden = false;
  const say = (text: string) => {
    if (state.textContent !== text) state.textContent = text;
  };
  const now = ({ running }: Data) => {
    if (!running) return "Live";
    const since = new Date(1000 * running.started_at_unix_seconds).toLocaleTimeString();
    return `Live: measuring batch ${count(running.batch)} since ${since}`;
  };
  say("Connecting…");
  const events = new EventSource(live.events);
  events.addEventListener("open", () => say("Live"));
  events.addEventListener("error", () =>
    say(events.readyState === EventSource.CLOSED ? "Not connected" : "Reconnecting…"));
  events.addEventListener("study", (event) => {
    const data = { ...(JSON.parse((event as MessageEvent<string>).data) as Data), live };
    say(now(data));
    update(data);
  });
}
