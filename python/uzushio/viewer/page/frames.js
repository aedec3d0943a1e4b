/** Frames with pictures: header, decoding, drawing. */

const MAGIC = 0x31465a55; // "UZF1"
const JPEG = 1;
const FINAL_QUALITY = 2;

/** Return header and data of a frame; null if it is not one that this page knows. */
export function parseFrame(buffer) {
  const header = new DataView(buffer);
  if (buffer.byteLength < 64 || header.getUint32(0, true) !== MAGIC) return null;
  if (header.getUint8(4) !== JPEG) return null;
  const seconds = [44, 48, 52, 56].map((place) => header.getFloat32(place, true));
  return {
    final: (header.getUint8(5) & FINAL_QUALITY) > 0,
    sequence: Number(header.getBigUint64(8, true)),
    revision: Number(header.getBigUint64(16, true)),
    step: Number(header.getBigInt64(24, true)),
    time: header.getFloat64(32, true),
    width: header.getUint16(40, true),
    height: header.getUint16(42, true),
    seconds,
    data: new Blob([buffer.slice(header.getUint16(6, true))], { type: "image/jpeg" }),
  };
}

/**
 * Newest frame on a canvas.
 *
 * While one frame is decoded, only the newest of the others waits. A picture of reduced size is
 * scaled to the canvas, which keeps its size, so that nothing flickers or moves.
 */
export class Frames {
  /** Header of the picture that is shown; null before the first. */
  shown = null;
  /** Times of the last pictures, milliseconds. */
  #times = [];
  #canvas;
  #waiting = null;
  #busy = false;
  #handlers;

  /**
   * @param handlers functions `acknowledge` (a sequence number), `shown` (a header), `size`, which
   *   returns columns and rows of the view.
   */
  constructor(canvas, handlers) {
    this.#canvas = canvas;
    this.#handlers = handlers;
  }

  /** Pictures per second during the last two seconds. */
  get rate() {
    const now = performance.now();
    this.#times = this.#times.filter((time) => now - time < 2000);
    return this.#times.length / 2;
  }

  /** Forget the order of the pictures, for a new connection. */
  restart() {
    this.#waiting = null;
    if (this.shown) this.shown = { ...this.shown, sequence: -1 };
  }

  /** Take a frame. */
  push(buffer) {
    const frame = parseFrame(buffer);
    if (!frame) return;
    if (this.#waiting) this.#handlers.acknowledge(this.#waiting.sequence);
    this.#waiting = frame;
    if (!this.#busy) this.#draw();
  }

  async #draw() {
    this.#busy = true;
    while (this.#waiting) {
      const frame = this.#waiting;
      this.#waiting = null;
      try {
        const picture = await createImageBitmap(frame.data);
        if (!this.shown || frame.sequence >= this.shown.sequence) this.#show(frame, picture);
        picture.close();
      } catch (error) {
        console.error(`picture ${frame.sequence} cannot be decoded`, error);
      }
      this.#handlers.acknowledge(frame.sequence);
    }
    this.#busy = false;
  }

  #show(frame, picture) {
    const canvas = this.#canvas;
    let [width, height] = this.#handlers.size() ?? [frame.width, frame.height];
    const ratio = (width / height) * (frame.height / frame.width);
    if (frame.final || Math.abs(ratio - 1) > 0.02) [width, height] = [frame.width, frame.height];
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const context = canvas.getContext("2d", { alpha: false });
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, 0, 0, width, height);
    this.shown = { ...frame, data: null };
    this.#times.push(performance.now());
    this.#handlers.shown(this.shown);
  }
}
