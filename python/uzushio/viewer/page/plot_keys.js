/** Keys of a plot: they step through its values, which are shown and said. */

import { byId } from "./dom.js";
import { clamp, short } from "./numbers.js";

/** Points by which Page Up and Page Down step. */
const PAGE = 10;

/**
 * Listen to the keys of a plot.
 *
 * @param element in which Plotly draws.
 * @param plot returns the newest message of the plot.
 */
export function listenToPlotKeys(element, plot) {
  let place = null; // number of the point of the first curve

  const show = () => {
    const { x, y: axis, curves } = plot();
    const at = curves[0].x[place];
    const points = curves.flatMap((curve, curveNumber) => {
      const pointNumber = curve.x.indexOf(at);
      return pointNumber < 0 || curve.y[pointNumber] === null ? [] : [{ curveNumber, pointNumber }];
    });
    globalThis.Plotly?.Fx?.hover(element, points);
    const values = curves.map(({ name, unit, x: places, y }) => {
      const value = y[places.indexOf(at)] ?? null;
      return `${name} ${value === null ? "none" : `${short(value)} ${unit || axis.unit}`.trim()}`;
    });
    byId("announcement").textContent =
      `${x.name} ${short(at)}${x.unit ? ` ${x.unit}` : ""}: ${values.join(", ")}.`;
  };

  element.addEventListener("keydown", (event) => {
    const last = (plot()?.curves[0]?.x.length ?? 0) - 1;
    if (last < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = {
      ArrowLeft: -1, ArrowRight: 1, PageUp: PAGE, PageDown: -PAGE, Home: -Infinity, End: Infinity,
    };
    if (event.key === "Escape") hide();
    else if (event.key in steps) {
      const from = place ?? (steps[event.key] > 0 ? -1 : last + 1);
      place = clamp(from + steps[event.key], 0, last);
      show();
    } else return;
    event.preventDefault();
  });
  element.addEventListener("blur", hide);

  function hide() {
    place = null;
    if (element.classList.contains("js-plotly-plot")) globalThis.Plotly?.Fx?.unhover(element);
  }

  /** Show the same point of newer curves, which Plotly has drawn. */
  return () => {
    if (place === null || !plot().curves.length) return;
    place = Math.min(place, plot().curves[0].x.length - 1);
    show();
  };
}
