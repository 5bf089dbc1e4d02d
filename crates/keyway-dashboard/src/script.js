// Keeps the page up to date. Everything works without it; it adds life, not function.
"use strict";

const at = document.documentElement.dataset.at;
const live = document.getElementById("live");
const announce = document.getElementById("announce");

// Makes an element what the server rendered, and touches nothing that is that already: so focus,
// selection and a button that is being pressed stay where they are.
function update(id, html) {
  const old = document.getElementById(id);
  if (!old) return;
  const holder = document.createElement("template");
  holder.innerHTML = html;
  const fresh = holder.content.firstElementChild;
  if (!fresh || isOtherQuestion(old, fresh)) return;
  const before = calls();
  morph(old, fresh);
  pause(before);
}

const calls = () => [...document.querySelectorAll("#questions > section")].map((it) => it.id);

// A call that takes the place of another must not get the click that was meant for that one: its
// buttons work only after it could be seen.
function pause(before) {
  for (const [at, id] of calls().entries()) {
    if (before[at] === id) continue;
    const question = document.getElementById(id);
    const buttons = [...question.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    setTimeout(() => buttons.forEach((button) => (button.disabled = false)), 1500);
  }
}

// What a person reads in order to approve it does not change while they read: the buttons are
// removed, and the page has to be read again. A question that was not there when the page was opened
// has none either, so that no click meant for something else answers it.
function isOtherQuestion(old, fresh) {
  const digests = (element) => [...element.querySelectorAll("input[name=digest]")];
  const asked = (element) => digests(element).map((it) => it.value).join();
  if (!asked(fresh) || asked(old) === asked(fresh)) return false;
  const form = (digests(old)[0] ?? digests(fresh)[0]).form;
  if (!form.dataset.changed) {
    form.dataset.changed = "yes";
    for (const button of form.querySelectorAll("button")) button.remove();
    const again = document.createElement("a");
    again.className = "button main";
    again.href = location.pathname;
    again.textContent = asked(old) ? "This has changed: read it again" : "Read it and decide";
    form.append(again);
    announce.textContent = "What is to be approved has changed.";
  }
  return Boolean(asked(old));
}

function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== fresh.nodeName || old.id !== fresh.id) {
    old.replaceWith(fresh);
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const [before, after] = [[...old.childNodes], [...fresh.childNodes]];
  after.forEach((node, at) => (before[at] ? morph(before[at], node) : old.append(node)));
  before.slice(after.length).forEach((node) => node.remove());
}

function listen() {
  const page = encodeURIComponent(location.pathname.slice(at.length));
  const events = new EventSource(`${at}/events?page=${page}`);
  events.addEventListener("open", () => {
    live.hidden = false;
    live.textContent = "live";
    live.classList.remove("lost");
  });
  events.addEventListener("error", () => {
    live.hidden = false;
    live.textContent = "connection lost";
    live.classList.add("lost");
  });
  events.addEventListener("region", ({ data }) => {
    const end = data.indexOf("\n");
    update(data.slice(0, end), data.slice(end + 1));
  });
  events.addEventListener("say", ({ data }) => {
    announce.textContent = data;
  });
}

if (live) listen();

// The way back to a session from the plain address. It is kept for this origin alone, which a
// cookie could not be; without a store, the person needs a new link.
const KEY = "keyway.dashboard";
function kept(way) {
  try {
    if (way === undefined) return localStorage.getItem(KEY) ?? "";
    if (way) localStorage.setItem(KEY, way);
    else localStorage.removeItem(KEY);
  } catch {
    // There is none.
  }
  return "";
}

if (at) kept(`${at}/`);
else if (location.pathname !== "/") kept("");
else if (/^\/dashboard\/at\/[\w-]+\/$/.test(kept())) location.replace(kept());

// A form is sent once; its button says that something happens.
document.addEventListener("submit", (event) => {
  if (event.target.action === `${location.origin}${at}/leave`) kept("");
  const button = event.submitter;
  if (!button) return;
  if (button.getAttribute("aria-busy") === "true") {
    event.preventDefault();
    return;
  }
  button.setAttribute("aria-busy", "true");
});

// The back button brings a page back as it was left; its buttons can be used again.
window.addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
});

// Text grows with what is typed; Control and Enter send it.
document.addEventListener("input", ({ target }) => {
  if (target.tagName !== "TEXTAREA") return;
  target.rows = Math.min(12, Math.max(1, target.value.split("\n").length));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit();
});

if (location.hash === "#result") document.getElementById("result")?.focus();
for (const id of ["issued", "preview"]) document.getElementById(id)?.focus();

// Copies the text before a button, and says so.
document.documentElement.classList.add("script");
document.addEventListener("click", async ({ target }) => {
  if (!target.classList?.contains("copier")) return;
  await navigator.clipboard.writeText(target.previousElementSibling.textContent);
  target.textContent = "Copied";
  if (announce) announce.textContent = "Copied.";
});
