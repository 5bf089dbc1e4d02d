// Keyway and mcp-remote on the same tests, against the same server; prints the table as Markdown.
//
//   node bench/rivals.mjs KEYWAY OAUTH_RIG MCP_REMOTE_PROXY_JS [TEST...]
//
// `cargo xtask rivals` builds and finds all three. Each test gets a rig, a home and a browser of its
// own. A window is a start of the program in `BROWSER`; a person agrees there, or no one sits there.
// `cost` is a test as well: how long a signed-in call takes from start to answer.

import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const [keywayProgram, rigProgram, proxyProgram] = process.argv.slice(2, 5).map((path) => resolve(path));
const chosen = process.argv.slice(5);
/** How long a call may take, in milliseconds. */
const LIMIT = 45_000;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** A rig of one's own. */
async function startRig() {
  const child = spawn(rigProgram, { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await new Promise((done) => createInterface(child.stdout).once("line", (line) => done([line])));
  const { mcp, control } = JSON.parse(line);
  const json = async (path, options) => (await fetch(control + path, options)).text();
  return {
    mcp,
    set: (levers) => json("/_control", { method: "POST", body: JSON.stringify(levers) }),
    reset: () => json("/_reset", { method: "POST" }),
    forget: () => json("/_journal", { method: "DELETE" }),
    journal: async () => JSON.parse(await json("/_journal")),
    families: async () => JSON.parse(await json("/_families")),
    end: () => child.stdin.end(),
  };
}

/** A home with a browser in it. */
function home() {
  const folder = mkdtempSync(join(tmpdir(), "keyway-peers-"));
  mkdirSync(join(folder, "home"));
  const browser = join(folder, "browser");
  writeFileSync(browser, `#!/bin/sh\nprintf '%s\\n' "$1" >> '${folder}/windows'\n`);
  chmodSync(browser, 0o755);
  writeFileSync(join(folder, "windows"), "");
  const windows = () => readFileSync(join(folder, "windows"), "utf8").split("\n").filter(Boolean);
  let seen = 0;
  let agrees = true;
  const person = setInterval(() => {
    const all = windows();
    for (; seen < all.length; seen++) if (agrees) fetch(all[seen]).catch(() => {});
  }, 20);
  return {
    folder,
    windows,
    env: { PATH: process.env.PATH, HOME: join(folder, "home"), BROWSER: browser },
    agree: (does) => { agrees = does; },
    end: () => { clearInterval(person); rmSync(folder, { recursive: true, force: true }); },
  };
}

/** Starts a program; `talk` gets it and says when the answer is there. */
function start(command, options, talk) {
  const began = performance.now();
  const child = spawn(command[0], command.slice(1), { ...options, stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  child.stderr.on("data", (data) => { output += data; });
  const ended = new Promise((done) => child.once("close", (code) => done(code)));
  const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT);
  const finished = (async () => {
    const ok = await Promise.race([talk(child), ended.then(() => false)]);
    const ms = performance.now() - began;
    child.stdin.end();
    const gone = await Promise.race([ended, sleep(1500)]);
    if (gone === undefined) child.kill("SIGKILL");
    clearTimeout(limit);
    return { ok, ms, output };
  })();
  return finished;
}

const keyway = {
  name: "Keyway",
  call(place, rig) {
    const file = join(place.folder, ".mcp.json");
    if (!existsSync(file)) writeFileSync(file, JSON.stringify({ s: { type: "http", url: rig.mcp } }));
    const env = { ...place.env, KEYWAY_HOME: join(place.folder, "home/keyway") };
    const command = [keywayProgram, "call", "s", "echo", "message=hello"];
    return start(command, { cwd: place.folder, env }, (child) => new Promise((done) => {
      let text = "";
      child.stdout.on("data", (data) => {
        text += data;
        if (text.includes("Echo: hello")) done(true);
      });
    }));
  },
};

const mcpRemote = {
  name: "mcp-remote 0.15.1",
  call(place, rig) {
    const env = { ...place.env, MCP_REMOTE_CONFIG_DIR: join(place.folder, "home/mcp-auth") };
    const command = [process.execPath, proxyProgram, rig.mcp, "--allow-http"];
    return start(command, { cwd: place.folder, env }, (child) => new Promise((done) => {
      const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
      child.stdin.on("error", () => {});
      createInterface(child.stdout).on("line", (line) => {
        let message;
        try { message = JSON.parse(line); } catch { return; }
        if (message.id === 1 && message.result) {
          send({ method: "notifications/initialized" });
          send({ id: 2, method: "tools/call", params: { name: "echo", arguments: { message: "hello" } } });
        } else if (message.id === 1 || message.id === 2) {
          done(JSON.stringify(message).includes("Echo: hello"));
        }
      });
      const clientInfo = { name: "peers", version: "1" };
      send({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
    }));
  },
};

const refreshes = (journal) => journal.filter((seen) => seen.request.body.includes("grant_type=refresh_token")).length;
const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

async function waitForWindow(place, count = 1) {
  for (let i = 0; i < 1500 && place.windows().length < count; i++) await sleep(20);
  return place.windows()[count - 1];
}

async function forged(query, client, place, rig) {
  // As most servers are: where the answer names its issuer, some attacks end earlier.
  await rig.set({ iss: "absent" });
  place.agree(false);
  const call = client.call(place, rig);
  const window = await waitForWindow(place);
  if (!window) return `no window; ${(await call).output.slice(-200)}`;
  const back = new URL(window).searchParams.get("redirect_uri");
  const answer = await fetch(back + query, { redirect: "manual" }).then((r) => r.status, () => "no answer");
  await sleep(1000);
  const sent = (await rig.journal()).some((seen) => seen.request.path === "/token" && seen.request.body.includes("EVIL"));
  await fetch(window).catch(() => {});
  const { ok } = await call;
  return [`answered ${answer}`, sent ? "**forged code sent to the token endpoint**" : null,
    ok ? "the real one completes" : "**sign-in fails**"].filter(Boolean).join("; ");
}

async function signIn(client, place, rig) {
  place.agree(true);
  const { ok, output } = await client.call(place, rig);
  if (!ok) throw new Error(`${client.name} cannot sign in: ${output.slice(-500)}`);
  place.agree(false);
}

async function together(client, place, rig, count) {
  const before = place.windows().length;
  await rig.forget();
  const calls = await Promise.all(Array.from({ length: count }, () => client.call(place, rig)));
  const ok = calls.filter((call) => call.ok).length;
  const revoked = (await rig.families()).some((family) => family.ended === "reuse");
  const used = refreshes(await rig.journal());
  return [many(used, "refresh").replace("refreshs", "refreshes"), many(place.windows().length - before, "window"),
    revoked ? "**sign-in revoked by the server**" : null, `${ok} of ${count} calls succeed`].filter(Boolean).join(", ");
}

const tests = {
  T1: ["forged callback `?code=EVIL` while sign-in is pending", (...a) => forged("?code=EVIL", ...a)],
  T2: ["forged callback `?code=EVIL&state=nope`", (...a) => forged("?code=EVIL&state=nope", ...a)],
  T3: ["forged callback `?error=access_denied`", (...a) => forged("?error=access_denied", ...a)],
  T4: ["4 processes, token expired, token endpoint takes 3 s, unattended", async (client, place, rig) => {
    await rig.set({ expires_in: 2 });
    await signIn(client, place, rig);
    await sleep(2500);
    await rig.set({ expires_in: 3600, token_delay: 3000 });
    return together(client, place, rig, 4);
  }],
  T5: ["4 processes, token refused before its time, token endpoint takes 3 s, unattended", async (client, place, rig) => {
    await signIn(client, place, rig);
    await rig.reset();
    await rig.set({ token_delay: 3000 });
    return together(client, place, rig, 4);
  }],
  T6: ["token endpoint answers 503 during a refresh, unattended", async (client, place, rig) => {
    await signIn(client, place, rig);
    const before = place.windows().length;
    await rig.reset();
    await rig.set({ token_status: 503 });
    const failed = await client.call(place, rig);
    const opened = place.windows().length - before;
    await rig.set({ token_status: null });
    const again = await client.call(place, rig);
    const asked = place.windows().length - before - opened;
    const end = failed.ms > LIMIT - 1000 ? `still waits after ${LIMIT / 1000} s` : `fails after ${(failed.ms / 1000).toFixed(1)} s`;
    return `${many(opened, "window")}, ${end}; ` +
      (again.ok && asked === 0 ? "the next call succeeds" : `**the next call ${again.ok ? "" : "fails and "}opens ${many(asked, "window")}**`);
  }],
  T7: ["server refuses every token", async (client, place, rig) => {
    await rig.set({ rejects_all: true });
    place.agree(true);
    const { ok } = await client.call(place, rig);
    return `${many(place.windows().length, "window")}, ${ok ? "succeeds" : "stops"}`;
  }],
  T8: ["metadata names another issuer", async (client, place, rig) => {
    await rig.set({ issuer: "http://127.0.0.1:9" });
    place.agree(true);
    await client.call(place, rig);
    const got = (await rig.journal()).some((seen) => seen.request.path === "/token" && seen.status === 200);
    return got ? "**accepted, token obtained**" : "refused";
  }],
};

async function one(test, client) {
  const [place, rig] = [home(), await startRig()];
  try { return await test(client, place, rig); } catch (error) { return `error: ${error.message}`; } finally { rig.end(); place.end(); }
}

async function cost(runs = 15) {
  const desks = [];
  for (const client of [keyway, mcpRemote]) {
    const [place, rig] = [home(), await startRig()];
    await signIn(client, place, rig);
    await rig.forget();
    desks.push({ client, place, rig, times: [] });
  }
  for (let i = 0; i < runs; i++) {
    for (const { client, place, rig, times } of desks) times.push((await client.call(place, rig)).ms);
  }
  console.log(`\nA signed-in call, from start to answer, median of ${runs} interleaved runs:\n`);
  console.log("| | time | requests for OAuth | windows |\n|---|---|---|---|");
  for (const { client, place, rig, times } of desks) {
    const median = times.sort((a, b) => a - b)[times.length >> 1];
    const asked = (await rig.journal()).filter((seen) => seen.request.path !== "/mcp").length;
    console.log(`| ${client.name} | ${median.toFixed(1)} ms | ${asked} | ${place.windows().length - 1} |`);
    rig.end();
    place.end();
  }
}

const wanted = (name) => chosen.length === 0 || chosen.includes(name);
console.log(`| # | test | ${keyway.name} | ${mcpRemote.name} |\n|---|---|---|---|`);
for (const [name, [title, test]] of Object.entries(tests)) {
  if (!wanted(name)) continue;
  const [ours, theirs] = [await one(test, keyway), await one(test, mcpRemote)];
  console.log(`| ${name} | ${title} | ${ours} | ${theirs} |`);
  // What could not be tested is no result.
  if ([ours, theirs].some((cell) => /^(error|no window)/.test(cell))) process.exitCode = 1;
}
if (wanted("cost")) await cost();
