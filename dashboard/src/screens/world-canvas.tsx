import { useEffect, useRef } from "preact/hooks";
import type { WorldColumns } from "../../../src/client/index.ts";
import type { Answer } from "../api.ts";
import { search } from "../router.ts";
import { systemTheme } from "../system-theme.ts";

/** An organism at a tick. */
export type Organism = Answer<"GET /api/runs/:runId/organisms">["organisms"][number];

/** All that is drawn. */
export interface WorldPicture {
  readonly tickNumber: number;
  readonly isTruncated: boolean;
  readonly width: number;
  readonly height: number;
  readonly cells: WorldColumns;
  readonly organisms: readonly Organism[];
}

const pixelsMax = 1_600;
const cellPixelsMax = 32;
/** How far beside an organism a click may be, in cells. */
const clickReach = 1.5;

/** Kinds of cells by number, and the custom property of their colour. */
const cellColours: Readonly<Record<number, string>> = {
  1: "--world-food",
  2: "--world-wall",
  3: "--world-body",
  4: "--world-remains",
};

/** Food of this amount has the full colour. */
const fullValue = 60;

/** The world as a picture; a click on an organism opens its life. */
export function WorldCanvas({
  picture,
  open,
}: {
  picture: WorldPicture;
  open: (organismId: number) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scale = Math.max(1, Math.min(cellPixelsMax, Math.floor(pixelsMax / picture.width)));
  const chosen = Number(search.value.get("organism"));
  const theme = systemTheme.value;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context) draw(context, picture, { scale, chosen });
  }, [picture, scale, chosen, theme]);
  const onClick = (event: MouseEvent) => {
    const { left, top, width, height } = (event.currentTarget as Element).getBoundingClientRect();
    const x = ((event.clientX - left) / width) * picture.width;
    const y = ((event.clientY - top) / height) * picture.height;
    const found = nearest(picture.organisms, x, y);
    if (found) open(found.organismId);
  };
  return (
    // By key, the table of organisms below opens the same lives.
    <canvas
      ref={canvas}
      class="world"
      width={picture.width * scale}
      height={picture.height * scale}
      role="img"
      aria-label={`The world at tick ${picture.tickNumber}: ${picture.organisms.length} organisms`}
      data-tick={picture.tickNumber}
      onClick={onClick}
    />
  );
}

function nearest(organisms: readonly Organism[], x: number, y: number): Organism | undefined {
  const distanceOf = (organism: Organism) => Math.hypot(organism.x + 0.5 - x, organism.y + 0.5 - y);
  const [first] = [...organisms].sort((a, b) => distanceOf(a) - distanceOf(b));
  return first && distanceOf(first) <= clickReach ? first : undefined;
}

interface DrawOptions {
  readonly scale: number;
  readonly chosen: number;
}

function draw(
  context: CanvasRenderingContext2D,
  picture: WorldPicture,
  { scale, chosen }: DrawOptions,
): void {
  const style = getComputedStyle(context.canvas);
  const colour = (property: string) => style.getPropertyValue(property);
  context.fillStyle = colour("--world-ground");
  context.fillRect(0, 0, picture.width * scale, picture.height * scale);
  drawCells(context, picture, { scale, colour });
  for (const organism of picture.organisms) drawOrganism(context, organism, { scale, colour });
  const marked = picture.organisms.find(({ organismId }) => organismId === chosen);
  if (marked) drawRing(context, marked, { scale, colour });
}

interface Brush {
  readonly scale: number;
  colour(property: string): string;
}

/** Bodies are drawn as cells only while it is not known whose they are. */
const bodyKind = "3";

function drawCells(
  context: CanvasRenderingContext2D,
  { cells: { x, y, state, value }, organisms }: WorldPicture,
  { scale, colour }: Brush,
): void {
  for (const [kind, property] of Object.entries(cellColours)) {
    if (kind === bodyKind && organisms.length > 0) continue;
    context.fillStyle = colour(property);
    for (let index = 0; index < state.length; index++) {
      if (state[index] !== Number(kind)) continue;
      context.globalAlpha = kind === "1" ? 0.25 + 0.75 * Math.min(1, (value[index] ?? 0) / fullValue) : 1;
      context.fillRect((x[index] ?? 0) * scale, (y[index] ?? 0) * scale, scale, scale);
    }
  }
  context.globalAlpha = 1;
}

function drawOrganism(context: CanvasRenderingContext2D, { x, y }: Organism, { scale, colour }: Brush): void {
  context.fillStyle = colour("--world-organism");
  context.beginPath();
  context.arc((x + 0.5) * scale, (y + 0.5) * scale, scale * 0.42, 0, 2 * Math.PI);
  context.fill();
}

function drawRing(context: CanvasRenderingContext2D, { x, y }: Organism, { scale, colour }: Brush): void {
  context.strokeStyle = colour("--world-ring");
  context.lineWidth = Math.max(2, scale / 6);
  context.beginPath();
  context.arc((x + 0.5) * scale, (y + 0.5) * scale, scale, 0, 2 * Math.PI);
  context.stroke();
}
