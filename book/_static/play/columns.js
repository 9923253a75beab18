/** What a column holds, as `macal.tables` sees it: texts count as what they write. */

const MISSING = new Set(
  "|#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null".split("|"),
); // what pandas takes for it
const TRUTH = new Map(["False", "FALSE", "false", "True", "TRUE", "true"].map((text, k) => [text, Number(k > 2)]));
const NUMBER = /^[\t-\r ]*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[\t-\r ]*$|^[-+]?inf(inity)?$/i;
const CANONICAL = /^(0|-?[1-9]\d{0,17})$/; // a whole number as it is written, within 64 bits
const CODE = /^(0\d+|\d{19,})$/; // digits that are no number
const SPACE = /[^\S\ufeff]|[\x1c-\x1f\x85]/; // white space as Python has it
const DAY = /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:[T ](?<rest>.+))?$/s;
const HOURS =
  /(?<hour>\d\d|\d(?=:))(?:(?<colon>:?)(?<minute>\d\d?)(?:\k<colon>(?<second>\d\d?)(?:\.(?<part>\d{0,18}))?)?)?/;
const ZONE = /(?:[\t-\r ]*(?:Z|(?<sign>[-+])(?<far>\d\d|\d(?=:|$))(?:$|:?(?<further>\d\d?))))?[\t-\r ]*/;
const TIME = new RegExp(`^${HOURS.source}${ZONE.source}$`);
export const FEW = 20, // values of a text that are categories however few the rows
  MANY = 100; // and at most

export const isMissing = (text) => MISSING.has(text);
export const isNumber = (text) => NUMBER.test(text);

/** The number that a text writes. */
function number(text) {
  return /i/i.test(text) ? (text[0] === "-" ? -Infinity : Infinity) : Number(text);
}

/**
 * The time that a text writes: the day, nanoseconds from its beginning, and whether it counts more than microseconds.
 *
 * @returns {[number, number, boolean] | null} null where it writes none
 */
function time(text) {
  const { year, month, day, rest } = DAY.exec(text)?.groups ?? {};
  const clock = rest === undefined ? { hour: 0 } : TIME.exec(rest)?.groups;
  if (!year || !clock) return null;
  const { hour, colon, minute = "00", second = "00", part = "", sign, far = 0, further = 0 } = clock;
  const start = new Date(0);
  start.setUTCFullYear(year, month - 1, day);
  if (start.getUTCMonth() !== month - 1 || start.getUTCDate() !== Number(day)) return null;
  if (hour > 23 || minute > 59 || second > 59 || far > 23 || further > 59) return null;
  if (!colon && minute.length + second.length < 4) return null;
  if (part.length > 6 && !(year > 1677 && year < 2262)) return null; // nanoseconds reach no further
  const minutes = 60 * hour + Number(minute) - (60 * far + Number(further)) * (sign === "-" ? -1 : 1);
  const nanoseconds = (60 * minutes + Number(second)) * 1e9 + Number(part.slice(0, 9).padEnd(9, "0"));
  return [start.getTime() / 864e5, nanoseconds, part.length > 6];
}

const KNOWN = new WeakMap();

/**
 * What a column holds.
 *
 * @param {{name: string, values: string[]}} column
 * @returns {{gaps: number, family: string, different: number, constant: boolean, canonical: boolean, code: boolean,
 *     spaced: boolean, cells: (number | string | null)[]}} missing cells; "nothing", "truth", "integer", "number",
 *     "date" or "text"; different texts, missing ones as one; whether all are whole numbers as they are written, or
 *     digits that are no number; whether a text has white space; cells as what they write, null where missing
 */
export function held(column) {
  if (!KNOWN.has(column)) KNOWN.set(column, summarised(column.values));
  return KNOWN.get(column);
}

function summarised(values) {
  const texts = [...new Set(values)].filter((v) => !isMissing(v)),
    gaps = values.filter(isMissing).length,
    every = (pattern) => texts.every((v) => pattern.test(v));
  const about = { gaps, different: texts.length + (gaps > 0), canonical: false, code: false, spaced: false };
  const as = (family, meaning, more) => {
    const cells = values.map((v) => (isMissing(v) ? null : meaning(v)));
    return { ...about, family, constant: about.different === 1, cells, ...more };
  };
  const itself = (v) => v;
  if (!texts.length) return as("nothing", itself);
  if (texts.every((v) => TRUTH.has(v))) return as("truth", gaps ? itself : (v) => TRUTH.get(v));
  if (every(NUMBER)) {
    const numbers = texts.map(number),
      constant = !gaps && numbers.every((v) => v === numbers[0]);
    const more = { constant, canonical: every(CANONICAL), code: every(CODE) };
    return as(numbers.every(Number.isInteger) ? "integer" : "number", number, more);
  }
  if (texts.every(time)) return as("date", itself);
  return as("text", itself, { spaced: texts.some((v) => SPACE.test(v)) });
}

export const isNumeric = (column) => ["integer", "number"].includes(held(column).family);

/** Whether a number lost digits as a float, as whole numbers beyond 2^53 may. */
export function losesDigits(column) {
  const { canonical, gaps } = held(column);
  return canonical && !gaps && column.values.some((v) => v.length > 15 && BigInt(v.replace("-", "")) > 2n ** 53n);
}

/** Whether two columns hold the same, cell by cell. */
export function areAlike(one, other) {
  const [a, b] = [held(one), held(other)];
  if (a.family !== b.family) return false;
  const written = a.canonical && b.canonical && !a.gaps && !b.gaps; // whole numbers, to the last digit
  const [p, q] = written ? [one.values, other.values] : [a.cells, b.cells];
  return p.every((v, k) => v === q[k]);
}

/** Dates without a gap as days since the first one. */
export function days(column) {
  const times = column.values.map(time),
    second = times.some(([, , fine]) => fine) ? 1e9 : 1e6; // pandas counts in microseconds where they do
  const since = (one, other) => (one[0] - other[0]) * 86400 * second + (one[1] - other[1]) / (1e9 / second);
  const first = times.reduce((least, one) => (since(one, least) < 0 ? one : least));
  return Float64Array.from(times, (one) => since(one, first) / (86400 * second));
}

/** "number", "category" or "date" of what may be a covariate; else why it may not. */
export function kind(column) {
  const { family, constant, different } = held(column),
    n = column.values.length;
  if (constant) return "constant";
  if (family === "truth") return "category";
  if (isNumeric(column)) return "number";
  if (family === "date") return "date";
  if ((different <= FEW && n > FEW) || (different <= MANY && different <= n / 5)) return "category";
  return `free text (${different > MANY ? `more than ${MANY}` : different} different values)`;
}
