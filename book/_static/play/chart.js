/** Small charts as SVG, in the colours of the page's theme; text stays text. */

const W = 420,
  H = 260,
  LEFT = 64,
  RIGHT = 12,
  TOP = 12,
  BOTTOM = 44;
const FORMAT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 }),
  EXACT = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** Text that cannot be taken for markup. */
export const escaped = (text) =>
  String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
/** A count or a sum of money, exactly. */
export const exact = (value) => EXACT.format(value);
/** A count exactly, any other number to three digits. */
export const said = (value) =>
  Number.isFinite(value) ? (Number.isInteger(value) ? EXACT : FORMAT).format(value) : "–";

/** Round numbers from low to high, about five. */
export function ticks(low, high) {
  const rough = (high - low || 1) / 5,
    power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9),
    last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}

function axes({ x, y, xLabel, yLabel, xRange, yRange }) {
  const across = ticks(...xRange).map(
    (v) => `<text x="${x(v)}" y="${H - BOTTOM + 18}" text-anchor="middle">${escaped(said(v))}</text>`,
  );
  const up = ticks(...yRange).map(
    (v) =>
      `<line class="grid" x1="${LEFT}" x2="${W - RIGHT}" y1="${y(v)}" y2="${y(v)}"/>` +
      `<text x="${LEFT - 6}" y="${y(v) + 4}" text-anchor="end">${escaped(said(v))}</text>`,
  );
  return [
    ...up,
    ...across,
    `<line class="axis" x1="${LEFT}" x2="${W - RIGHT}" y1="${H - BOTTOM}" y2="${H - BOTTOM}"/>`,
    `<text x="${(LEFT + W - RIGHT) / 2}" y="${H - 6}" text-anchor="middle">${escaped(xLabel)}</text>`,
    `<text transform="translate(13 ${(TOP + H - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${escaped(yLabel)}</text>`,
  ].join("");
}

const range = (values) => [Math.min(...values), Math.max(...values)];
const within = (v, [low, high]) => Math.min(Math.max(v, low), high);

/**
 * Lines, with intervals where they are given.
 *
 * @param {string} label what a reader sees, for those who do not
 * @param {{name: string, colour: string, dash?: string, points: number[][]}[]} series points are [x, y] or [x, y, low, high]
 * @param {{xLabel: string, yLabel: string, zero?: number, mark?: number, xRange?: number[], yRange?: number[]}} about `zero` and `mark` draw a line,
 *     at a height and across
 * @returns {string} a figure with its key
 */
export function lines(label, series, about) {
  const all = series.flatMap((s) => s.points),
    heights = all.flatMap((p) => p.slice(1)).filter(Number.isFinite);
  if (!heights.length) return `<figure class="chart"><p>Nothing to draw.</p></figure>`;
  const xRange = about.xRange ?? range(all.map((p) => p[0]));
  const yRange = about.yRange ?? range([...heights, about.zero ?? heights[0]]);
  const x = (v) => +(LEFT + ((v - xRange[0]) / (xRange[1] - xRange[0] || 1)) * (W - LEFT - RIGHT)).toFixed(1);
  const y = (v) =>
    +(H - BOTTOM - ((within(v, yRange) - yRange[0]) / (yRange[1] - yRange[0] || 1)) * (H - TOP - BOTTOM)).toFixed(1);
  const drawn = series.map((s) => {
    const seen = s.points.filter((p) => Number.isFinite(p[1]));
    const whole = seen.filter((p) => p.length > 3 && p.slice(2).every(Number.isFinite));
    const edge = [...whole.map((p) => `${x(p[0])},${y(p[3])}`), ...whole.reverse().map((p) => `${x(p[0])},${y(p[2])}`)];
    const path = seen.map((p) => `${x(p[0])},${y(p[1])}`).join(" ");
    return (
      (edge.length ? `<polygon points="${edge.join(" ")}" class="band" style="--c: ${s.colour}"/>` : "") +
      `<polyline points="${path}" class="line" style="--c: ${s.colour}" stroke-dasharray="${s.dash ?? "none"}"/>`
    );
  });
  const zero =
    about.zero === undefined
      ? ""
      : `<line class="zero" x1="${LEFT}" x2="${W - RIGHT}" y1="${y(about.zero)}" y2="${y(about.zero)}"/>`;
  const mark =
    about.mark === undefined
      ? ""
      : `<line class="zero" x1="${x(about.mark)}" x2="${x(about.mark)}" y1="${TOP}" y2="${H - BOTTOM}"/>`;
  return framed(label, axes({ ...about, x, y, xRange, yRange }) + zero + mark + drawn.join(""), series);
}

/** Shares of two groups, a bar for each name. */
export function shares(label, bars, groups) {
  const step = 62;
  const drawn = bars.map(({ name, counts }, k) => {
    const sum = counts[0] + counts[1],
      cut = (W - 24) * (counts[0] / sum),
      y = 34 + k * step;
    const words = counts.map((n, g) => `${said(n)} ${groups[g].name}`).join(", ");
    return (
      `<text x="12" y="${y - 7}">${escaped(name)}: ${escaped(words)}</text>` +
      `<rect x="12" y="${y}" width="${cut}" height="22" class="area" style="--c: ${groups[0].colour}"/>` +
      `<rect x="${12 + cut}" y="${y}" width="${W - 24 - cut}" height="22" class="area" style="--c: ${groups[1].colour}"/>`
    );
  });
  return framed(label, drawn.join(""), groups, step * bars.length + 12);
}

function framed(label, inside, series, height = H) {
  const key = series.map(
    (s) =>
      `<li><svg viewBox="0 0 26 10" aria-hidden="true"><line x1="0" x2="26" y1="5" y2="5" class="line" style="--c: ${s.colour}" ` +
      `stroke-dasharray="${s.dash ?? "none"}"/></svg>${escaped(s.name)}</li>`,
  );
  return (
    `<figure class="chart"><svg viewBox="0 0 ${W} ${height}" role="img" aria-label="${escaped(label)}">${inside}</svg>` +
    `<ul class="key">${key.join("")}</ul><figcaption>${escaped(label)}</figcaption></figure>`
  );
}
