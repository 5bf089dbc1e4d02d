// A person at the dashboard, in a real browser.
//
// Usage: node dashboard.mjs MODULES < STEPS
// STEPS is a list in JSON; each step is an object with one of:
//   go: an address                     click: a selector, or text that a button or link has
//   wait: text that has to appear      gone: text that has to go
//   type: [selector, text]             choose: [selector, value]
//   check: a selector of a box to check
//   copy: a selector of text           paste: a selector that the text is typed into
//   reach: text of what has to get the focus by the tab key alone
//   press: a key, or several           tab: what is clicked opens a tab; do these steps there
//   theme: "light" or "dark"           size: [width, height]
//   script: false turns scripts off    axe: true looks for what keeps people from using the page
//   shot: a file for a picture         read: true prints where it is and what it says
//   write: [file, text] as a plugin would while its page is read
//   whole: a selector of what has to be in sight, with its letters in their order from the left
// Prints one line of JSON per `read` and `axe`, and fails where a step does, or where the browser
// complains more often than DASHBOARD_COMPLAINTS says.
import { writeFile } from "node:fs/promises";

import { modules } from "./modules.mjs";

const [directory] = process.argv.slice(2);
const require = modules(directory);
const { default: puppeteer } = await require("puppeteer-core");
const { default: axe } = await require("axe-core");

let input = "";
for await (const piece of process.stdin) input += piece;

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  pipe: true,
  args: [
    // Pages of this machine only, whatever they refer to.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
    "--force-color-profile=srgb",
    ...(process.getuid() === 0 ? ["--no-sandbox"] : []),
  ],
});

const PATIENCE = 90_000;
const complaints = [];
let copied = "";

async function open() {
  return watched(await browser.newPage());
}

// What a page complains about, such as a violated policy, is a fault as well.
function watched(page) {
  page.setDefaultTimeout(PATIENCE);
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  return page;
}

const says = (page, text) =>
  page.evaluate((wanted) => document.body.innerText.includes(wanted), text).catch(() => false);

async function until(what, check) {
  const end = Date.now() + PATIENCE;
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

// By asking again and again: a page whose scripts are off cannot wait for anything.
async function find(page, target) {
  let found;
  await until(`never saw: ${target}`, async () => {
    const asked = page.evaluateHandle((wanted) => {
      if (/^[#.[]/.test(wanted)) return document.querySelector(wanted);
      const text = (it) => it.textContent.trim().replace(/\s+/g, " ");
      return [...document.querySelectorAll("button, a")].find((it) => text(it) === wanted);
    }, target);
    // A page that was left while it was asked is asked again, as the next one.
    const handle = await asked.catch(() => undefined);
    found = handle?.asElement();
    return Boolean(found);
  });
  return found;
}

async function run(page, step) {
  const [kind] = Object.keys(step);
  const value = step[kind];
  switch (kind) {
    case "go":
      await page.goto(value, { waitUntil: "load" });
      break;
    case "reload":
      await page.reload({ waitUntil: "load" });
      break;
    case "click": {
      const element = await find(page, value);
      const navigates = await element.evaluate((it) => Boolean(it.form) || it.tagName === "A");
      const left = navigates
        ? page.waitForNavigation({ waitUntil: "load", timeout: PATIENCE })
        : Promise.resolve();
      await Promise.all([left, element.click()]);
      break;
    }
    case "tab": {
      const element = await find(page, value.click);
      const before = (await browser.pages()).length;
      await element.click();
      let fresh;
      await until("a new tab", async () => {
        const pages = await browser.pages();
        fresh = pages.length > before ? pages.at(-1) : undefined;
        return Boolean(fresh);
      });
      watched(fresh);
      for (const inner of value.steps) await run(fresh, inner);
      await fresh.close();
      await page.bringToFront();
      break;
    }
    case "wait":
      await until(`never saw: ${value}`, () => says(page, value));
      break;
    case "gone":
      await until(`still there: ${value}`, async () => !(await says(page, value)));
      break;
    case "type":
      await (await find(page, value[0])).click({ count: 3 });
      await page.keyboard.type(value[1]);
      break;
    case "copy":
      copied = await (await find(page, value)).evaluate((it) => it.innerText.trim());
      if (!copied) throw new Error("there is no text");
      break;
    case "paste":
      await run(page, { type: [value, copied] });
      break;
    case "check":
      await (await find(page, value)).click();
      break;
    case "choose":
      await page.select(value[0], value[1]);
      break;
    case "press":
      for (const key of [value].flat()) await page.keyboard.press(key);
      break;
    case "reach": {
      const focused = () =>
        page.evaluate(() => document.activeElement.textContent.trim().replace(/\s+/g, " "));
      for (let tabs = 0; (await focused()) !== value; tabs += 1) {
        if (tabs === 80) throw new Error("no way there");
        await page.keyboard.press("Tab");
      }
      break;
    }
    case "theme":
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
      break;
    case "size":
      await page.setViewport({ width: value[0], height: value[1], deviceScaleFactor: 1 });
      break;
    case "script":
      await page.setJavaScriptEnabled(value);
      break;
    case "shot":
      await page.screenshot({ path: value, captureBeyondViewport: false });
      break;
    case "write":
      await writeFile(value[0], value[1]);
      break;
    case "whole": {
      const fault = await page.evaluate((wanted) => {
        const found = [...document.querySelectorAll(wanted)];
        if (found.length === 0) return "nothing there";
        const hidden = found.find((it) => it.scrollWidth > it.clientWidth + 1);
        if (hidden) return `out of sight: ${hidden.textContent}`;
        const pieces = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        for (let piece = pieces.nextNode(); piece; piece = pieces.nextNode()) {
          if (!piece.parentElement.closest(wanted)?.contains(piece)) continue;
          if (!piece.parentElement.closest("code, pre")) continue;
          let last;
          for (let at = 0; at < piece.length; at += 1) {
            const range = document.createRange();
            range.setStart(piece, at);
            range.setEnd(piece, at + 1);
            const box = range.getBoundingClientRect();
            if (box.width === 0) continue;
            const isBefore = last && Math.abs(last.top - box.top) < 2 && box.left < last.left;
            if (isBefore) return `reordered: ${piece.data}`;
            last = box;
          }
        }
        return undefined;
      }, value);
      if (fault) throw new Error(fault);
      break;
    }
    case "axe": {
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const found = violations.map(({ id, impact, nodes }) => ({
        id,
        impact,
        at: nodes.map((node) => node.html.slice(0, 160)),
      }));
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
      );
      console.log(JSON.stringify({ axe: found, wide, url: page.url() }));
      break;
    }
    case "read": {
      const text = await page.evaluate(() => document.body.innerText);
      const html = await page.content();
      const focus = await page.evaluate(() => document.activeElement?.id ?? "");
      console.log(JSON.stringify({ url: page.url(), title: await page.title(), text, html, focus }));
      break;
    }
    default:
      throw new Error(`no such step: ${kind}`);
  }
}

let page;
try {
  page = await open();
  for (const [at, step] of JSON.parse(input).entries()) {
    try {
      await run(page, step);
    } catch (error) {
      const text = await page.evaluate(() => document.body.innerText).catch(() => "");
      const shot = process.env.DASHBOARD_FAILED;
      if (shot) await page.screenshot({ path: shot });
      throw new Error(`step ${at} ${JSON.stringify(step)}: ${error.message}\n${page.url()}\n${text}`);
    }
  }
  const known = Number(process.env.DASHBOARD_COMPLAINTS ?? 0);
  if (complaints.length > known) throw new Error(`the browser complains: ${complaints.join("\n")}`);
} finally {
  await browser.close();
}
