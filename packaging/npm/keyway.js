#!/usr/bin/env node
// Starts the native program of the platform package that npm installed beside this one.
//
// Node.js stays in memory beside it and costs a start: what `keyway install` writes into clients is the
// native program's own path, and this file is not on it.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

// glibc says its version in the report; musl says nothing.
process.report.excludeNetwork = true;
const isMusl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
const musl = isMusl ? "-musl" : "";
const name = `keyway-mcp-${process.platform}-${process.arch}${musl}`;

let program;
try {
  program = require.resolve(`${name}/bin/keyway`);
} catch {
  console.error(`error: the package \`${name}\` is not installed`);
  console.error("");
  console.error("hint: install again without `--omit=optional`; if npm has no such package, this platform has no binary yet");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`error: cannot start \`${program}\`: ${error.message}`);
  process.exit(1);
});
// The terminal signals both; a client signals this process alone, and Keyway decides how to end.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("exit", (code, signal) => {
  process.exitCode = signal ? 128 + constants.signals[signal] : code;
});
