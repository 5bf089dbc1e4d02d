// From nothing to the first authenticated call, by Keyway, mcp-remote, mcporter and Codex's own
// `codex mcp add`, in one run; prints the tables of docs/flows.md as Markdown.
//
//   cargo xtask bench flows [--runs N] [FLOW...]
//   node bench/flows.mjs KEYWAY MODULES MCP_REMOTE_PROXY_JS MCPORTER_CLI_JS RUNS [FLOW...]
//
// Each trial has a home of its own and, for OAuth, an authorization server of its own: `oidc-provider`
// before a server on the official TypeScript SDK. A person agrees at once when a page is opened. A
// step is a command, an edit of a file by hand, a variable set in the shell, a consent page or a
// question answered. Commands and calls are timed; what people do by hand is counted and takes no time.

import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { CREDENTIAL } from "./flow-server.mjs";

const [keywayProgram, modules, proxyProgram, mcporterProgram] = process.argv.slice(2, 6).map((path) => resolve(path));
const RUNS = Number(process.argv[6]);
const chosen = process.argv.slice(7);
const here = dirname(fileURLToPath(import.meta.url));
const node = process.execPath;
const codexProgram = join(modules, "@openai/codex/bin/codex.js");
const claudeProgram = join(modules, "@anthropic-ai/claude-code/cli-wrapper.cjs");
/** How long a command may take, in milliseconds. */
const LIMIT = 60_000;

const firstLine = (child) => new Promise((done, failed) => {
  createInterface(child.stdout).once("line", done);
  child.once("close", () => failed(new Error("the server has ended")));
});

async function server(words) {
  const child = spawn(node, words, { stdio: ["ignore", "pipe", "ignore"] });
  return { line: await firstLine(child), end: () => child.kill() };
}

/** Goes through the pages of the authorization server as a person does who agrees. */
async function consent(url) {
  const cookies = new Map();
  let [next, form] = [url, undefined];
  for (let pages = 0; pages < 20; pages++) {
    const answer = await fetch(next, {
      method: form ? "POST" : "GET",
      body: form,
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
    });
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
      cookies.set(name, value);
    }
    const to = answer.headers.get("location");
    const text = await answer.text();
    if (to) {
      [next, form] = [new URL(to, next).href, undefined];
      continue;
    }
    const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
    if (!action || !next.includes("/interaction/")) return;
    const prompt = /name="prompt" value="([^"]+)"/.exec(text)[1];
    form = new URLSearchParams({ prompt, login: "alice", password: "any" });
    next = new URL(action, next).href;
  }
}

/** A home with a browser in it, and a person in front of that. */
function home() {
  // Codex wants no home below the folder for temporary files.
  const folder = mkdtempSync(join(homedir(), ".keyway-flows-"));
  const browser = join(folder, "browser");
  writeFileSync(browser, `#!/bin/sh\nprintf '%s\\n' "$1" >> '${folder}/windows'\n`);
  chmodSync(browser, 0o755);
  writeFileSync(join(folder, "windows"), "");
  mkdirSync(join(folder, "work"));
  const windows = () => readFileSync(join(folder, "windows"), "utf8").split("\n").filter(Boolean);
  let seen = 0;
  const person = setInterval(() => {
    for (const all = windows(); seen < all.length; seen++) consent(all[seen]).catch(() => {});
  }, 10);
  return {
    folder,
    windows,
    work: join(folder, "work"),
    env: { PATH: `${join(modules, ".bin")}:/usr/bin:/bin`, HOME: folder, BROWSER: browser },
    end() {
      clearInterval(person);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Runs a program until `talk` has what it wants, or to its end if there is no `talk`; returns when. */
async function run(place, words, { env = {}, input, talk } = {}) {
  const child = spawn(words[0], words.slice(1), {
    cwd: place.work, env: { ...place.env, ...env }, stdio: ["pipe", "pipe", "pipe"], detached: true,
  });
  let said = "";
  child.stdin.on("error", () => {});
  child.stderr.on("data", (data) => { said += data; });
  child.stdout.on("data", (data) => { said += data; });
  const ended = new Promise((done) => child.once("close", done));
  const signal = (name) => { try { process.kill(-child.pid, name); } catch { /* it has ended */ } };
  const limit = setTimeout(() => signal("SIGKILL"), LIMIT);
  if (!talk) child.stdin.end(input ?? "");
  const outcome = await Promise.race([ended.then((code) => code === 0 && !talk), ...(talk ? [talk(child)] : [])]);
  const at = performance.now();
  clearTimeout(limit);
  signal("SIGTERM");
  const patience = setTimeout(() => signal("SIGKILL"), 3000);
  await ended;
  clearTimeout(patience);
  if (!outcome) throw new Error(`${words.map((word) => word.split("/").pop()).join(" ")}: ${said.slice(-400)}`);
  return at;
}

const send = (child, message) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const answers = (child, each) => createInterface(child.stdout).on("line", (line) => {
  try { each(JSON.parse(line), line); } catch { /* not a message */ }
});

/** Does what a client does with an entry that starts a program: the first call in its first session. */
const callOver = (child) => new Promise((done) => {
  answers(child, (message, line) => {
    if (message.id === 1 && message.result) {
      send(child, { method: "notifications/initialized" });
      send(child, { id: 2, method: "tools/call", params: { name: "echo", arguments: { message: "hello" } } });
    } else if (message.id === 1 || message.id === 2) done(line.includes("Echo: hello"));
  });
  const clientInfo = { name: "flows", version: "1" };
  send(child, { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
});

/** The first call in a thread of Codex. */
const callInCodex = (child) => new Promise((done) => {
  answers(child, (message, line) => {
    if (message.id === 1) {
      send(child, { method: "initialized" });
      send(child, { id: 2, method: "thread/start", params: {} });
    } else if (message.id === 2) {
      const params = { threadId: message.result.thread.id, server: "docs", tool: "echo", arguments: { message: "hello" } };
      send(child, { id: 3, method: "mcpServer/tool/call", params });
    } else if (message.id === 3) done(line.includes("Echo: hello"));
  });
  send(child, { id: 1, method: "initialize", params: { clientInfo: { name: "flows", version: "1" } } });
});

// ---- steps

const file = (place, path, text) => {
  mkdirSync(dirname(join(place.folder, path)), { recursive: true });
  writeFileSync(join(place.folder, path), typeof text === "string" ? text : JSON.stringify(text));
};
const read = (place, path) => JSON.parse(readFileSync(join(place.folder, path), "utf8"));

/** What is timed: a command, as a person types it. */
const command = (text, words, options) => ({ text, act: (place) => run(place, words, options) });
/** What is only counted. */
const byHand = (text, act = () => {}) => ({ text, act, isByHand: true });

const keyway = (line, options) => command(`keyway ${line}`, [keywayProgram, ...line.split(" ")], options);
const codex = (line, words, options) => command(`codex ${line}`, [node, codexProgram, ...words], options);
const inCodex = (env = {}) => ({
  text: "a call in Codex",
  act: (place) => run(place, [node, codexProgram, "app-server"], { env, talk: callInCodex }),
});
/** A call through the entry of that name in Claude Code's file, started as Claude Code does. */
const byEntry = (name) => ({
  text: "a call in the client",
  act: (place) => {
    const { command, args, env } = read(place, ".claude.json").mcpServers[name];
    return run(place, [command, ...args], { env, talk: callOver });
  },
});
const mcporter = (text, words, env = {}) => command(`mcporter ${text}`, [node, mcporterProgram, ...words], { env });

/** The entry that the README of mcp-remote shows, with the program as `npx` would start it. */
const proxied = (name, url, more = [], env = {}) => byHand(`an entry \`npx mcp-remote\` in the client's file`, (place) => {
  const entry = { command: node, args: [proxyProgram, url, "--allow-http", ...more], env };
  file(place, ".claude.json", { mcpServers: { [name]: entry } });
});

const secret = { DOCS_TOKEN: CREDENTIAL, DOCS_KEY: CREDENTIAL };
const isCodexEntry = (url) => `mcp_oauth_credentials_store = "file"\n[mcp_servers.docs]\nurl = "${url}"\n`;
const keepsInFile = (place) => file(place, ".codex/config.toml", `mcp_oauth_credentials_store = "file"\n`);

/** Sets up what is there before the flow begins: a plugin that Claude Code has installed. */
async function installPlugin(place, url) {
  file(place, "market/acme/.mcp.json", { mcpServers: { wiki: { type: "http", url } } });
  file(place, "market/acme/.claude-plugin/plugin.json", { name: "acme", version: "1.0.0", description: "d" });
  const plugins = [{ name: "acme", source: "./acme", description: "d" }];
  file(place, "market/.claude-plugin/marketplace.json", { name: "mk", owner: { name: "o" }, plugins });
  const env = { DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" };
  await run(place, [node, claudeProgram, "plugin", "marketplace", "add", join(place.folder, "market")], { env });
  await run(place, [node, claudeProgram, "plugin", "install", "acme@mk"], { env });
}

const flowServer = join(here, "flow-server.mjs");
const ofPlugin = (entry) => (place) => file(place, "work/.mcp.json", { mcpServers: { docs: entry } });

const flows = {
  a: {
    title: "a server's URL, OAuth",
    oauth: true,
    before: { Codex: keepsInFile },
    steps: (url) => ({
      Keyway: [keyway(`add docs ${url} --client claude-code`), byEntry("docs")],
      "mcp-remote": [proxied("docs", url), byEntry("docs")],
      mcporter: [mcporter(`call URL.echo message=hello`, ["call", `${url}.echo`, "message=hello", "--allow-http"])],
      Codex: [codex("mcp add docs --url URL", ["mcp", "add", "docs", "--url", url]), inCodex()],
    }),
  },
  b: {
    title: "a `url` entry that a client has, OAuth",
    oauth: true,
    before: {
      Keyway: (place, url) => file(place, ".claude.json", { mcpServers: { docs: { type: "http", url } } }),
      "mcp-remote": (place, url) => file(place, ".claude.json", { mcpServers: { docs: { type: "http", url } } }),
      mcporter: (place, url) => file(place, ".claude.json", { mcpServers: { docs: { type: "http", url } } }),
      Codex: (place, url) => file(place, ".codex/config.toml", isCodexEntry(url)),
    },
    steps: (url) => ({
      Keyway: [keyway("adopt claude-code --yes"), byEntry("docs")],
      "mcp-remote": [proxied("docs", url), byEntry("docs")],
      mcporter: [mcporter("call docs.echo message=hello", ["call", "docs.echo", "message=hello"])],
      Codex: [codex("mcp login docs", ["mcp", "login", "docs"]), inCodex()],
    }),
  },
  c: {
    title: "a plugin's `.mcp.json`, `Authorization: Bearer ${DOCS_TOKEN}`",
    before: {
      Keyway: (place, url) => ofPlugin({ type: "http", url, headers: { Authorization: "Bearer ${DOCS_TOKEN}" } })(place),
      mcporter: (place, url) => ofPlugin({ type: "http", url, headers: { Authorization: "Bearer ${DOCS_TOKEN}" } })(place),
    },
    steps: (url) => ({
      Keyway: [
        keyway("env set DOCS_TOKEN", { input: `${CREDENTIAL}\n` }),
        byHand("the approval, `y`"),
        keyway("call docs echo message=hello --trust"),
      ],
      "mcp-remote": [
        proxied("docs", url, ["--header", "Authorization:${AUTH}"], { AUTH: `Bearer ${CREDENTIAL}` }), byEntry("docs"),
      ],
      mcporter: [
        byHand("`export DOCS_TOKEN=…`"),
        mcporter("--config .mcp.json call docs.echo", ["--config", ".mcp.json", "call", "docs.echo", "message=hello"], secret),
      ],
      Codex: [
        byHand("`export DOCS_TOKEN=…`"),
        codex("mcp add docs --url URL --bearer-token-env-var DOCS_TOKEN",
          ["mcp", "add", "docs", "--url", url, "--bearer-token-env-var", "DOCS_TOKEN"], { env: secret }),
        inCodex(secret),
      ],
    }),
  },
  d: {
    title: "a program, its key in the variable `DOCS_KEY`",
    before: {
      Keyway: ofPlugin({ command: node, args: [flowServer, "stdio"], env: { DOCS_KEY: "${DOCS_KEY}" } }),
      mcporter: ofPlugin({ command: node, args: [flowServer, "stdio"], env: { DOCS_KEY: "${DOCS_KEY}" } }),
    },
    steps: () => ({
      Keyway: [
        keyway("env set DOCS_KEY", { input: `${CREDENTIAL}\n` }),
        byHand("the approval, `y`"),
        keyway("call docs echo message=hello --trust"),
      ],
      "mcp-remote": "only for URLs",
      mcporter: [
        byHand("`export DOCS_KEY=…`"),
        mcporter("--config .mcp.json call docs.echo", ["--config", ".mcp.json", "call", "docs.echo", "message=hello"], secret),
      ],
      Codex: [
        codex("mcp add docs --env DOCS_KEY=… -- node server.mjs",
          ["mcp", "add", "docs", "--env", `DOCS_KEY=${CREDENTIAL}`, "--", node, flowServer, "stdio"]),
        inCodex(),
      ],
    }),
  },
  e: {
    title: "a server of a plugin that Claude Code has installed, OAuth",
    oauth: true,
    before: { Keyway: installPlugin, "mcp-remote": installPlugin },
    steps: (url) => ({
      Keyway: [keyway("adopt claude-code --yes"), byEntry("plugin:acme:wiki")],
      "mcp-remote": [proxied("wiki", url), byEntry("wiki")],
      mcporter: "does not read Claude Code's plugins",
      Codex: "does not read Claude Code's plugins",
    }),
  },
};

// ---- measuring

async function trial(flow, name) {
  const place = home();
  const rig = flow.oauth
    ? await server([join(here, "../crates/keyway-testkit/servers/protected.mjs"), modules])
    : await server([flowServer, "http"]);
  try {
    const url = flow.oauth ? JSON.parse(rig.line).server : rig.line;
    const steps = flow.steps(url)[name];
    if (typeof steps === "string") return { not: steps };
    await flow.before?.[name]?.(place, url);
    let [seconds, texts] = [0, []];
    for (const step of steps) {
      const [began, windows] = [performance.now(), place.windows().length];
      const at = await step.act(place);
      if (!step.isByHand) seconds += (at - began) / 1000;
      texts.push(step.text.replaceAll(url, "URL"));
      for (let more = place.windows().length - windows; more > 0; more--) texts.push("consent");
    }
    return { seconds, texts };
  } catch (error) {
    return { failed: error.message };
  } finally {
    rig.end();
    place.end();
  }
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const names = ["Keyway", "mcp-remote", "mcporter", "Codex"];
const picked = Object.entries(flows).filter(([letter]) => chosen.length === 0 || chosen.includes(letter));
const found = {};
for (let round = 0; round < RUNS; round++) {
  for (const [letter, flow] of picked) {
    for (const name of names) {
      const outcome = await trial(flow, name);
      (found[letter + name] ??= []).push(outcome);
      if (outcome.failed) console.error(`${letter} ${name}: ${outcome.failed}`);
    }
  }
}
const cell = (outcomes) => {
  const good = outcomes.filter((it) => it.seconds !== undefined);
  if (outcomes[0].not) return `– (${outcomes[0].not})`;
  if (good.length < outcomes.length) return "failed";
  return `${good[0].texts.length} steps, ${median(good.map((it) => it.seconds)).toFixed(1)} s`;
};
console.log(`| | from nothing to the first call | ${names.join(" | ")} |\n|---|---|${names.map(() => "---|").join("")}`);
for (const [letter, flow] of picked) {
  console.log(`| ${letter} | ${flow.title} | ${names.map((name) => cell(found[letter + name])).join(" | ")} |`);
}
console.log("\n| | | steps |\n|---|---|---|");
for (const [letter] of picked) {
  for (const name of names) {
    const good = found[letter + name].find((it) => it.texts);
    if (good) console.log(`| ${letter} | ${name} | ${good.texts.map((text) => text.includes("`") || text === "consent" || text.startsWith("a call") ? text : `\`${text}\``).join(" · ")} |`);
  }
}
// What cannot be done by one of the others is a finding; what we cannot do is a failure.
if (picked.some(([letter]) => found[`${letter}Keyway`].some((it) => it.failed))) process.exitCode = 1;
