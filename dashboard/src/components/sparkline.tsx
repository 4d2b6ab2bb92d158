const width = 120;
const height = 28;

/** A small curve of the recent past, the newest value at the right. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  if (values.length < 2)
    return <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} aria-hidden="true" />;
  const max = Math.max(...values, 1);
  const points = values.map((value, index) => {
    const x = (index / (values.length - 1)) * width;
    const y = height - 2 - (value / max) * (height - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img">
      <title>{label}</title>
      <polygon points={`0,${height} ${points.join(" ")} ${width},${height}`} />
      <polyline points={points.join(" ")} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
