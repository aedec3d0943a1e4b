/** Size of the picture in device pixels. */

/** Maximum device pixels per pixel of the page, and of a picture: more is not seen, but drawn. */
const MAX_RATIO = 2;
const MAX_PIXELS = 8e6;
/** Pause after the last change before it is sent, milliseconds. */
const REST = 200;

/** Return columns and rows for the element that holds the picture. */
export function pictureSize(element) {
  const { width, height } = element.getBoundingClientRect();
  let ratio = Math.min(MAX_RATIO, devicePixelRatio || 1);
  ratio = Math.min(ratio, Math.sqrt(MAX_PIXELS / Math.max(1, width * height)));
  return [width, height].map((side) => Math.max(16, Math.floor(side * ratio)));
}

/** Tell the gateway the size after each change. */
export function reportSize(element, store, send) {
  let timer = 0;
  let sent = "";
  const report = () => {
    const [width, height] = pictureSize(element);
    if (String([width, height]) === sent) return;
    if (send({ type: "size", width, height })) sent = String([width, height]);
  };
  new ResizeObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(report, REST);
  }).observe(element);
  store.on("hello", () => {
    sent = "";
    report();
  });
}
