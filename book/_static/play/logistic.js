/**
 * Logistic regression as `macal.logistic` fits it for two arms: L-BFGS from zero, with the line search of Moré and Thuente,
 * step by step as SciPy takes them, so that both end at the same point and not only near the same minimum.
 */

import { dot } from "./ridge.js";

const MEMORY = 10,
  FLAT = 1e-4, // of each entry of the gradient, at the end
  LITTLE = 64 * Number.EPSILON; // fall of the loss at which it ends, too

const largest = (values) => values.reduce((most, v) => Math.max(most, Math.abs(v)), 0);

/** The next step between `x`, the best one, and `y`, by cubics and secants, of a convex function. */
function interpolated(x, y, now, bracket, low, high) {
  const gap = now.at - x.at,
    theta = (3 * (x.f - now.f)) / gap + x.g + now.g,
    s = largest([theta, x.g, now.g]),
    root = s * Math.sqrt(Math.max(0, (theta / s) ** 2 - (x.g / s) * (now.g / s)));
  if (now.f > x.f) {
    const gamma = gap < 0 ? -root : root,
      cubic = x.at + ((gamma - x.g + theta) / (gamma - x.g + gamma + now.g)) * gap,
      square = x.at + (x.g / ((x.f - now.f) / gap + x.g) / 2) * gap;
    return Math.abs(cubic - x.at) <= Math.abs(square - x.at) ? cubic : cubic + (square - cubic) / 2;
  }
  const gamma = gap > 0 ? -root : root,
    secant = now.at - (now.g / (now.g - x.g)) * gap,
    farther = (a, b) => (Math.abs(a - now.at) > Math.abs(b - now.at) ? a : b);
  if (now.g * x.g < 0) return farther(now.at - ((gamma - now.g + theta) / (gamma - now.g + gamma + x.g)) * gap, secant);
  const r = (gamma - now.g + theta) / (gamma + (x.g - now.g) + gamma),
    cubic = r < 0 && gamma !== 0 ? now.at - r * gap : gap > 0 ? high : low;
  if (!bracket) return Math.min(Math.max(farther(cubic, secant), low), high);
  const nearer = Math.abs(cubic - now.at) < Math.abs(secant - now.at) ? cubic : secant,
    most = now.at + 0.66 * (y.at - now.at);
  return gap > 0 ? Math.min(most, nearer) : Math.max(most, nearer);
}

/** A step along a descent, from `first`: {at: 0, f, g}, at which the function has fallen enough and is flat enough. */
function search(at, first, step) {
  const least = 1e-3 * first.g;
  let [x, y, low, high, bracket, early] = [first, first, 0, 5 * step, false, true],
    [width, before] = [1e10, 2e10];
  for (let tries = 0; tries < 50; tries++) {
    const now = at(step),
      most = first.f + step * least;
    if (now.f <= most && now.g >= 0) early = false;
    if (now.f <= most && Math.abs(now.g) <= -0.9 * first.g) return now;
    if (bracket && (step <= low || step >= high || high - low <= 0.1 * high)) return now;
    // far from enough: the fall beyond what is asked for decides
    const tilt = early && now.f <= x.f && now.f > most ? least : 0,
      [p, q, r] = [x, y, now].map((z) => ({ ...z, f: z.f - z.at * tilt, g: z.g - tilt }));
    const next = interpolated(p, q, r, bracket, low, high);
    bracket ||= r.f > p.f || r.g * p.g < 0;
    if (r.f > p.f) y = now;
    else [x, y] = [now, r.g * p.g < 0 ? x : y];
    step = next;
    if (bracket) {
      if (Math.abs(y.at - x.at) >= 0.66 * before) step = x.at + 0.5 * (y.at - x.at);
      [before, width] = [width, Math.abs(y.at - x.at)];
      [low, high] = [Math.min(x.at, y.at), Math.max(x.at, y.at)];
      if (step <= low || step >= high || high - low <= 0.1 * high) step = x.at;
    } else [low, high] = [step + 1.1 * (step - x.at), step + 4 * (step - x.at)];
  }
  return x;
}

/** Where a function of `d` numbers with values {f, gradient} is least. */
function minimum(loss, d) {
  let at = Array(d).fill(0),
    now = loss(at),
    past = [];
  while (largest(now.gradient) > FLAT) {
    const down = direction(now.gradient, past),
      along = (step) => {
        const place = at.map((v, k) => v + step * down[k]),
          there = loss(place);
        return { ...there, place, at: step, g: dot(there.gradient, down) };
      };
    const first = past.length ? 1 : 1 / Math.sqrt(dot(down, down));
    const next = search(along, { ...now, at: 0, g: dot(now.gradient, down) }, first);
    if (!next.place) return at;
    const y = next.gradient.map((v, k) => v - now.gradient[k]),
      s = down.map((v) => v * next.at),
      fall = now.f - next.f;
    past = [...past, { s, y, sy: dot(s, y) }].slice(-MEMORY);
    if (fall <= LITTLE * Math.max(Math.abs(now.f), Math.abs(next.f), 1)) return next.place;
    [at, now] = [next.place, next];
  }
  return at;
}

/** Minus the gradient, times what is known of the inverse of the second derivatives. */
function direction(gradient, past) {
  let q = gradient.map((v) => -v);
  const weights = past.toReversed().map(({ s, y, sy }) => {
    const a = dot(s, q) / sy;
    q = q.map((v, k) => v - a * y[k]);
    return a;
  });
  const { y, sy } = past.at(-1) ?? { y: [1], sy: 1 };
  q = q.map((v) => (v * sy) / dot(y, y));
  past.forEach((one, k) => {
    const rest = weights.at(-1 - k) - dot(one.y, q) / one.sy;
    q = q.map((v, j) => v + rest * one.s[j]);
  });
  return q;
}

/**
 * Chance of treatment.
 *
 * @param {Float64Array[]} z standardised covariates, a column each
 * @param {number[]} t arms of everybody
 * @param {number[]} known whose arms are learnt from
 * @param {number[]} asked whose chances are wanted
 * @param {number} strength of the penalty
 * @returns {number[]} of each of these
 */
export function treatmentChances(z, t, known, asked, strength) {
  const n = known.length,
    d = z.length;
  const scores = (at, units) => units.map((i) => z.reduce((sum, column, k) => sum + column[i] * at[k], at[d]));
  const loss = (at) => {
    const pull = scores(at, known).map((s, k) => {
      const top = Math.max(0, s),
        log = Math.log(Math.exp(-top) + Math.exp(s - top));
      const treated = t[known[k]];
      return [(treated ? s - top : -top) - log, (Math.exp(s - top - log) - treated) / n];
    });
    const slopes = at.slice(0, d);
    const gradient = z.map((column, k) => known.reduce((sum, i, j) => sum + pull[j][1] * column[i], (strength * slopes[k]) / n));
    gradient.push(pull.reduce((sum, [, p]) => sum + p, 0));
    return { f: (strength * dot(slopes, slopes)) / (2 * n) - pull.reduce((sum, [v]) => sum + v / n, 0), gradient };
  };
  return scores(minimum(loss, d + 1), asked).map((s) => 1 / (1 + Math.exp(-s)));
}
