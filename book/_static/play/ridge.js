/** Kernel ridge regression, as far as the pages need it: a kernel, a Cholesky factor, a solution. */

/** Matern kernel of smoothness 3/2 and length scale 1, at a distance. */
export const matern32 = (distance) => {
  const r = Math.sqrt(3) * distance;
  return (1 + r) * Math.exp(-r);
};
export const dot = (a, b) => a.reduce((sum, v, k) => sum + v * b[k], 0);

/** Lower Cholesky factor. */
export function factor(matrix) {
  const root = matrix.map((row) => row.map(() => 0));
  matrix.forEach((row, i) => {
    for (let j = 0; j <= i; j++) {
      const rest = row[j] - dot(root[i].slice(0, j), root[j].slice(0, j));
      root[i][j] = i === j ? Math.sqrt(rest) : rest / root[j][j];
    }
  });
  return root;
}

/** Solve root root' w = b. */
export function solve(root, b) {
  const n = b.length,
    half = [],
    w = Array(n).fill(0);
  for (let i = 0; i < n; i++) half.push((b[i] - dot(root[i].slice(0, i), half)) / root[i][i]);
  for (let i = n - 1; i >= 0; i--) {
    let rest = half[i];
    for (let k = i + 1; k < n; k++) rest -= root[k][i] * w[k];
    w[i] = rest / root[i][i];
  }
  return w;
}
