// Keyway, mcp-remote and Codex while a token is renewed slowly, in a process that is stopped, and
// with a clock that is wrong; prints the table of docs/reliability.md as Markdown.
//
//   cargo xtask rivals --refresh [TEST...]
//   node bench/refresh.mjs KEYWAY OAUTH_RIG MCP_REMOTE_PROXY_JS CODEX [TEST...]
//
// The server rotates refresh tokens and revokes a sign-in whose token comes twice. Each test gets a
// rig and a home of its own: a person signs in, the access token is refused, and something goes wrong
// while it is renewed. Then nothing does any more, and no person is there to agree: is the sign-in
// kept?

import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const [keywayProgram, rigProgram, proxyProgram, codexProgram] = process.argv.slice(2, 6).map((path) => resolve(path));
const chosen = process.argv.slice(6);
/** How long a client waits for an answer, in milliseconds: as the official SDKs do. */
const LIMIT = 60_000;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const lines = (stream, each) => createInterface(stream).on("line", each);

async function startRig() {
  const child = spawn(rigProgram, { stdio: ["pipe", "pipe", "inherit"] });
  const line = await new Promise((done) => createInterface(child.stdout).once("line", done));
  const { mcp, control } = JSON.parse(line);
  const text = async (path, options) => (await fetch(control + path, options)).text();
  return {
    mcp,
    set: (levers) => text("/_control", { method: "POST", body: JSON.stringify(levers) }),
    reset: () => text("/_reset", { method: "POST" }),
    forget: () => text("/_journal", { method: "DELETE" }),
    families: async () => JSON.parse(await text("/_families")),
    async refreshes() {
      const journal = JSON.parse(await text("/_journal"));
      return journal.filter((seen) => seen.request.body.includes("grant_type=refresh_token")).length;
    },
    end: () => child.stdin.end(),
  };
}

/** A home with a browser, in front of which a person sits only at first. */
function home() {
  // Codex wants no home below the folder for temporary files.
  const folder = mkdtempSync(join(homedir(), ".keyway-bench-"));
  const browser = join(folder, "browser");
  writeFileSync(browser, `#!/bin/sh\nprintf '%s\\n' "$1" >> '${folder}/windows'\n`);
  chmodSync(browser, 0o755);
  writeFileSync(join(folder, "windows"), "");
  const place = { folder, agrees: true, env: { PATH: process.env.PATH, HOME: folder, BROWSER: browser } };
  place.windows = () => readFileSync(join(folder, "windows"), "utf8").split("\n").filter(Boolean);
  let seen = 0;
  const person = setInterval(() => {
    const all = place.windows();
    for (; seen < all.length; seen++) if (place.agrees) fetch(all[seen]).catch(() => {});
  }, 20);
  place.end = () => { clearInterval(person); rmSync(folder, { recursive: true, force: true }); };
  return place;
}

/** Starts a program in a group of its own; `answered` is whether the tool answered before it ended. */
function start(command, place, more, talk) {
  const child = spawn(command[0], command.slice(1), {
    cwd: place.folder, env: { ...place.env, ...more }, stdio: ["pipe", "pipe", "ignore"], detached: true,
  });
  child.stdin.on("error", () => {});
  const ended = new Promise((done) => child.once("close", done));
  const signal = (name) => { try { process.kill(-child.pid, name); } catch { /* it has ended */ } };
  const answered = (async () => {
    const ok = await Promise.race([talk(child), ended.then(() => false), sleep(LIMIT).then(() => false)]);
    child.stdin.end();
    // As clients do that have what they wanted, or have waited long enough.
    if ((await Promise.race([ended.then(() => true), sleep(ok ? 1500 : LIMIT)])) !== true) signal("SIGTERM");
    if ((await Promise.race([ended.then(() => true), sleep(3000)])) !== true) signal("SIGKILL");
    return ok;
  })();
  return { answered, signal };
}

const send = (child, message) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

const keyway = {
  name: "Keyway",
  call(place, rig, more = {}) {
    writeFileSync(join(place.folder, ".mcp.json"), JSON.stringify({ s: { type: "http", url: rig.mcp } }));
    const own = { KEYWAY_HOME: join(place.folder, "keyway"), ...more };
    return start([keywayProgram, "call", "s", "echo", "message=hello"], place, own, (child) => new Promise((done) => {
      lines(child.stdout, (line) => { if (line.includes("Echo: hello")) done(true); });
    }));
  },
};

const mcpRemote = {
  name: "mcp-remote 0.15.1",
  call(place, rig, more = {}) {
    const own = { MCP_REMOTE_CONFIG_DIR: join(place.folder, "mcp-auth"), ...more };
    return start([process.execPath, proxyProgram, rig.mcp, "--allow-http"], place, own, (child) => new Promise((done) => {
      lines(child.stdout, (line) => {
        let message;
        try { message = JSON.parse(line); } catch { return; }
        if (message.id === 1 && message.result) {
          send(child, { method: "notifications/initialized" });
          send(child, { id: 2, method: "tools/call", params: { name: "echo", arguments: { message: "hello" } } });
        } else if (message.id === 1 || message.id === 2) done(line.includes("Echo: hello"));
      });
      const clientInfo = { name: "bench", version: "1" };
      send(child, { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
    }));
  },
};

const codex = {
  name: "Codex 0.169.0",
  isStatic: true,
  async signIn(place, rig) {
    mkdirSync(join(place.folder, ".codex"), { recursive: true });
    const settings = `mcp_oauth_credentials_store = "file"\n[mcp_servers.s]\nurl = "${rig.mcp}"\n`;
    writeFileSync(join(place.folder, ".codex/config.toml"), settings);
    const login = start([codexProgram, "mcp", "login", "s"], place, {}, (child) => new Promise((done) => {
      lines(child.stdout, (line) => {
        if (/^http\S+\/authorize\?/.test(line)) fetch(line).catch(() => {});
        if (line.includes("Successfully logged in")) done(true);
      });
    }));
    if (!(await login.answered)) throw new Error("Codex cannot sign in");
  },
  // It lists tools without a model; a call needs one.
  call(place, rig, more = {}) {
    return start([codexProgram, "app-server"], place, more, (child) => new Promise((done) => {
      lines(child.stdout, (line) => {
        const message = JSON.parse(line);
        if (message.id === 1) {
          send(child, { method: "initialized" });
          send(child, { id: 2, method: "mcpServerStatus/list", params: {} });
        } else if (message.id === 2) done(line.includes('"echo"'));
      });
      send(child, { id: 1, method: "initialize", params: { clientInfo: { name: "bench", version: "1" } } });
    }));
  },
};

async function until(what, limit = 20_000) {
  for (const began = Date.now(); Date.now() - began < limit; await sleep(20)) if (await what()) return true;
  return false;
}

function faketime() {
  const found = readdirSync("/usr/lib").map((name) => `/usr/lib/${name}/faketime/libfaketimeMT.so.1`).find(existsSync);
  if (!found) throw new Error("libfaketime is not installed");
  return found;
}

const slow = (seconds) => async (client, place, rig) => {
  await rig.set({ token_delay: seconds * 1000 });
  await client.call(place, rig).answered;
};

const ahead = (seconds) => async (client, place, rig) => {
  // The clock of one process is set by a library that is loaded first, which needs dynamic linking;
  // name spaces of the system do not have the wall clock.
  if (client.isStatic) return "not possible: linked statically";
  await rig.set({ token_delay: 5000 });
  const first = client.call(place, rig);
  if (!(await until(async () => (await rig.refreshes()) > 0))) throw new Error("no refresh");
  const clock = { LD_PRELOAD: faketime(), FAKETIME: `+${seconds}`, FAKETIME_DONT_FAKE_MONOTONIC: "1" };
  const second = client.call(place, rig, clock);
  await Promise.all([first.answered, second.answered]);
};

const tests = {
  S1: ["the token endpoint answers after 11 s", slow(11)],
  S2: ["the token endpoint answers after 30 s", slow(30)],
  S3: ["stopped (SIGSTOP) for 12 s, the answer in the socket", async (client, place, rig) => {
    await rig.set({ token_delay: 1000 });
    const call = client.call(place, rig);
    if (!(await until(async () => (await rig.refreshes()) > 0))) throw new Error("no refresh");
    call.signal("SIGSTOP");
    await sleep(12_000);
    call.signal("SIGCONT");
    await call.answered;
  }],
  S4: ["a second process whose clock is 20 s ahead, while the first waits 5 s", ahead(20)],
  S5: ["a second process whose clock is an hour ahead, while the first waits 5 s", ahead(3600)],
};

async function one(test, client) {
  const [place, rig] = [home(), await startRig()];
  try {
    if (client.signIn) await client.signIn(place, rig);
    else if (!(await client.call(place, rig).answered)) throw new Error("cannot sign in");
    place.agrees = false;
    const windows = place.windows().length;
    await rig.reset();
    await rig.forget();
    const impossible = await test(client, place, rig);
    if (impossible) return impossible;
    const sent = await rig.refreshes();
    await rig.set({ token_delay: 0 });
    await rig.reset();
    // A lock of a process that was killed may last a moment.
    let works = false;
    for (let i = 0; i < 3 && !works; i++) {
      const call = client.call(place, rig);
      const asked = until(() => place.windows().length > windows, LIMIT);
      works = await Promise.race([call.answered, asked.then(() => false)]);
      if (!works) call.signal("SIGKILL");
    }
    const isRevoked = (await rig.families()).some((family) => family.ended === "reuse");
    const opened = place.windows().length - windows;
    const parts = [works && opened === 0 ? "kept" : "**lost**", `${sent} sent`];
    if (isRevoked) parts.push("revoked by the server");
    if (opened > 0) parts.push(`${opened} window${opened === 1 ? "" : "s"}`);
    return parts.join(", ");
  } catch (error) {
    process.exitCode = 1;
    return `error: ${error.message}`;
  } finally { rig.end(); place.end(); }
}

const clients = [keyway, mcpRemote, codex];
console.log(`| # | while the token is renewed | ${clients.map((client) => client.name).join(" | ")} |\n|---|---|---|---|---|`);
for (const [name, [title, test]] of Object.entries(tests)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const cells = await Promise.all(clients.map((client) => one(test, client)));
  console.log(`| ${name} | ${title} | ${cells.join(" | ")} |`);
}
