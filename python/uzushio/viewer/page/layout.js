/** Parts of the page that can be hidden or made larger: the panel, and the plots. */

import { byId } from "./dom.js";
import { clamp } from "./numbers.js";

/** Minimum and maximum share of the height for the plots, and the step of the arrow keys. */
const MIN_SHARE = 15;
const MAX_SHARE = 80;
const STEP = 5;

/** Connect the button of the panel, and the edge of the plots. */
export function connectLayout() {
  const panel = byId("panel");
  const toggle = byId("panel-button");
  toggle.addEventListener("click", () => {
    panel.hidden = !panel.hidden;
    toggle.setAttribute("aria-expanded", String(!panel.hidden));
  });

  const edge = byId("plots-edge");
  const main = document.querySelector("main");
  const set = (share) => {
    const whole = Math.round(clamp(share, MIN_SHARE, MAX_SHARE));
    edge.setAttribute("aria-valuenow", String(whole));
    main.style.setProperty("--plots-height", `${whole}%`);
  };
  edge.addEventListener("pointerdown", (event) => {
    edge.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  edge.addEventListener("pointermove", (event) => {
    if (!edge.hasPointerCapture(event.pointerId)) return;
    const { top, height } = main.getBoundingClientRect();
    const below = panel.offsetTop > byId("plots").offsetTop && !panel.hidden ? panel.offsetHeight : 0;
    set((100 * (top + height - below - event.clientY)) / height);
  });
  edge.addEventListener("keydown", (event) => {
    const by = { ArrowUp: STEP, ArrowDown: -STEP }[event.key];
    if (!by) return;
    set(Number(edge.getAttribute("aria-valuenow")) + by);
    event.preventDefault();
  });
  // The frame of the focus is for the keyboard; the picture has the focus from the start.
  document.addEventListener("keydown", () => document.body.classList.add("keyboard"), { once: true });
}
