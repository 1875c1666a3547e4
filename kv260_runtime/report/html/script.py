"""The only script of a page: a line under the pointer that reads every panel at one instant."""

from __future__ import annotations

SCRIPT = """
(() => {
  const plots = document.getElementById("plots"), store = document.getElementById("data");
  if (!plots || !store) return;
  const data = JSON.parse(store.textContent);
  const cursor = document.getElementById("cursor"), reading = document.getElementById("reading");
  const outputs = [...plots.querySelectorAll("output")];
  const time = s => s < 120 ? s.toFixed(data.bin < 1 ? 1 : 0) + " s"
    : Math.floor(s / 60) + ":" + String(Math.floor(s % 60)).padStart(2, "0");
  const show = x => {
    const box = plots.getBoundingClientRect(), share = (x - box.left) / box.width;
    const bin = Math.floor(share * data.bins);
    if (bin < 0 || bin >= data.bins) return hide();
    const run = data.runs.find(([begin, end]) => bin >= begin && bin < end);
    reading.textContent = time(bin * data.bin) + (run ? "  " + run[2] : "");
    data.panels.forEach((panel, place) => {
      outputs[place].textContent = panel.values.map((values, line) =>
        (panel.names.length > 1 ? panel.names[line] + " " : "") + (values[bin] ?? "–")).join("  ");
    });
    cursor.style.left = 100 * (bin + .5) / data.bins + "%";
    plots.classList.add("read");
  };
  const hide = () => {
    plots.classList.remove("read");
    reading.textContent = "";
    outputs.forEach(output => output.textContent = "");
  };
  plots.addEventListener("pointermove", event => show(event.clientX));
  plots.addEventListener("pointerdown", event => show(event.clientX));
  plots.addEventListener("pointerleave", event => event.pointerType === "mouse" && hide());
})();
"""
