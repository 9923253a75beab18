/** From the text of a CSV file to covariates: read, guessed, checked, and encoded as `macal.datasets.from_table` does. */

const MISSING = new Set(
  " |#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null"
    .split("|")
    .map((s) => s.trim()),
); // what pandas takes for it
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/;
const TRUTH = { true: 1, false: 0 };
const IDENTIFIER = /^(.*[_ .-])?(id|uuid|person|unit|name|key|index)$/i;
const TREATMENT = /treat|^t$|^w$|^arm$|free|expos|interven/i;
const OUTCOME = /^(y|outcome|answer|response)$/i;
const MOST_CATEGORIES = 20;
export const ROLES = ["covariate", "treatment", "identifier", "outcome", "left out"];

/** What is wrong with a table, in a sentence for the person who brought it. */
export class BadTable extends Error {}

/** Fields of each record; quotes as in RFC 4180. */
function records(text, separator) {
  const rows = [[""]];
  let quoted = false;
  for (let k = 0; k < text.length; k++) {
    const c = text[k],
      row = rows.at(-1);
    if (quoted && c === '"' && text[k + 1] === '"') row[row.length - 1] += text[k++];
    else if (c === '"' && (quoted || !row.at(-1))) quoted = !quoted;
    else if (quoted || ![separator, "\n", "\r"].includes(c)) row[row.length - 1] += c;
    else if (c === separator) row.push("");
    else if (c === "\n" || text[k + 1] !== "\n") rows.push([""]);
  }
  if (quoted)
    throw new BadTable("A quotation mark is opened and never closed; mend the file, or save it as CSV again.");
  return rows.filter((row) => row.length > 1 || row[0].trim());
}

/**
 * Read a CSV file, separated by commas, semicolons or tabs.
 *
 * @param {string} text
 * @returns {{name: string, values: string[]}[]} its columns, in order
 */
export function read(text) {
  text = text.replace(/^\ufeff/, "");
  const head = text.slice(0, text.search(/[\r\n]|$/));
  const separator = [",", ";", "\t"].sort((a, b) => head.split(b).length - head.split(a).length)[0];
  const [names, ...rows] = records(text, separator);
  if (!names || !rows.length)
    throw new BadTable("There are no rows; the file must have a line of names, then a line for each person.");
  const title = names.map((name, k) => name.trim() || `column ${k + 1}`);
  const twice = title.find((name, k) => title.indexOf(name) < k);
  if (twice) throw new BadTable(`Two columns are called "${twice}"; give each a name of its own.`);
  const ragged = rows.findIndex((row) => row.length !== names.length);
  if (ragged >= 0)
    throw new BadTable(
      `Line ${ragged + 2} has ${rows[ragged].length} fields, the line of names ${names.length}; mend that line, or put quotation marks around what holds a "${separator}".`,
    );
  return title.map((name, k) => ({ name, values: rows.map((row) => row[k].trim()) }));
}

const number = (text) => (NUMBER.test(text) ? Number(text) : NaN);
const isMissing = (text) => MISSING.has(text);

/** What a column holds: "number", "category", "text", "constant" or "nothing". */
export function kind({ values }) {
  const given = values.filter((v) => !isMissing(v));
  const different = new Set(given).size;
  if (!given.length) return "nothing";
  if (different === 1) return "constant";
  const numbers = given.filter((v) => NUMBER.test(v)).length;
  if (numbers === given.length) return "number";
  return different <= MOST_CATEGORIES && different < values.length && 2 * numbers <= given.length ? "category" : "text";
}

/** 0 and 1 of a treatment; NaN for what is neither. */
const arm = (text) => {
  const value = TRUTH[text.toLowerCase()] ?? number(text);
  return value === 0 || value === 1 ? value : NaN;
};
const isBinary = ({ values }) => new Set(values.map(arm)).size === 2 && !values.some((v) => isNaN(arm(v)));

/**
 * Guess the role of each column, one treatment and one identifier at most.
 *
 * @param {{name: string, values: string[]}[]} columns
 * @returns {string[]} one of ROLES for each
 */
export function guess(columns) {
  const unique = ({ values }) => new Set(values).size === values.length;
  const binary = columns.filter(isBinary);
  const treatment = binary.find(({ name }) => TREATMENT.test(name)) ?? binary[0];
  const rest = columns.filter((c) => c !== treatment);
  const named = (c) => unique(c) && (IDENTIFIER.test(c.name) || c.name === "column 1");
  const identifier = rest.find(named) ?? rest.find((c) => unique(c) && kind(c) === "text");
  const outcome = rest.find((c) => c !== identifier && OUTCOME.test(c.name));
  const roles = new Map([
    [treatment, "treatment"],
    [identifier, "identifier"],
    [outcome, "outcome"],
  ]);
  return columns.map((c) => roles.get(c) ?? (["number", "category"].includes(kind(c)) ? "covariate" : "left out"));
}

/** Sum in the order of NumPy's pairwise summation. */
function total(values, from = 0, n = values.length) {
  if (n < 8) {
    let sum = 0;
    for (let k = from; k < from + n; k++) sum += values[k];
    return sum;
  }
  if (n > 128) {
    const half = Math.floor(n / 2) - (Math.floor(n / 2) % 8);
    return total(values, from, half) + total(values, from + half, n - half);
  }
  const r = values.slice(from, from + 8);
  let k = 8;
  for (; k < n - (n % 8); k += 8) for (let j = 0; j < 8; j++) r[j] += values[from + k + j];
  let sum = r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
  for (; k < n; k++) sum += values[from + k];
  return sum;
}

/** What is left of the mean, over the standard deviation. */
function standardised(values) {
  if (values.every((v) => v === values[0])) return values.map(() => 0);
  const mean = total(values) / values.length;
  const centred = values.map((v) => v - mean);
  const middle = total(centred) / values.length; // not quite 0; the package takes the s.d. about it
  const spread = Math.sqrt(total(centred.map((v) => (v - middle) * (v - middle))) / values.length);
  return centred.map((v) => v / spread);
}

/** Strings by code points, as Python sorts them. */
function byCodePoints(a, b) {
  const [p, q] = [a, b].map((s) => [...s].map((c) => c.codePointAt(0)));
  const k = p.findIndex((c, j) => c !== q[j]);
  return k < 0 ? p.length - q.length : p[k] - (q[k] ?? -1);
}

/** A covariate as columns of numbers: one of a number, 0/1 columns of a category. */
function covariate(column) {
  const { name, values } = column,
    what = kind(column);
  const gaps = values.filter(isMissing).length;
  if (gaps)
    throw new BadTable(
      `"${name}" is missing in ${gaps} of ${values.length} rows, first in row ${values.findIndex(isMissing) + 1}; fill the gaps, drop those rows, or leave the column out.`,
    );
  if (what === "number" || (what === "constant" && NUMBER.test(values[0]))) {
    const numbers = Float64Array.from(values, Number);
    if (!numbers.every(Number.isFinite))
      throw new BadTable(
        `"${name}" holds a number too large for a computer; use a larger unit, or leave the column out.`,
      );
    return [{ name, values: standardised(numbers), plain: true }];
  }
  if (what === "text") {
    const odd = values.find((v) => !NUMBER.test(v));
    throw new BadTable(
      `"${name}" holds text, such as "${odd}", with ${new Set(values).size} different values; make it a number, group it into at most ${MOST_CATEGORIES} categories, or leave the column out.`,
    );
  }
  const known = [...new Set(values)].sort(byCodePoints);
  const shown = known.length === 2 ? known.slice(1) : known; // of two values, one says all
  return shown.map((value) => ({ name: `${name} = ${value}`, values: values.map((v) => Number(v === value)) }));
}

const only = (columns, roles, role) => columns.filter((_, k) => roles[k] === role);

function treatment(columns, roles) {
  const found = only(columns, roles, "treatment");
  if (found.length !== 1)
    throw new BadTable(
      `${found.length || "No"} columns are the treatment; choose one that holds 0 for control and 1 for treated.`,
    );
  const { name, values } = found[0],
    t = values.map(arm);
  const odd = t.findIndex(Number.isNaN);
  if (odd >= 0)
    throw new BadTable(
      `The treatment "${name}" must be 0 or 1, and row ${odd + 1} holds ${values[odd] ? `"${values[odd]}"` : "nothing"}; recode it, or choose another column.`,
    );
  if (new Set(t).size < 2)
    throw new BadTable(
      `All people in "${name}" are ${t[0] ? "treated" : "controls"}; an effect needs both arms, so choose another column or add the other arm.`,
    );
  return Uint8Array.from(t);
}

function identifiers(columns, roles, n) {
  const found = only(columns, roles, "identifier");
  if (found.length > 1) throw new BadTable(`${found.length} columns are the identifier; choose one.`);
  if (!found.length) return Array.from({ length: n }, (_, k) => String(k));
  const { name, values } = found[0],
    seen = new Set();
  const twice = values.find((v) => seen.size === seen.add(v).size);
  if (twice !== undefined)
    throw new BadTable(
      `The identifier "${name}" must name each person once, and ${twice ? `"${twice}"` : "an empty name"} is there more than once; choose another column, or none.`,
    );
  return values;
}

/**
 * Encode a table: numbers standardised, then categories as 0/1 columns.
 *
 * @param {{name: string, values: string[]}[]} columns
 * @param {string[]} roles one of ROLES for each
 * @returns {{x: Float64Array, t: Uint8Array, ids: string[], idName: string, labelled: number[], names: string[]}}
 *     covariates (n rows of d, one after the other), arms, people's names, those whose outcome is known, names of the d
 * @throws {BadTable} a role given twice or not at all, a missing value, free text, an arm that is empty
 */
export function encode(columns, roles) {
  const n = columns[0].values.length,
    t = treatment(columns, roles);
  const parts = only(columns, roles, "covariate").flatMap(covariate);
  if (!parts.length) throw new BadTable("No column is left to compare people by; make at least one a covariate.");
  const encoded = [...parts.filter((c) => c.plain), ...parts.filter((c) => !c.plain)];
  const x = Float64Array.from(
    { length: n * encoded.length },
    (_, k) => encoded[k % encoded.length].values[Math.floor(k / encoded.length)],
  );
  const outcomes = only(columns, roles, "outcome");
  if (outcomes.length > 1) throw new BadTable(`${outcomes.length} columns are the outcome; choose one, or none.`);
  const labelled = outcomes.flatMap(({ values }) => [...values.keys()].filter((k) => !isMissing(values[k])));
  if (labelled.length === n)
    throw new BadTable(
      `Every value of the outcome "${outcomes[0].name}" is known, so nobody is left to ask; empty the values that you do not have, or leave the column out.`,
    );
  const idName = only(columns, roles, "identifier")[0]?.name ?? "row";
  return { x, t, ids: identifiers(columns, roles, n), idName, labelled, names: encoded.map((c) => c.name) };
}

/** A CSV file of rows of fields. */
export function write(rows) {
  const field = (v) => (/[",\r\n]/.test(v) ? `"${String(v).replaceAll('"', '""')}"` : v);
  return rows.map((row) => row.map(field).join(",") + "\n").join("");
}
