"use strict";
// Sorting, searching and paging of the tables. Names are only ever set as text, never as markup.
for (const box of document.querySelectorAll("[data-table]")) {
  const data = JSON.parse(box.querySelector("script").textContent);
  const rows = data.rows.map((row) => row.map((cell) => (Array.isArray(cell) ? cell : [cell, cell])));
  const body = box.querySelector("tbody");
  const heads = [...box.querySelectorAll("thead th")];
  const status = box.querySelector("[data-status]");
  const more = box.querySelector("[data-more]");
  const all = box.querySelector("[data-all]");
  const search = box.querySelector("input");
  const picks = [...box.querySelectorAll("[data-pick]")];
  const verdict = data.columns.findIndex((column) => column.kind === "verdict");
  const state = { column: -1, down: false, text: "", pick: "", shown: data.page };

  // Intervals sort by their middle, shares of states by their mean state.
  const key = ([, value], kind) => (!Array.isArray(value) ? value : kind === "shares" ? value.reduce((sum, part, k) => sum + k * part, 0) : value[0] + value[1]);
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
    return state.down ? -order : order;
  };
  const chosen = () => {
    const found = rows.filter((row) =>
      (!state.text || String(row[0][0]).toLowerCase().includes(state.text)) &&
      (!state.pick || (state.pick === "fragile" ? row[verdict][0].includes("fragile") : row[verdict][0].startsWith(state.pick))));
    const kind = data.columns[state.column]?.kind;
    return state.column < 0 ? found : found.sort((a, b) => compare(key(a[state.column], kind), key(b[state.column], kind)));
  };
  const cell = (column, [text, value], first) => {
    const made = document.createElement(first ? "th" : "td");
    if (first) made.scope = "row";
    made.className = column.kind;
    if (column.kind === "verdict") {
      const pill = document.createElement("span");
      pill.className = "pill " + String(text).split(",")[0];
      pill.textContent = text;
      made.append(pill);
    } else {
      if (column.kind === "shares" && value.length === 2) {
        // A single share stands beside its bar; several need a line of their own.
        const said = document.createElement("span");
        said.className = "said";
        said.textContent = text;
        made.append(said);
      } else made.textContent = text;
      if (column.kind === "interval" && data.bar && value[0] !== null) made.append(bar(value));
      if (column.kind === "shares") made.append(shares(value));
    }
    return made;
  };
  const bar = ([low, high]) => {
    const [from, to, zero] = data.bar;
    const at = (value) => (100 * (value - from)) / (to - from || 1);
    const line = document.createElement("span");
    const span = document.createElement("i");
    const mark = document.createElement("u");
    line.className = "bar";
    line.setAttribute("aria-hidden", "true");
    span.className = low > zero ? "up" : high < zero ? "down" : "";
    span.style.left = at(low) + "%";
    span.style.width = at(high) - at(low) + "%";
    mark.style.left = at(zero) + "%";
    line.append(span, mark);
    return line;
  };
  const shares = (parts) => {
    const line = document.createElement("span");
    line.className = "states";
    line.setAttribute("aria-hidden", "true");
    // Of two states the share of the second one is read from the left, as a bar.
    const order = parts.length === 2 ? [1, 0] : parts.map((_, k) => k);
    for (const k of order) {
      const piece = document.createElement("i");
      piece.style.flex = parts[k];
      piece.style.opacity = 0.12 + (0.88 * k) / (parts.length - 1);
      line.append(piece);
    }
    return line;
  };
  const draw = () => {
    const found = chosen();
    const part = document.createDocumentFragment();
    for (const row of found.slice(0, state.shown)) {
      const line = document.createElement("tr");
      line.append(...row.map((content, k) => cell(data.columns[k], content, k === 0)));
      part.append(line);
    }
    body.replaceChildren(part);
    const shown = Math.min(state.shown, found.length);
    status.textContent = `${shown.toLocaleString("en")} of ${found.length.toLocaleString("en")} shown` +
      (found.length < rows.length ? `, ${rows.length.toLocaleString("en")} in all` : "");
    more.hidden = found.length <= state.shown;
    all.hidden = more.hidden || found.length > 2000;
    more.parentElement.hidden = rows.length <= data.page && found.length === rows.length;
  };
  heads.forEach((head, k) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      state.down = state.column === k ? !state.down : data.columns[k].kind !== "text";
      state.column = k;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      draw();
    });
  });
  if (search) search.addEventListener("input", () => { state.text = search.value.trim().toLowerCase(); state.shown = data.page; draw(); });
  picks.forEach((pick) => pick.addEventListener("click", () => {
    state.pick = state.pick === pick.dataset.pick ? "" : pick.dataset.pick;
    picks.forEach((other) => other.setAttribute("aria-pressed", String(other.dataset.pick === state.pick)));
    state.shown = data.page;
    draw();
  }));
  more.addEventListener("click", () => { state.shown += 4 * data.page; draw(); });
  all.addEventListener("click", () => { state.shown = rows.length; draw(); });
  box.querySelector(".tools")?.removeAttribute("hidden");
  draw();
}
const copy = document.querySelector("[data-copy]");
if (copy && navigator.clipboard) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById("paragraph").textContent.trim());
    copy.textContent = "Copied";
  });
}
// On paper nothing can be opened: what is folded is unfolded for it.
const folded = [...document.querySelectorAll("details:not([open])")];
addEventListener("beforeprint", () => folded.forEach((part) => { part.open = true; }));
addEventListener("afterprint", () => folded.forEach((part) => { part.open = false; }));
