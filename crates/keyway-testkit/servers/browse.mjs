// A browser of a person, without a window: cookies, redirects, and the forms of `oidc-provider`.
//
// Usage: node browse.mjs open URL NAME JAR [STOP]
//          Follows URL, signs in as NAME wherever it is asked, and keeps cookies in the file JAR. An
//          address that begins with STOP is not visited.
//          Prints one line of JSON: `url`, and unless it was stopped `status`, `title` and `text`.
//        node browse.mjs register ISSUER REDIRECT
//          Registers a client without a secret. Prints one line of JSON: `client`.
import { readFile, writeFile } from "node:fs/promises";

const [action, ...words] = process.argv.slice(2);

const register = async (issuer, redirect) => {
  const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
  const response = await fetch(metadata.registration_endpoint, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Gateway",
      application_type: "native",
      redirect_uris: [redirect],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    }),
  });
  return { client: (await response.json()).client_id };
};

const open = async (url, name, file, stop) => {
  // By origin: all servers here have the same host, and only tests would mix their cookies.
  const jar = JSON.parse(await readFile(file, "utf8").catch(() => "{}"));
  let [next, form] = [url, undefined];
  for (let step = 0; step < 40; step += 1) {
    if (stop && next.startsWith(stop)) return { url: next };
    const cookies = (jar[new URL(next).origin] ??= {});
    const response = await fetch(next, {
      method: form ? "POST" : "GET",
      body: form,
      redirect: "manual",
      headers: {
        // Each request on a connection of its own, which a proxy may pass on to another replica.
        connection: "close",
        cookie: Object.entries(cookies).map((pair) => pair.join("=")).join("; "),
      },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [key, value] = cookie.split(";")[0].split("=");
      if (value) cookies[key] = value;
      else delete cookies[key];
    }
    await writeFile(file, JSON.stringify(jar));
    form = undefined;
    const location = response.headers.get("location");
    if (location) {
      next = new URL(location, next).href;
      continue;
    }
    const html = await response.text();
    const [, action] = html.match(/action="([^"]+)"/) ?? [];
    const [, prompt] = html.match(/name="prompt" value="([^"]+)"/) ?? [];
    if (!action) {
      const [, title] = html.match(/<title>([^<]*)<\/title>/) ?? [];
      return { url: next, status: response.status, title, text: html };
    }
    next = new URL(action, next).href;
    form = new URLSearchParams({ prompt, login: name, password: "any" });
  }
  throw new Error("the pages lead nowhere");
};

console.log(JSON.stringify(await { open, register }[action](...words)));
