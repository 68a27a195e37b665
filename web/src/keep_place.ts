// Runs a change of the page while the focused element keeps its position on the screen, whatever
// grew or shrank above it.
export function keepPlace(change: () => void): void {
  const top = () => document.activeElement?.getBoundingClientRect().top ?? 0;
  const before = top();
  const seen = document.activeElement !== document.body && before >= 0 && before <= innerHeight;
  change();
  if (seen) scrollBy({ top: top() - before, behavior: "instant" });
}
