// The tree of files over WebHDFS. Names and contents come from whoever can write a file: they
// become text, never markup. The path stands behind # in the address, so that links and the
// buttons of the browser work.
"use strict";
(() => {
  const LIMIT_MS = 30000;
  const PREVIEW = 32768;
  const byId = (id) => document.getElementById(id);
  if (!byId("go")) return;
  // No form of another server's page can send it (dfs.webhdfs.rest-csrf.enabled).
  const OURS = { [byId("go").dataset.ownHeader]: "1" };
  // Bytes come through this server: the browser may not reach a datanode.
  const HERE = { relay: "true" };
  let turn = 0;
  let last = "";

  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === false || value === null || value === undefined) continue;
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.filter((each) => each !== null && each !== undefined));
    return element;
  }

  const encoded = (path) => path.split("/").map(encodeURIComponent).join("/");
  const shown = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);

  function path() {
    let wanted = location.hash.slice(1);
    try { wanted = decodeURIComponent(wanted); } catch { /* taken as it stands */ }
    return wanted.startsWith("/") ? wanted : "/";
  }

  function url(of, operation, more) {
    const query = new URLSearchParams({ op: operation, ...more });
    // Where users prove who they are, that is one for whom they want to act.
    if (byId("user").value) query.set(byId("user").dataset.parameter, byId("user").value);
    return `/webhdfs/v1${encoded(of)}?${query}`;
  }

  async function answered(address, options) {
    const limit = AbortSignal.timeout(LIMIT_MS);
    let answer;
    try {
      answer = await fetch(address, { signal: limit, ...options });
    } catch (error) {
      const host = new URL(address, location.href).host;
      throw new Error(limit.aborted ? `${host} did not answer within ${LIMIT_MS / 1000} s`
        : `${host} cannot be reached from this browser, or does not serve pages of ${location.host}`);
    }
    if (answer.ok) return answer;
    let why = `${answer.status} ${answer.statusText}`;
    try {
      const found = (await answer.json()).RemoteException;
      why = `${found.exception}: ${found.message}`;
    } catch { /* the status says enough */ }
    throw new Error(why);
  }

  const json = async (...asked) => (await answered(url(...asked))).json();

  function size(bytes) {
    let value = bytes;
    for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
      if (value < 1024) return unit === "B" ? `${value} B` : `${value.toFixed(1)} ${unit}`;
      value /= 1024;
    }
    return `${value.toFixed(1)} PiB`;
  }

  const moment = (ms) => (ms ? new Date(ms).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "—");
  const badge = (level, text) => make("span", { class: `badge ${level}` }, text);

  function rights(status) {
    const number = parseInt(status.permission, 8) || 0;
    let text = "";
    for (let bit = 8; bit >= 0; bit--) text += number & (1 << bit) ? "rwx"[(8 - bit) % 3] : "-";
    if (number & 0o1000) text = text.slice(0, -1) + (number & 1 ? "t" : "T");
    return ({ DIRECTORY: "d", SYMLINK: "l" }[status.type] || "-") + text + (status.aclBit ? "+" : "");
  }

  function trouble(error) {
    const place = byId("trouble");
    place.hidden = !error;
    place.textContent = error ? shown(error.message || String(error)) : "";
  }

  const link = (to, text) => make("a", { href: `#${encoded(to)}` }, shown(text));
  const within = (directory, name) => (name ? `${directory === "/" ? "" : directory}/${name}` : directory);

  function crumbs(of) {
    const list = make("ul", {}, make("li", {}, link("/", "/ (root)")));
    let so_far = "";
    for (const name of of.split("/").filter(Boolean)) {
      so_far += `/${name}`;
      list.append(make("li", {}, link(so_far, name)));
    }
    list.lastChild.firstChild.setAttribute("aria-current", "location");
    byId("crumbs").replaceChildren(list);
  }

  function table(caption, heads, right) {
    const row = make("tr", {});
    heads.forEach((head, at) => row.append(make("th", { scope: "col", class: right.includes(at) ? "number" : null }, head)));
    const rows = make("tbody", {});
    const whole = make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
      make("table", {}, make("caption", {}, caption), make("thead", {}, row), rows));
    return [whole, rows];
  }

  function entry(directory, status) {
    const name = status.pathSuffix;
    const is_file = status.type === "FILE";
    return make("tr", {},
      make("th", { scope: "row" }, link(within(directory, name), name + (status.type === "DIRECTORY" ? "/" : ""))),
      make("td", { class: "number" }, is_file ? size(status.length) : "—"),
      make("td", { class: "number" }, is_file ? String(status.replication) : "—"),
      make("td", {}, shown(`${status.owner}:${status.group}`)),
      make("td", {}, make("code", {}, rights(status))),
      make("td", {}, moment(status.modificationTime)));
  }

  async function showDirectory(of, mine) {
    const [whole, rows] = table("Entries", ["Name", "Size", "Replication", "Owner", "Rights", "Changed"], [1, 2]);
    const place = byId("listing");
    const more = byId("more");
    let after = "";
    let count = 0;
    const next = async () => {
      const found = (await json(of, "LISTSTATUS_BATCH", after ? { startAfter: after } : {})).DirectoryListing;
      if (mine !== turn) return;
      const entries = found.partialListing.FileStatuses.FileStatus;
      for (const each of entries) rows.append(entry(of, each));
      count += entries.length;
      if (entries.length) after = entries[entries.length - 1].pathSuffix;
      more.hidden = !(found.remainingEntries && entries.length);
      byId("summary").textContent = `${count.toLocaleString("en")} entries` +
        (found.remainingEntries ? `, ${found.remainingEntries.toLocaleString("en")} more` : "");
      place.replaceChildren(count ? whole : make("p", { class: "quiet" }, "This directory is empty."));
    };
    more.onclick = () => next().catch(trouble);
    await next();
  }

  function health(block, wanted, is_open, is_last) {
    const count = block.locations.length;
    if (block.isCorrupt) return badge("bad", "corrupt");
    if (!count) return badge(is_open && is_last ? "idle" : "bad", is_open && is_last ? "not reported yet" : "no replica");
    if (is_open && is_last) return badge("idle", "being written");
    return count < wanted ? badge("warn", `${count} of ${wanted} replicas`) : badge("ok", "whole");
  }

  const STATES = { NORMAL: "", DECOMMISSION_INPROGRESS: " (leaving)", DECOMMISSIONED: " (decommissioned)",
    ENTERING_MAINTENANCE: " (entering maintenance)", IN_MAINTENANCE: " (in maintenance)" };

  // Over TLS for those who see this page over TLS, and where there is nothing else.
  function home(node) {
    const name = node.ipAddr || node.hostName;
    if (node.infoSecurePort && (location.protocol === "https:" || !node.infoPort)) return `https://${name}:${node.infoSecurePort}/`;
    return node.infoPort ? `http://${name}:${node.infoPort}/` : null;
  }

  function host(node) {
    const label = `${node.hostName}:${node.xferPort}`, page = home(node);
    const at = page ? make("a", { href: page }, shown(label)) : shown(label);
    return make("li", {}, at, shown(` ${node.networkLocation || ""}${STATES[node.adminState] || ""}`));
  }

  async function blocks(of, status, mine) {
    const found = (await json(of, "GET_BLOCK_LOCATIONS", { offset: 0, length: Math.max(1, status.length) })).LocatedBlocks;
    if (mine !== turn) return null;
    const all = found.locatedBlocks;
    const list = make("ol", { class: "blocks" });
    const poor = all.filter((each) => each.isCorrupt || each.locations.length < status.replication).length;
    let drawn = 0;
    const button = make("button", { type: "button", class: "plain" }, "More blocks");
    const draw = () => {
      for (const each of all.slice(drawn, drawn + 100)) {
        list.append(make("li", {},
          make("strong", {}, `blk_${each.block.blockId}_${each.block.generationStamp} `),
          health(each, status.replication, found.isUnderConstruction, drawn === all.length - 1),
          ` from byte ${each.startOffset.toLocaleString("en")}, ${size(each.block.numBytes)}`,
          make("ul", {}, ...each.locations.map(host))));
        drawn += 1;
      }
      button.hidden = drawn >= all.length;
    };
    button.addEventListener("click", draw);
    draw();
    const word = all.length === 1 ? "block" : "blocks";
    return make("div", {}, make("h3", {}, `${all.length.toLocaleString("en")} ${word}`, " ",
      all.length ? (poor ? badge("warn", `${poor} not whole`) : badge("ok", "all whole")) : ""), list, button);
  }

  function asText(bytes) {
    const text = new TextDecoder("utf-8").decode(bytes);
    const odd = (text.match(/[\u0000-\u0008\u000e-\u001f\ufffd]/g) || []).length;
    if (odd <= text.length / 20 + 2) return shownText(text);
    const lines = [];
    for (let at = 0; at < Math.min(bytes.length, 2048); at += 16) {
      const part = [...bytes.slice(at, at + 16)];
      const letters = part.map((each) => (each >= 32 && each < 127 ? String.fromCharCode(each) : ".")).join("");
      lines.push(`${at.toString(16).padStart(8, "0")}  ${part.map((each) => each.toString(16).padStart(2, "0")).join(" ").padEnd(47)}  ${letters}`);
    }
    return lines.join("\n");
  }
  const shownText = (text) => text.split("\n").map((line) => line.split("\t").map(shown).join("\t")).join("\n");

  async function preview(of, status, which, place) {
    const offset = which === "tail" ? Math.max(0, status.length - PREVIEW) : 0;
    const answer = await answered(url(of, "OPEN", { offset, length: PREVIEW, ...HERE }));
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const said = which === "tail" ? `The last ${size(bytes.length)}` : `The first ${size(bytes.length)}`;
    place.replaceChildren(make("h3", {}, said),
      make("pre", { tabindex: "0", role: "region", "aria-label": said }, bytes.length ? asText(bytes) : "(empty)"));
  }

  async function showFile(of, status, mine) {
    const view = make("div", { "aria-live": "polite" });
    const see = (which) => () => { trouble(null); preview(of, status, which, view).catch(trouble); };
    const facts = make("dl", { class: "facts" });
    for (const [name, value] of [["Path", shown(of)], ["Size", `${size(status.length)} (${status.length.toLocaleString("en")} bytes)`],
      ["Replication", String(status.replication)], ["Block size", size(status.blockSize)],
      ["Owner", shown(`${status.owner}:${status.group}`)], ["Rights", rights(status)], ["Changed", moment(status.modificationTime)]]) {
      facts.append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
    }
    const map = make("div", {}, make("p", { class: "quiet" }, "Looking for its blocks …"));
    byId("file").replaceChildren(facts,
      make("p", {},
        make("a", { href: url(of, "OPEN", HERE), download: of.split("/").pop() }, "Download"), " ",
        make("button", { type: "button", class: "plain", onclick: see("head") }, "First part"), " ",
        make("button", { type: "button", class: "plain", onclick: see("tail") }, "Last part")),
      view, map);
    byId("file-part").hidden = false;
    try {
      const found = await blocks(of, status, mine);
      if (found && mine === turn) map.replaceChildren(found);
    } catch (error) {
      map.replaceChildren(make("p", {}, badge("bad", "no block map"), ` ${shown(error.message)}`));
    }
  }

  async function show() {
    const mine = ++turn;
    const of = path();
    trouble(null);
    byId("path").value = of;
    crumbs(of);
    document.title = document.title.replace(/^[^·]*/, `${shown(of)} `);
    try {
      const status = (await json(of, "GETFILESTATUS")).FileStatus;
      if (mine !== turn) return;
      const is_directory = status.type === "DIRECTORY";
      byId("directory").hidden = byId("upload-part").hidden = !is_directory;
      byId("file-part").hidden = true;
      await (is_directory ? showDirectory(of, mine) : showFile(of, status, mine));
      // Whoever reads with ears hears where they are; at the first page nothing is moved.
      if (last && mine === turn) (is_directory ? byId("path") : byId("file-title")).focus({ preventScroll: true });
      last = of;
    } catch (error) {
      if (mine !== turn) return;
      byId("directory").hidden = byId("upload-part").hidden = byId("file-part").hidden = true;
      trouble(error);
    }
  }

  async function upload(event) {
    event.preventDefault();
    const file = byId("upload-file").files[0];
    const said = byId("upload-said");
    const button = event.submitter;
    if (!file) return;
    const target = within(path(), file.name);
    if (button) button.disabled = true;
    said.textContent = `Uploading ${size(file.size)} to ${shown(target)} …`;
    try {
      const asked = url(target, "CREATE", { overwrite: "false", ...HERE });
      await answered(asked, { method: "PUT", body: file, headers: OURS, signal: null });
      said.textContent = `${shown(target)} is there, with ${size(file.size)}.`;
      await showDirectory(path(), turn);
    } catch (error) {
      said.textContent = `${shown(target)} was not uploaded: ${shown(error.message)}`;
    } finally {
      if (button) button.disabled = false;
    }
  }

  byId("user").value = sessionStorage.getItem("user") || "";
  byId("user").addEventListener("change", () => { sessionStorage.setItem("user", byId("user").value); });
  byId("go").addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = `#${encoded(byId("path").value || "/")}`;
    if (location.hash === wanted) show(); else location.hash = wanted;
  });
  byId("upload").addEventListener("submit", upload);
  addEventListener("hashchange", show);
  show();
})();
