import Brush from 'lucide-react/icons/brush';
import Eraser from 'lucide-react/icons/eraser';
import Undo from 'lucide-react/icons/undo-2';
import Upload from 'lucide-react/icons/upload';
import {
  useEffect,
  useRef,
  useState,
  type Dispatch,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  type SetStateAction,
} from 'react';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { Segments } from '../../../ui/Segments.tsx';
import { readMask, type Reference, type ReferenceProblem } from './references.ts';

interface MaskDialogProps {
  readonly picture: Reference;
  readonly mask: string | undefined;
  readonly onMask: (mask: string | undefined) => void;
  readonly onClose: () => void;
}

const COLOUR = '#e11d48';
const BRUSH = { least: 2, most: 40, first: 12 };

/** Marks the area to change, by painting on the picture with any pointer, or by a file, which needs none. */
export function MaskDialog({ picture, mask, onMask, onClose }: MaskDialogProps) {
  const { t } = useTranslation();
  const [strokes, setStrokes] = useState<readonly Stroke[]>([]);
  const [tool, setTool] = useState<'paint' | 'erase'>('paint');
  const [brush, setBrush] = useState(BRUSH.first);
  const [problem, setProblem] = useState<ReferenceProblem>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const finish = (next: string): void => {
    onMask(next);
    onClose();
  };
  const upload = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    const read = await readMask(file, picture);
    if (read.problem === undefined) finish(read.mask);
    else setProblem(read.problem);
  };
  // Relative to the picture, so that the brush feels the same on a small and on a large one.
  const width = (brush / 100) * Math.max(picture.width, picture.height) * 0.5;
  return (
    <Dialog
      open
      kind="wide"
      title={t('studio.maskTitle')}
      onClose={onClose}
      footer={
        <>
          <UploadMask onFile={upload} />
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button
            kind="primary"
            disabled={strokes.length === 0}
            onClick={() => canvas.current && finish(maskOf(canvas.current))}
          >
            {t('studio.useMask')}
          </Button>
        </>
      }
    >
      <p className="mb-3 text-ink-3">{t('studio.maskLead')}</p>
      <Tools
        tool={tool}
        onTool={setTool}
        brush={brush}
        onBrush={setBrush}
        canUndo={strokes.length > 0}
        onUndo={() => setStrokes(strokes.slice(0, -1))}
        onClear={() => setStrokes([])}
      />
      {problem ? (
        <p role="alert" className="mb-3 text-sm text-bad">
          {t(`studio.problem.${problem}`, { name: t('studio.maskFile'), limit: '' })}
        </p>
      ) : null}
      <Surface
        canvas={canvas}
        picture={picture}
        mask={strokes.length === 0 ? mask : undefined}
        strokes={strokes}
        onStrokes={setStrokes}
        brush={{ erases: tool === 'erase', width }}
      />
    </Dialog>
  );
}

/** One stroke of a mask's brush, in pixels of the picture. */
interface Stroke {
  readonly erases: boolean;
  readonly width: number;
  readonly points: readonly Point[];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** The mask as the API takes it: marked areas are transparent and will be painted anew, the rest is kept. */
function maskOf(marked: HTMLCanvasElement): string {
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

interface ToolsProps {
  readonly tool: 'paint' | 'erase';
  readonly onTool: (tool: 'paint' | 'erase') => void;
  readonly brush: number;
  readonly onBrush: (brush: number) => void;
  readonly canUndo: boolean;
  readonly onUndo: () => void;
  readonly onClear: () => void;
}

function Tools({ tool, onTool, brush, onBrush, canUndo, onUndo, onClear }: ToolsProps) {
  const { t } = useTranslation();
  return (
    <div className="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2">
      <Segments
        label={t('studio.tool')}
        value={tool}
        onChange={onTool}
        options={[
          {
            value: 'paint',
            label: <ToolName icon={<Brush size={14} aria-hidden />} name={t('studio.paint')} />,
          },
          {
            value: 'erase',
            label: <ToolName icon={<Eraser size={14} aria-hidden />} name={t('studio.erase')} />,
          },
        ]}
      />
      <label className="flex items-center gap-2 text-sm text-ink-2">
        {t('studio.brush')}
        <input
          type="range"
          min={BRUSH.least}
          max={BRUSH.most}
          value={brush}
          onChange={(event) => onBrush(Number(event.target.value))}
          className="w-28 accent-accent"
        />
      </label>
      <Button small kind="ghost" disabled={!canUndo} icon={<Undo size={14} aria-hidden />} onClick={onUndo}>
        {t('studio.undo')}
      </Button>
      <Button small kind="ghost" disabled={!canUndo} onClick={onClear}>
        {t('studio.clear')}
      </Button>
    </div>
  );
}

function ToolName({ icon, name }: { icon: ReactNode; name: string }) {
  return (
    <>
      {icon}
      {name}
    </>
  );
}

function UploadMask({ onFile }: { onFile: (file: File | undefined) => Promise<void> }) {
  const { t } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  return (
    <span className="mr-auto">
      <Button icon={<Upload size={15} aria-hidden />} onClick={() => input.current?.click()}>
        {t('studio.uploadMask')}
      </Button>
      <input
        ref={input}
        type="file"
        accept="image/png"
        hidden
        data-testid="mask"
        onChange={(event) => {
          void onFile(event.target.files?.[0]);
          event.target.value = '';
        }}
      />
    </span>
  );
}

/** All strokes can be undone, and are drawn again with each change. */
const MOST_STROKES = 200;
const MOST_POINTS = 4_000;

interface SurfaceProps {
  readonly canvas: RefObject<HTMLCanvasElement | null>;
  readonly picture: Reference;
  /** The current mask, shown until somebody paints. */
  readonly mask: string | undefined;
  readonly strokes: readonly Stroke[];
  readonly onStrokes: Dispatch<SetStateAction<readonly Stroke[]>>;
  readonly brush: Pick<Stroke, 'erases' | 'width'>;
}

function Surface({ canvas, picture, mask, strokes, onStrokes, brush }: SurfaceProps) {
  const { t } = useTranslation();
  const isDrawing = useRef(false);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context) drawStrokes(context, strokes, COLOUR);
  }, [canvas, strokes]);
  const onDown = (event: PointerEvent<HTMLCanvasElement>): void => {
    if (event.button !== 0 || strokes.length >= MOST_STROKES) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    isDrawing.current = true;
    const point = pointOf(event);
    onStrokes((before) => [...before, { ...brush, points: [point] }]);
  };
  const onMove = (event: PointerEvent<HTMLCanvasElement>): void => {
    if (!isDrawing.current) return;
    const point = pointOf(event);
    // Several movements may come before the next render.
    onStrokes((before) => {
      const last = before.at(-1);
      if (!last || last.points.length >= MOST_POINTS) return before;
      return [...before.slice(0, -1), { ...last, points: [...last.points, point] }];
    });
  };
  const onEnd = (): void => {
    isDrawing.current = false;
  };
  return (
    <div className="grid place-items-center rounded-md bg-sunken">
      <div className="relative">
        <img
          src={picture.src}
          alt={picture.name}
          className="block max-h-[52dvh] max-w-full rounded-md select-none"
        />
        {mask === undefined ? null : (
          <img src={mask} alt={t('studio.maskShown')} className="absolute inset-0 size-full opacity-50" />
        )}
        <canvas
          ref={canvas}
          width={picture.width}
          height={picture.height}
          role="img"
          aria-label={t('studio.canvas')}
          data-strokes={strokes.length}
          onPointerDown={onDown}
          onPointerMove={onMove}
          onPointerUp={onEnd}
          onPointerCancel={onEnd}
          className="absolute inset-0 size-full cursor-crosshair touch-none opacity-55"
        />
      </div>
    </div>
  );
}

function drawStrokes(context: CanvasRenderingContext2D, strokes: readonly Stroke[], colour: string): void {
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
  // A touch without movement is a dot.
  if (points.length === 1) context.lineTo(first.x, first.y + 0.01);
  context.stroke();
}

/** In pixels of the picture, whatever size it is shown at. */
function pointOf(event: PointerEvent<HTMLCanvasElement>): Point {
  const canvas = event.currentTarget;
  const box = canvas.getBoundingClientRect();
  return {
    x: ((event.clientX - box.left) / box.width) * canvas.width,
    y: ((event.clientY - box.top) / box.height) * canvas.height,
  };
}
