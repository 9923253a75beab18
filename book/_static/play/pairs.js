/**
 * *When do pairs pay*, on *Why pairing helps*: the expected squared error of the effect, in closed form.
 *
 * J = s1^2 R1 + s0^2 R0 - 2 rho s1 s0 Cross + v (|w1|^2 + |w0|^2), means over targets on a circle of circumference 8. One
 * ridge regression with a Matern-3/2 kernel of length 1, of the distance in the plane, serves both arms; its penalty is
 * the noise. s1^2 + s0^2 = 2. On a line, controls that are moved leave an end uncovered, and pairs seem to pay at rho = 0.
 */

import { lines } from "./chart.js";
import { dot, factor, matern32, solve } from "./ridge.js";

const AROUND = 8,
  TARGETS = 80; // at least
const LEAST = 1e-6; // of the penalty, where there is no noise

const spread = (n) => Array.from({ length: n }, (_, k) => (AROUND * k) / n);
const kernel = (a, b) => matern32((AROUND / Math.PI) * Math.abs(Math.sin(((a - b) * Math.PI) / AROUND))); // of the chord
const gram = (a, b) => a.map((p) => b.map((q) => kernel(p, q)));
const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;

/** Weights of the labels at each target. */
function weights(targets, places, penalty) {
  const root = factor(gram(places, places).map((row, i) => row.map((v, j) => v + (i === j ? penalty : 0))));
  return targets.map((target) =>
    solve(
      root,
      places.map((place) => kernel(place, target)),
    ),
  );
}

/**
 * What a design leaves of the surfaces, mean over targets.
 *
 * @param {number} labels in each arm, at least 1
 * @param {number} shift of the controls, in steps between two treated units
 * @param {number} noise variance of a label's noise
 * @returns {{one: number, zero: number, cross: number, noise: number}} as `theory.pairing.Residuals` of the package
 */
export function residuals(labels, shift, noise) {
  // an even number in each gap, so that half a step moves the targets onto each other
  const targets = spread(2 * labels * Math.ceil(TARGETS / (2 * labels))),
    one = spread(labels),
    zero = one.map((v) => v + (shift * AROUND) / labels);
  const penalty = Math.max(noise, LEAST),
    w1 = weights(targets, one, penalty),
    w0 = weights(targets, zero, penalty);
  const product = (a, x, b, y) => {
    const between = gram(x, y);
    return mean(
      targets.map(
        (target, g) =>
          1 -
          dot(
            a[g],
            x.map((p) => kernel(p, target)),
          ) -
          dot(
            b[g],
            y.map((p) => kernel(p, target)),
          ) +
          dot(
            a[g],
            between.map((row) => dot(row, b[g])),
          ),
      ),
    );
  };
  const squares = (w) => mean(w.map((row) => dot(row, row)));
  return {
    one: product(w1, one, w1, one),
    zero: product(w0, zero, w0, zero),
    cross: product(w1, one, w0, zero),
    noise: squares(w1) + squares(w0),
  };
}

/** Expected squared error: a constant, and what is multiplied by rho. */
export function parts({ one, zero, cross, noise: spent }, r, noise) {
  const zeroScale = 2 / (1 + r * r),
    scale = r * zeroScale; // s0^2, s1 s0
  return [r * r * zeroScale * one + zeroScale * zero + noise * spent, -2 * scale * cross];
}

export const error = (labels, shift, rho, r, noise) => {
  const [own, shared] = parts(residuals(labels, shift, noise), r, noise);
  return own + rho * shared;
};

const SHIFTS = Array.from({ length: 11 }, (_, k) => k / 20);
const RHOS = Array.from({ length: 41 }, (_, k) => (k - 20) / 20);
const PAIRED = { name: "pairs", colour: "#CC3377" },
  APART = { name: "half a step apart", colour: "#0072B2", dash: "7 4" };

const signed = (value) => (Math.round(100 * value) / 100 + 0).toFixed(2).replace("-", "−"); // no minus before 0.00

function show(root) {
  const form = root.querySelector("form").elements,
    at = (name) => root.querySelector(`[data-at="${name}"]`);
  const rho = +form.rho.value,
    r = 2 ** +form.r.value,
    noise = (+form.noise.value) ** 2,
    labels = +form.labels.value;
  const words = {
    rho: signed(rho),
    r: r < 1 ? `1 : ${(1 / r).toFixed(1)}` : `${r.toFixed(1)} : 1`,
    noise: (+form.noise.value).toFixed(2),
    labels,
  };
  for (const [name, text] of Object.entries(words)) {
    at(name).textContent = text;
    form[name].setAttribute("aria-valuetext", text);
  }
  const designs = SHIFTS.map((shift) => parts(residuals(labels, shift, noise), r, noise));
  const [paired, apart] = [designs[0], designs.at(-1)],
    now = ([own, shared]) => own + rho * shared;
  const change = 100 * (now(paired) / now(apart) - 1),
    even = (apart[0] - paired[0]) / (paired[1] - apart[1]);
  const where =
    even >= 1
      ? "at no correlation do they pay"
      : even <= -1
        ? "they pay at every correlation"
        : `they pay if the correlation is above ${signed(even)}`;
  const told =
    Math.abs(change) < 0.5
      ? "Pairs change the squared error by less than half a per cent here"
      : `Pairs ${change < 0 ? "save" : "cost"} ${Math.abs(change).toFixed(0)}% of the squared error here`;
  at("answer").textContent = `${told}; ${where}.`;
  const curve = ([own, shared]) => RHOS.map((v) => [v, own + v * shared]);
  at("charts").innerHTML =
    lines(
      "Expected squared error by correlation of the surfaces; the line across marks the one chosen.",
      [
        { ...PAIRED, points: curve(paired) },
        { ...APART, points: curve(apart) },
      ],
      { xLabel: "correlation of the surfaces", yLabel: "squared error", zero: 0, mark: rho },
    ) +
    lines(
      "Expected squared error, as the controls are moved away from their counterparts.",
      [{ name: "controls moved", colour: "#008060", points: SHIFTS.map((v, k) => [v, now(designs[k])]) }],
      { xLabel: "moved by, in steps", yLabel: "squared error", zero: 0 },
    );
}

const root = document.getElementById("pairs");
if (root) {
  root.querySelector("form").addEventListener("input", () => show(root));
  show(root);
}
