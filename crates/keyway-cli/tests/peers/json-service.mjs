// VS Code's JSON service, as an editor drives it.
// Usage: node json-service.mjs MODULES < REQUEST
// The request has `folder`, the address of the opened folder; `schemas`, in the form of the setting `json.schemas`;
// `files`, texts by address, all that can be fetched; and `documents` with `uri` and `text`, in which `‸` is the cursor.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.argv[2], "none.js"));
const { getLanguageService, TextDocument } = require("vscode-json-languageservice");
const { parse } = require("jsonc-parser");
const request = JSON.parse(readFileSync(0, "utf8"));
const absolute = (address) => new URL(address, request.folder).href;

const service = getLanguageService({
  workspaceContext: { resolveRelativePath: (relative, resource) => new URL(relative, resource).href },
  schemaRequestService: async (address) => {
    const text = request.files?.[address];
    if (text === undefined) throw new Error(`cannot fetch ${address}`);
    return text;
  },
});
const schemas = (request.schemas ?? []).map(({ fileMatch, url, schema }) => ({ fileMatch, schema, uri: absolute(url) }));
service.configure({ validate: true, schemas });

const answers = [];
for (const { uri, text } of request.documents) {
  const cursor = text.indexOf("‸");
  const document = TextDocument.create(uri, "jsonc", 1, text.replace("‸", ""));
  const json = service.parseJSONDocument(document);
  // As for a file of the language "JSON with comments".
  const found = await service.doValidation(document, json, { comments: "ignore", trailingCommas: "ignore" });
  const faults = found.map(({ message, range }) => ({ message, at: document.getText(range) }));
  const list = cursor < 0 ? null : await service.doComplete(document, document.positionAt(cursor), json);
  const offered = list?.items.map((item) => item.label) ?? [];
  const errors = [];
  const value = parse(document.getText(), errors, { allowTrailingComma: true });
  answers.push({ faults, offered, errors: errors.length, value });
}
process.stdout.write(JSON.stringify(answers));
