/** Frames with pictures: header, decoding, drawing. */

const MAGIC = 0x31465a55; // "UZF1"
const H264 = 2;
const KEY_FRAME = 1;
const FINAL_QUALITY = 2;

/** Names of the codecs by their number in a frame. */
export const CODECS = { 1: "JPEG", [H264]: "H.264" };

/** Return header and data of a frame; null if it is not one that this page knows. */
export function parseFrame(buffer) {
  const header = new DataView(buffer);
  if (buffer.byteLength < 64 || header.getUint32(0, true) !== MAGIC) return null;
  const codec = header.getUint8(4);
  if (!(codec in CODECS)) return null;
  const seconds = [44, 48, 52, 56].map((place) => header.getFloat32(place, true));
  return {
    codec,
    key: (header.getUint8(5) & KEY_FRAME) > 0,
    final: (header.getUint8(5) & FINAL_QUALITY) > 0,
    sequence: Number(header.getBigUint64(8, true)),
    revision: Number(header.getBigUint64(16, true)),
    step: Number(header.getBigInt64(24, true)),
    time: header.getFloat64(32, true),
    width: header.getUint16(40, true),
    height: header.getUint16(42, true),
    seconds,
    received: performance.now(),
    data: new Uint8Array(buffer, header.getUint16(6, true)),
  };
}

/**
 * Newest frame on a canvas.
 *
 * While one frame is decoded, only the newest of the others waits, and frames of H.264, of which each
 * refers to the one before: the gateway's credit limits their number. A picture of reduced size is scaled
 * to the canvas, which keeps its size, so that nothing flickers or moves.
 */
export class Frames {
  /** Header of the picture that is shown; null before the first. */
  shown = null;
  /** Times of the last pictures, milliseconds. */
  #times = [];
  #canvas;
  #video;
  #waiting = [];
  #busy = false;
  #handlers;

  /**
   * @param video decoder of H.264.
   * @param handlers functions `acknowledge` (a sequence number, and seconds since the frame was
   *   received), `shown` (a header), `size`, which returns columns and rows of the view, and
   *   `videoFailed`, which is called when H.264 is given up.
   */
  constructor(canvas, video, handlers) {
    this.#canvas = canvas;
    this.#video = video;
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
    this.#waiting = [];
    this.#video.close();
    if (this.shown) this.shown = { ...this.shown, sequence: -1 };
  }

  /** Take a frame. */
  push(buffer) {
    const frame = parseFrame(buffer);
    if (!frame) return;
    if (frame.codec === H264 && this.#video.givenUp) return this.#acknowledge(frame); // it was on its way
    for (const one of this.#waiting.filter(({ codec }) => codec !== H264)) this.#acknowledge(one);
    this.#waiting = [...this.#waiting.filter(({ codec }) => codec === H264), frame];
    if (!this.#busy) this.#draw();
  }

  async #draw() {
    this.#busy = true;
    while (this.#waiting.length) {
      const frame = this.#waiting.shift();
      try {
        const picture = await this.#decode(frame);
        if (!picture) continue; // of a connection that was lost
        if (!this.shown || frame.sequence >= this.shown.sequence) this.#show(frame, picture);
        picture.close();
        this.#video.note(frame.codec === H264, performance.now() - frame.received);
      } catch (error) {
        if (frame.codec === H264) this.#giveUpVideo(error);
        else console.error(`picture ${frame.sequence} cannot be decoded`, error);
      }
      this.#acknowledge(frame);
    }
    this.#busy = false;
  }

  #decode(frame) {
    if (frame.codec === H264) return this.#video.decode(frame);
    return createImageBitmap(new Blob([frame.data], { type: "image/jpeg" }));
  }

  #acknowledge({ sequence, received }) {
    this.#handlers.acknowledge(sequence, (performance.now() - received) / 1000);
  }

  /** Go on with JPEG, without the frames of H.264 that wait. */
  #giveUpVideo(error) {
    console.warn("H.264 is given up:", error);
    this.#video.giveUp();
    this.#handlers.videoFailed();
    this.#waiting.filter(({ codec }) => codec === H264).forEach((one) => this.#acknowledge(one));
    this.#waiting = this.#waiting.filter(({ codec }) => codec !== H264);
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
    context.drawImage(picture, 0, 0, frame.width, frame.height, 0, 0, width, height); // H.264 pads
    this.shown = { ...frame, data: null };
    this.#times.push(performance.now());
    this.#handlers.shown(this.shown);
  }
}
