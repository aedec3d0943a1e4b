/** Plots below the picture: the solver's figures, and plots of the document. */

import { clearCurves, drawCurves, labelled, loadPlotly, onScheme } from "./curves.js";
import { button, byId, make } from "./dom.js";
import { short } from "./numbers.js";
import { makePlotForm } from "./plot_form.js";
import { listenToPlotKeys } from "./plot_keys.js";
import { showSymbols } from "./symbols.js";

/** Kinds of plots that show only the newest step. */
const OF_ONE_STEP = ["profile", "spectrum"];

/** Show the section when its button is pressed; `send` sends a message to the gateway. */
export function makePlots(store, errors, send) {
  const section = byId("plots");
  const toggle = byId("plots-button");
  const figures = new Map(); // by kind and name
  const shown = () => !section.hidden;

  toggle.addEventListener("click", () => {
    section.hidden = !section.hidden;
    toggle.setAttribute("aria-expanded", String(shown()));
    send({ type: "plots", shown: shown() });
    if (shown()) loadPlotly().catch((error) => errors.say(error.message));
    else update({ plots: [] });
  });

  const update = ({ plots }) => {
    const wanted = new Map((shown() ? plots : []).map((plot) => [`${plot.kind}:${plot.name}`, plot]));
    for (const [key, figure] of figures) {
      if (wanted.has(key)) continue;
      figure.close();
      figures.delete(key);
    }
    for (const [key, plot] of wanted) {
      if (!figures.has(key)) figures.set(key, makeFigure(store, key));
      figures.get(key).show(plot);
    }
    const list = byId("plot-list");
    const order = [...wanted.keys()].map((key) => figures.get(key).element);
    if (order.some((element, place) => list.children[place] !== element)) list.replaceChildren(...order);
    byId("plots-state").hidden = order.length > 0;
  };
  const again = () => shown() && store.plots && update(store.plots);

  makePlotForm(store, byId("plot-form"));
  store.on("plots", update);
  store.on("hello", () => shown() && send({ type: "plots", shown: true }));
  onScheme(again);
  new ResizeObserver(again).observe(section);
}

/** Return a figure of a plot, with `show(plot)` and `close()`. */
function makeFigure(store, key) {
  const title = make("b");
  const when = make("span", { className: "hint" });
  const remove = button("Remove", () => {
    const place = store.actions.findIndex(({ name }) => name === key.slice(key.indexOf(":") + 1));
    if (place >= 0) store.set(["actions", place], null);
  }, { className: "quiet", hidden: key.startsWith("monitor:") });
  const curves = make("div", { className: "curves", role: "img", tabIndex: 0 });
  const text = make("p", { className: "hint", hidden: true });
  const element = make("figure", { className: "plot" },
    make("figcaption", {}, title, when, remove), curves, text);
  element.dataset.plot = key;
  let newest = null;
  const showPoint = listenToPlotKeys(curves, () => newest);

  const show = (plot) => {
    newest = plot;
    showSymbols(title, plot.title);
    const unit = store.description?.time_unit;
    const ofStep = plot.step !== null && OF_ONE_STEP.includes(plot.kind);
    showSymbols(when, ofStep ? `t = ${short(plot.time)}${unit ? ` ${unit}` : ""}` : "");
    remove.setAttribute("aria-label", `Remove the plot ${plot.title}`);
    text.hidden = !plot.text;
    text.textContent = plot.text;
    curves.hidden = !plot.curves.length;
    curves.setAttribute("aria-label", plotInWords(plot));
    drawCurves(curves, plot).then(showPoint, () => {}); // said when the script was loaded
  };
  const close = () => {
    clearCurves(curves);
    element.remove();
  };
  return { element, show, close };
}

/** Return a plot in words, for screen readers. */
export function plotInWords({ title, x, y, curves }) {
  if (!curves.length) return `Plot ${title} without curves.`;
  const known = curves.map((curve) => ({ ...curve, y: curve.y.filter((value) => value !== null) }));
  const places = curves[0].x.filter((value) => value !== null);
  const scales = [x.log && "horizontal", y.log && "vertical"].filter(Boolean).join(" and ");
  const axes = `${labelled(y.name || "values", y.unit)} over ${labelled(x.name, x.unit)} from ${short(least(places))} to ${short(most(places))}`;
  const lines = known.map(({ name, unit, y: values }) => {
    const label = curves.length > 1 ? labelled(name, unit) : "values";
    if (!values.length) return `${label}: none`;
    return `${label}: from ${short(least(values))} to ${short(most(values))}, last ${short(values.at(-1))}`;
  });
  const logarithmic = scales ? ` The ${scales} axis is logarithmic.`.replace("l axis is", scales.includes("and") ? "l axes are" : "l axis is") : "";
  return `Line plot ${title}: ${axes}.${logarithmic} ${lines.join("; ")}. Arrow keys step through the values.`;
}

const least = (values) => values.reduce((low, value) => Math.min(low, value), Infinity);
const most = (values) => values.reduce((high, value) => Math.max(high, value), -Infinity);
