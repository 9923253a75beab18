/** CSV files, read as `macal` reads them: every cell is text as it is written, but for the marks of a missing one. */

import { isLike, isMissing, isWord, withoutWords } from "./columns.js";

/** What is wrong with a table, in a sentence for the person who brought it. */
export class BadTable extends Error {}

const NOTHING = /^[ \t]*$/; // a line that is passed over

/** Fields of each record. A quotation mark inside a field that does not begin with one is a character as any other. */
function records(text, separator) {
  const rows = [[]];
  let field = "",
    from = 0; // where the line begins
  for (let k = 0; ; k++) {
    const c = text[k];
    if (c === '"' && !field && (k === from || text[k - 1] === separator)) {
      for (k++; text[k] !== '"' || text[k + 1] === '"'; k++) {
        if (k >= text.length)
          throw new BadTable("A quotation mark is never closed; correct the file, or save it as CSV again.");
        field += text[k];
        if (text[k] === '"') k++;
      }
    } else if (c === separator || c === "\n" || c === "\r" || c === undefined) {
      rows.at(-1).push(field);
      field = "";
      if (c === separator) continue;
      if (NOTHING.test(text.slice(from, k))) rows.pop();
      if (c === undefined) return rows;
      if (c === "\r" && text[k + 1] === "\n") k++;
      from = k + 1;
      rows.push([]);
    } else field += c;
  }
}

/** The text of a file, which must be UTF-8. */
export function decoded(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new BadTable("The file is not text in UTF-8; save it as CSV in UTF-8. The page reads no other kind of file.");
  }
}

function isJson(text) {
  try {
    return /^\s*[{[]/.test(text) && typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

const HEADS = 2; // lines after that of the names that may name the columns again

/** How many of the first rows have words where all further ones have numbers, or ids of questions. */
function moreHeads(title, rows) {
  const [first, rest] = [rows.slice(0, HEADS), rows.slice(HEADS, 20)],
    ids = first.findIndex((row) => row.some((v) => v) && row.every((v) => !v || v.startsWith('{"ImportId"')));
  if (ids >= 0) return ids + 1;
  const isNumeric = (texts) => texts.length > 2 && texts.every(isLike),
    numeric = [...title.keys()].filter((k) => isNumeric(rest.map((row) => row[k]).filter((v) => v)));
  const isHead = (row) => {
    const cells = numeric.map((k) => row[k]);
    const areWords = cells.every((v) => !isMissing(v) && !isWord(v) && !isLike(v));
    return areWords && new Set(cells).size > 1 && row.some((v, k) => v !== title[k]);
  };
  if (numeric.length < 2) return 0;
  return first.every(isHead) ? first.length : first.findIndex((row) => !isHead(row));
}

/**
 * Read a CSV file, separated by commas, semicolons, tabs, or as a first line `sep=` says.
 *
 * @param {string} text
 * @returns {{name: string, values: string[]}[]} its columns, in order
 */
export function read(text) {
  if (isJson(text))
    throw new BadTable(
      "The file is JSON, a campaign perhaps, and not a table; continue a campaign with macal observe and macal replan.",
    );
  text = text.replace(/^\ufeff/, "");
  const said = text.match(/^"?sep=([^"\r\n])"?[ \t]*(\r\n|\r|\n)/) ?? [""];
  text = text.slice(said[0].length).replace(/^([ \t]*[\r\n])+/, "");
  const head = text.match(/^("[^"]*"|[^"\r\n])*/)[0].replace(/"[^"]*"/g, "");
  const separator = said[1] ?? [",", ";", "\t"].sort((a, b) => head.split(b).length - head.split(a).length)[0];
  const [names, ...rows] = records(text, separator);
  if (!names || !rows.length)
    throw new BadTable("There are no rows; the file must have a header, then a line for each person.");
  const title = names.map((name, k) => name || `Unnamed: ${k}`);
  const twice = title.find((name, k) => title.indexOf(name) < k);
  if (twice) throw new BadTable(`Two columns are called "${twice}"; rename one.`);
  const ragged = rows.findIndex((row) => row.length !== names.length);
  if (ragged >= 0)
    throw new BadTable(
      `Line ${ragged + 2} has ${rows[ragged].length} fields, the line of names ${names.length}; correct that line, or put quotation marks around what holds a "${separator}".`,
    );
  const more = moreHeads(title, rows);
  if (more)
    throw new BadTable(
      `The file has more than one header line, also "${rows[0].find((v) => v)}"; remove the ${more > 1 ? "two lines" : "line"} below the names.`,
    );
  const columns = title.map((name, k) => ({ name, values: withoutWords(rows.map((row) => row[k]), name) })),
    people = rows.map((row, i) => columns.some(({ values }) => !isMissing(values[i])) && row.some((v, k) => v !== title[k]));
  if (!people.some((is) => is)) throw new BadTable("There are no rows; each holds nothing, or the names of the columns.");
  return columns.map(({ name, values }) => ({ name, values: values.filter((_, i) => people[i]) }));
}

/** A CSV file of rows of fields. */
export function write(rows) {
  const field = (v) => (/[",\r\n]/.test(v) ? `"${String(v).replaceAll('"', '""')}"` : v);
  return rows.map((row) => row.map(field).join(",") + "\n").join("");
}
