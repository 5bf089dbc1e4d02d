// The official TypeScript client on `protected.mjs`, with a real browser: shows that the servers are
// right before ours are tested against them.
//
// Usage: node referee.mjs MODULES, with ACCESS_TOKEN_SECONDS of a few seconds
// Prints one line of JSON: what came back before and after the token expired, and after its reuse.
import { execFile, spawn } from "node:child_process";
import { createServer } from "node:http";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { modules } from "./modules.mjs";

const [directory] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await modules(directory)(
  "@modelcontextprotocol/client",
);
const here = (name) => path.join(import.meta.dirname, name);
const seconds = Number(process.env.ACCESS_TOKEN_SECONDS ?? 2);

const child = spawn(process.execPath, [here("protected.mjs"), directory], {
  env: { ...process.env, ACCESS_TOKEN_SECONDS: String(seconds) },
  stdio: ["ignore", "pipe", "ignore"],
});
process.on("exit", () => child.kill());
const [line] = await new Promise((resolve) => {
  createInterface({ input: child.stdout }).once("line", (...found) => resolve(found));
});
const { server, issuer, journal } = JSON.parse(line);

let receive;
const callbacks = createServer((request, response) => {
  response.end("<!doctype html><title>Signed in</title>You may close this page");
  receive(new URL(request.url, "http://127.0.0.1").searchParams);
});
await new Promise((resolve) => callbacks.listen(0, "127.0.0.1", resolve));
const redirectUrl = `http://127.0.0.1:${callbacks.address().port}/callback`;

let kept = {};
let page;
const provider = {
  redirectUrl,
  clientMetadata: {
    client_name: "Referee",
    application_type: "native",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => (kept.tokens = tokens),
  saveCodeVerifier: (verifier) => (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => (kept.discovery = state),
  discoveryState: () => kept.discovery,
  async redirectToAuthorization(url) {
    const { stdout } = await promisify(execFile)(process.execPath, [here("browser.mjs"), directory, url.href]);
    page = JSON.parse(stdout);
  },
};

const received = new Promise((resolve) => (receive = resolve));
const connect = async () => {
  const client = new Client({ name: "referee", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  const transport = new StreamableHTTPClientTransport(new URL(server), { authProvider: provider });
  try {
    await client.connect(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth(await received);
    return connect();
  }
  return client;
};
const client = await connect();
const whoami = async () => (await client.callTool({ name: "whoami", arguments: {} })).content[0].text;

const first = await whoami();
const rotated = kept.tokens.refresh_token;
await sleep((seconds + 1) * 1000);
const second = await whoami();

// Using a refresh token again ends the grant.
const refresh = (token) =>
  fetch(`${issuer}/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "refresh_token",
      client_id: kept.client.client_id,
      refresh_token: token,
      resource: server,
    }),
  }).then((response) => response.json());
const reused = await refresh(rotated);
const after = await refresh(kept.tokens.refresh_token);
const asked = await fetch(journal).then((response) => response.json());
console.log(
  JSON.stringify({
    title: page.title,
    first,
    second,
    rotated: rotated !== kept.tokens.refresh_token,
    reused: reused.error,
    after: after.error,
    grants: asked.filter((entry) => entry.path === "/token").map((entry) => entry.grant),
    windows: asked.filter((entry) => entry.path === "/auth").length,
  }),
);
process.exit(0);
