/** Keys of the picture. */

import { byId, make } from "./dom.js";

const DEGREES = 5;
const PIXELS = 30;
const ZOOM = 1.15;
const PRESETS = ["front", "back", "left", "right", "top", "bottom"];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const HELP = [
  ["Arrow keys, or drag", "Turn the camera around the picture’s centre"],
  ["Shift + arrow keys, Shift + drag, or right button", "Move the picture"],
  ["+ and −, or wheel", "Zoom"],
  ["One finger", "Turn the camera"],
  ["Two fingers", "Move the picture and zoom"],
  ["1 to 6", `Cameras: ${PRESETS.join(", ")}`],
  ["7", "Isometric camera"],
  ["0", "First camera of the view"],
  ["P, then Alt + arrow keys", "Values at a cross hair, which these keys move"],
  ["Space", "Pause a run; play stored and earlier steps, or stop"],
  ["End", "Follow the newest step"],
  [", and .", "Step before, step after"],
  ["Left, right, Page Up and Down, Home, End in a plot", "Values of the plot"],
  ["Ctrl + Z, Ctrl + Shift + Z", "Undo and redo changes of the view"],
  ["?", "This list"],
];

/** Show the list of keys. */
export function showHelp() {
  byId("help").showModal();
  byId("help").scrollTop = 0;
}

/** Listen to the keys of the canvas. */
export function listenToKeys(canvas, motion, probe, timeline) {
  byId("help").querySelector("table").append(
    ...HELP.map(([keys, text]) =>
      make("tr", {}, make("th", { scope: "row" }, keys), make("td", {}, text)),
    ),
  );
  byId("help-button").addEventListener("click", showHelp);
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || !handle(event)) return;
    event.preventDefault();
  });

  function handle(event) {
    const { key } = event;
    const arrow = ARROWS[key];
    if (arrow) {
      if (event.altKey) return probe.moveCrosshair(...arrow);
      motion.pulse();
      if (event.shiftKey) motion.pan(arrow[0] * PIXELS, arrow[1] * PIXELS);
      else motion.orbit(arrow[0] * DEGREES, -arrow[1] * DEGREES);
    } else if (event.altKey) return false;
    else if ("+=-−_".includes(key)) {
      motion.pulse();
      motion.zoom("+=".includes(key) ? ZOOM : 1 / ZOOM);
    } else if (key >= "1" && key <= "6") motion.preset(PRESETS[key - 1]);
    else if (key === "7") motion.preset("isometric");
    else if (key === "0") motion.reset();
    else if (key === "p" || key === "P") probe.toggleCrosshair();
    else if (key === " ") timeline.play();
    else if (key === "End") timeline.newest();
    else if (key === ",") timeline.move(-1);
    else if (key === ".") timeline.move(1);
    else if (key === "?") showHelp();
    else return false;
    return true;
  }
}
