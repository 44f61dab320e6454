/** One stroke of a mask's brush, in pixels of the picture. */
export interface Stroke {
  readonly erases: boolean;
  readonly width: number;
  readonly points: readonly Point[];
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** So much can be taken back, and drawn again with each change. */
export const MOST_STROKES = 200;
export const MOST_POINTS = 4_000;

/** The marked area, over the picture. */
export function drawStrokes(
  context: CanvasRenderingContext2D,
  strokes: readonly Stroke[],
  colour: string,
): void {
  const { width, height } = context.canvas;
  context.clearRect(0, 0, width, height);
  for (const stroke of strokes) drawStroke(context, stroke, colour);
  context.globalCompositeOperation = 'source-over';
}

function drawStroke(
  context: CanvasRenderingContext2D,
  { erases, width, points }: Stroke,
  colour: string,
): void {
  const [first] = points;
  if (!first) return;
  context.globalCompositeOperation = erases ? 'destination-out' : 'source-over';
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  context.beginPath();
  context.moveTo(first.x, first.y);
  for (const { x, y } of points) context.lineTo(x, y);
  // A touch without a movement is a dot.
  if (points.length === 1) context.lineTo(first.x, first.y + 0.01);
  context.stroke();
}

/** The mask as the API takes it: what was marked is transparent and will be painted anew, the rest is kept. */
export function maskOf(marked: HTMLCanvasElement): string {
  const mask = document.createElement('canvas');
  mask.width = marked.width;
  mask.height = marked.height;
  const context = mask.getContext('2d');
  if (!context) throw new Error('this browser cannot draw');
  context.fillStyle = '#000';
  context.fillRect(0, 0, mask.width, mask.height);
  context.globalCompositeOperation = 'destination-out';
  context.drawImage(marked, 0, 0);
  return mask.toDataURL('image/png');
}
