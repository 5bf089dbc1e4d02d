// The issuer of a team: `oidc-provider` with access tokens that are JWTs (RFC 9068).
//
// Usage: node people.mjs MODULES
// Prints one line of JSON: `issuer`.
//
// Any name and password sign in. A token is for the resource that was asked for, which has to be the
// address of an MCP endpoint on loopback; people whose name begins with `a` are in the group `team`.
import { createServer } from "node:http";

import { modules } from "./modules.mjs";

// Standard output is for the one line.
console.info = console.warn = console.error;

const { default: Provider, errors } = await modules(process.argv[2])("oidc-provider");

let answer;
const server = createServer((request, response) => answer(request, response));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  scopes: ["openid", "offline_access", "mcp"],
  cookies: { keys: ["only for tests"] },
  ttl: { AccessToken: 300, Grant: 3600, Session: 3600, Interaction: 600 },
  pkce: { required: () => true },
  findAccount: async (context, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
  extraTokenClaims: async (context, token) => ({ groups: token.accountId.startsWith("a") ? ["team"] : [] }),
  features: {
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: async (context, indicator) => {
        if (!/^http:\/\/127\.0\.0\.1:\d+\/mcp$/.test(indicator)) throw new errors.InvalidTarget();
        return {
          scope: "mcp",
          audience: indicator,
          accessTokenTTL: 300,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        };
      },
    },
  },
});
answer = provider.callback();
console.log(JSON.stringify({ issuer }));
