// A person at a real browser: signs in, consents, and stays on the page at the end.
//
// Usage: node browser.mjs MODULES URL
// Prints one line of JSON about the last page: `url` without its query, `title`, `text`.
//
// BROWSER_ANSWER=deny: says no where consent is asked for
// BROWSER_NAME: who signs in, `alice` unless told
// BROWSER_PROFILE: a directory for what the browser remembers; nothing is remembered without it
// BROWSER_SCREENSHOTS: a directory for pictures of every page
import path from "node:path";

import { modules } from "./modules.mjs";

const [directory, url] = process.argv.slice(2);
const { default: puppeteer } = await modules(directory)("puppeteer-core");

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  pipe: true,
  userDataDir: process.env.BROWSER_PROFILE,
  args: [
    // Pages of this machine only, whatever they refer to.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
    ...(process.getuid() === 0 ? ["--no-sandbox"] : []),
  ],
});
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(20_000);
  let pictures = 0;
  const arrive = async () => {
    if (!process.env.BROWSER_SCREENSHOTS) return;
    pictures += 1;
    await page.screenshot({ path: path.join(process.env.BROWSER_SCREENSHOTS, `page-${pictures}.png`) });
  };
  // What a page refers to elsewhere never comes; its own text is enough.
  const go = (action) =>
    Promise.all([page.waitForNavigation({ waitUntil: "domcontentloaded" }), action()]);

  await page.goto(url, { waitUntil: "domcontentloaded" });
  // A page that has the code of a device already sends it by itself, and asks on the next.
  if (new URL(url).searchParams.has("user_code")) {
    await page.waitForSelector('form[id="op.deviceConfirmForm"]');
  }
  for (let steps = 0; steps < 10; steps += 1) {
    await arrive();
    if (await page.$("input[name=login]")) {
      await page.type("input[name=login]", process.env.BROWSER_NAME ?? "alice");
      await page.type("input[name=password]", "any");
      await go(() => page.click("button[type=submit]"));
    } else if (await page.$("input[name=prompt][value=consent]")) {
      const answer = process.env.BROWSER_ANSWER === "deny" ? 'a[href$="/abort"]' : "button[type=submit]";
      await go(() => page.click(answer));
    } else if (await page.$('form[id="op.deviceConfirmForm"]')) {
      await go(() => page.click("button[autofocus]"));
    } else {
      break;
    }
  }
  const { origin, pathname } = new URL(page.url());
  const text = await page.evaluate(() => document.body.innerText);
  console.log(JSON.stringify({ url: origin + pathname, title: await page.title(), text }));
} finally {
  await browser.close();
}
