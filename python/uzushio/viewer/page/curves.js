/** Curves of a plot, drawn by Plotly, which is loaded when they are first shown. */

import { make } from "./dom.js";
import { lowerSubscripts } from "./symbols.js";

/** Colours of the curves, with a contrast of 3 or more to the surface. */
const COLORS = {
  light: ["#0b5aa5", "#b3261e", "#1a7f37", "#8a5a00", "#6a3fa0", "#00706e"],
  dark: ["#7cb7f2", "#ff9c92", "#6fd08c", "#f0b95a", "#c7a6f5", "#5fd0cc"],
};
/** Line styles, so that curves also differ without colour. */
const DASHES = ["solid", "dash", "dot", "dashdot"];
/** Range of values, relative to their size, below which a difference is that of rounding. */
const LEAST_RANGE = 1e-9;
/** Maximum length of a line of an axis title, characters. */
const MAX_LINE = 18;
const CONFIG = { displayModeBar: false, displaylogo: false, doubleClick: "reset", responsive: false };

const dark = matchMedia("(prefers-color-scheme: dark)");
let loading = null;

/** Load Plotly; the promise is rejected if the viewer does not have it. */
export function loadPlotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = make("script", { src: "plotly.min.js" });
    script.addEventListener("load", () => resolve(globalThis.Plotly));
    script.addEventListener("error", () => {
      loading = null;
      script.remove();
      reject(new Error("The plots cannot be drawn: the viewer does not deliver plotly.min.js."));
    });
    document.head.append(script);
  });
  return loading;
}

/** Call a function when the colours of the system change. */
export const onScheme = (action) => dark.addEventListener("change", action);

/** Return a name with its unit. */
export const labelled = (name, unit) => (unit && unit !== "1" ? `${name} [${unit}]` : name);

/** Draw a plot, as of the gateway's message, into an element; a zoom that the user has set stays. */
export async function drawCurves(element, plot) {
  const plotly = await loadPlotly();
  if (!plot.curves.length || !element.clientWidth) return;
  const scheme = dark.matches ? "dark" : "light";
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  const axis = ({ name, unit, log }) => ({
    title: { text: wrapped(labelled(name, unit)), standoff: 8, font: { size: 12 } },
    type: log ? "log" : "linear",
    exponentformat: "e", // superscripts need inline styles, which the page does not allow
    color: color("--text"), gridcolor: color("--line"), linecolor: color("--border"),
    spikethickness: 1, spikecolor: color("--border"), spikedash: "solid",
    showline: true, zeroline: false, automargin: true, ticks: "outside",
  });
  const traces = plot.curves.map(({ name, unit, x, y }, place) => ({
    type: "scatter",
    mode: x.length < 3 ? "lines+markers" : "lines",
    name: escaped(labelled(name, unit)),
    x, y,
    line: {
      color: COLORS[scheme][place % COLORS[scheme].length],
      dash: DASHES[Math.floor(place / COLORS[scheme].length) % DASHES.length],
      width: 1.6,
    },
  }));
  const layout = {
    width: element.clientWidth,
    height: element.clientHeight,
    margin: { l: 8, r: 10, t: 8, b: 8 },
    font: { size: 12, color: color("--text"), family: getComputedStyle(document.body).fontFamily },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    xaxis: { ...axis(plot.x), autorange: true },
    yaxis: { ...axis(plot.y), ...rangeOf(plot) },
    showlegend: traces.length > 1,
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    hovermode: "x unified",
    hoverlabel: { bgcolor: color("--surface"), bordercolor: color("--border"), font: { color: color("--text") } },
    uirevision: "kept",
  };
  await plotly.react(element, traces, layout, CONFIG);
  element.querySelectorAll(".xtitle, .ytitle, .legendtext").forEach(lowerSubscripts);
}

/** Release Plotly's resources of an element. */
export const clearCurves = (element) => globalThis.Plotly?.purge(element);

/** Return the range of a vertical axis: automatic, unless its values differ by rounding alone. */
function rangeOf({ y, curves }) {
  const automatic = { autorange: true };
  if (y.log) return automatic;
  let [low, high] = [Infinity, -Infinity];
  for (const curve of curves) {
    for (const value of curve.y) {
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (!Number.isFinite(size) || high - low >= LEAST_RANGE * size) return automatic;
  const half = 0.01 * size;
  return { autorange: false, range: [low - half, high + half] };
}

/** Return a title in lines that fit beside a plot. */
function wrapped(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1).length + word.length > MAX_LINE && lines.at(-1)) lines.push("");
    lines[lines.length - 1] += `${lines.at(-1) && " "}${word}`;
  }
  return lines.map(escaped).join("<br>");
}

/** Return text without marks of Plotly's markup. */
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
