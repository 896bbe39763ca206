// Fetches the parts of this page again that have an id and data-live: every few seconds, with a
// longer pause after each failure, and not at all while nobody looks. Forms with data-filter ask
// anew while one types. Nothing from a server is ever run: parts are parsed as a document of
// their own, and the policy of the page forbids scripts in it.
"use strict";
(() => {
  const body = document.body;
  const usual = Number(body.dataset.liveMs || 0);
  const longest = 60000;
  let pause = usual;
  let timer = 0;
  let asking = null;
  let seen = Date.now();
  let said = verdict(document);

  function verdict(page) {
    const found = page.querySelector("[data-say]");
    return found ? found.textContent.trim() : "";
  }

  function announce(text) {
    const place = document.getElementById("announcement");
    if (place) place.textContent = text;
  }

  function exchange(page) {
    const parts = [...document.querySelectorAll("[data-live][id]")];
    // Another page is there by now: a server that was starting serves.
    if (parts.length && !parts.some((part) => page.getElementById(part.id))) {
      location.reload();
      return;
    }
    for (const part of parts) {
      const fresh = page.getElementById(part.id);
      if (!fresh || fresh.innerHTML === part.innerHTML) continue;
      // Not under the hand of somebody who is in it.
      if (part.contains(document.activeElement) && document.activeElement.matches("input, select, button")) continue;
      const open = [...part.querySelectorAll("details[open][id]")].map((each) => each.id);
      const focused = part.contains(document.activeElement) && document.activeElement.getAttribute("href");
      const scrolled = [...part.querySelectorAll(".wide")].map((each) => each.scrollLeft);
      part.className = fresh.className;
      part.replaceChildren(...fresh.childNodes);
      for (const id of open) {
        const again = document.getElementById(id);
        if (again) again.open = true;
      }
      [...part.querySelectorAll(".wide")].forEach((each, at) => { each.scrollLeft = scrolled[at] || 0; });
      if (focused) {
        const link = [...part.querySelectorAll("a")].find((each) => each.getAttribute("href") === focused);
        if (link) link.focus({ preventScroll: true });
      }
    }
    const now = verdict(document);
    if (now && now !== said) announce(now);
    said = now;
  }

  function tell() {
    const place = document.getElementById("freshness");
    if (!place) return;
    const age = Math.round((Date.now() - seen) / 1000);
    const late = usual > 0 && age > 3 * usual / 1000 + 5;
    place.className = late ? "stale-page" : "";
    place.textContent = usual === 0 ? "" : late
      ? ` · The server has not answered for ${age} s: what you see is old. Next attempt within ${Math.round(pause / 1000)} s.`
      : " · updates by itself";
  }

  async function ask() {
    clearTimeout(timer);
    if (asking) asking.abort();
    const mine = asking = new AbortController();
    const limit = setTimeout(() => mine.abort(), 20000);
    try {
      const answer = await fetch(location.href, { signal: mine.signal, headers: { "X-Requested-With": "live" } });
      if (!answer.ok) throw new Error(String(answer.status));
      exchange(new DOMParser().parseFromString(await answer.text(), "text/html"));
      seen = Date.now();
      pause = usual;
    } catch {
      if (mine === asking) pause = Math.min(longest, Math.max(pause, 1000) * 2);
    } finally {
      clearTimeout(limit);
      if (mine === asking) { asking = null; plan(); }
      tell();
    }
  }

  function plan() {
    clearTimeout(timer);
    if (usual > 0 && !document.hidden) timer = setTimeout(ask, pause);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else if (usual > 0) { pause = usual; ask(); }
  });

  for (const form of document.querySelectorAll("form[data-filter]")) {
    let wait = 0;
    const again = () => {
      const asked = new URLSearchParams(new FormData(form));
      for (const [name, value] of [...asked]) if (value === "") asked.delete(name);
      history.replaceState(null, "", `${location.pathname}?${asked}`);
      ask().then(() => {
        const found = document.querySelector("[data-found]");
        if (found) announce(found.textContent.trim());
      });
    };
    form.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(again, 250); });
    form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(wait); again(); });
    for (const button of form.querySelectorAll("button[type=submit]")) button.hidden = true;
  }

  tell();
  plan();
  setInterval(tell, 1000);
})();
