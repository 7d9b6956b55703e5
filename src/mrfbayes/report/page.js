"use strict";
// Sorting, searching and paging of the tables. Names are only ever set as text, never as markup.
const whole = []; // on paper all rows of a table stand, up to 2,000
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
  let before = 0;
  whole.push((all) => { if (all) { before = state.shown; state.shown = Math.max(before, Math.min(rows.length, 2000)); } else state.shown = before; draw(); });
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
// The network that the reader can change: which one, which layout, how much evidence; nodes are dragged or moved by keys.
for (const box of document.querySelectorAll(".live")) {
  const data = JSON.parse(box.querySelector("script").textContent);
  const part = (name) => box.querySelector(`[data-live="${name}"]`);
  const svg = box.querySelector("svg");
  const make = (tag, attributes, parent) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    parent.append(made);
    return made;
  };
  const fills = ["#a6cee3", "#fdbf6f", "#b2df8a", "#cab2d6", "#fb9a99", "#ffff99", "#d9d9d9", "#ccebc5"];
  const many = data.nodes.length > 30, radius = many ? 8 : 11;
  const state = { network: 0, layout: Object.keys(data.layouts)[0], least: 1, chosen: -1, focus: 0, places: [] };
  const option = (select, value, text) => { const made = document.createElement("option"); made.value = value; made.textContent = text; select.append(made); };
  data.networks.forEach((network, k) => option(part("network"), k, network.name));
  Object.keys(data.layouts).forEach((name) => option(part("layout"), name, name));
  const lines = make("g", {}, svg), discs = make("g", {}, svg);
  const power = (value) => (Math.abs(value) < 0.05 ? "1" : value > 0 ? (10 ** value).toLocaleString("en", { maximumSignificantDigits: 2 }) : `1/${(10 ** -value).toLocaleString("en", { maximumSignificantDigits: 2 })}`);
  // Names stand on the side of their node where they cover least of the others, as in plots/layouts.py; a phone has larger letters.
  const directions = [[1, 0], [-1, 0], [0, 1], [0, -1]], letter = matchMedia("(max-width: 600px)").matches ? 24 : 15;
  const sides = (places, wide) => {
    const tall = 1.2 * letter, gap = radius + 9, centre = [0, 1].map((axis) => places.reduce((sum, at) => sum + at[axis], 0) / places.length);
    const box = (k, [dx, dy]) => [places[k][0] + dx * (wide[k] / 2 + gap), places[k][1] + dy * (tall / 2 + gap)];
    const taste = places.map(([x, y]) => directions.map(([dx, dy]) => -(dx * (x - centre[0]) + dy * (y - centre[1])) / 30000));
    const covered = (a, b, x, y) => Math.max(0, x - Math.abs(a[0] - b[0])) * Math.max(0, y - Math.abs(a[1] - b[1]));
    const found = taste.map((costs) => costs.indexOf(Math.min(...costs)));
    for (let round = 0; round < 4; round++) places.forEach((_, i) => {
      const costs = directions.map((direction, s) => {
        const mine = box(i, direction);
        let cost = mine[1] < tall || mine[1] > 600 - tall ? 1 : 0;
        places.forEach((at, j) => {
          if (j === i) return;
          cost += (covered(mine, box(j, directions[found[j]]), (wide[i] + wide[j]) / 2, tall) + 2 * covered(mine, at, wide[i] / 2 + gap, tall / 2 + gap)) / (wide[i] * tall);
        });
        return cost + taste[i][s];
      });
      found[i] = costs.indexOf(Math.min(...costs));
    });
    return found;
  };
  const arrange = () => {
    const wide = data.nodes.map((node) => 0.58 * letter * shown(node.name).length), least = radius + 8;
    let left = Math.min(250, Math.max(...wide) + radius + 12), right = left;
    for (let round = 0; round < 2; round++) {
      state.places = data.layouts[state.layout].map(([x, y]) => [left + (760 - left - right) * x, 34 + 532 * y]);
      state.sides = sides(state.places, wide);
      const reach = state.places.map(([x], k) => { const dx = directions[state.sides[k]][0]; return dx ? [Math.min(x, x + dx * (wide[k] + radius + 12)), Math.max(x, x + dx * (wide[k] + radius + 12))] : [x - wide[k] / 2, x + wide[k] / 2]; });
      [left, right] = [Math.max(least, left - Math.min(...reach.map((ends) => ends[0]))), Math.max(least, right - 760 + Math.max(...reach.map((ends) => ends[1])))];
    }
  };
  const visible = () => data.networks[state.network].edges.filter((edge) => edge[3] >= state.least);
  const joined = (edge) => edge[0] === state.chosen || edge[1] === state.chosen;
  const most = letter > 20 ? 13 : 22;
  const shown = (name) => (name.length > most ? name.slice(0, most - 8) + "\u2026" + name.slice(most > 20 ? -6 : -4) : name);
  const nodes = data.nodes.map((node, k) => {
    const group = make("g", { class: "node", role: "button", tabindex: k ? -1 : 0, "aria-pressed": "false" }, discs);
    make("circle", { class: "track", r: radius + 4 }, group);
    if (node.ring > 0) make("path", { class: "ring" }, group);
    const disc = make("circle", { class: "disc", r: radius }, group);
    if (node.community >= 0) disc.style.fill = fills[node.community % fills.length];
    make("text", {}, group).textContent = shown(node.name);
    return group;
  });
  const spoken = (name) => (shown(name) === name ? name : `${shown(name)} (${name})`);
  const place = () => {
    nodes.forEach((group, k) => {
      const [x, y] = state.places[k], r = radius + 4, angle = 2 * Math.PI * Math.min(data.nodes[k].ring, 0.9999);
      for (const circle of group.querySelectorAll("circle")) { circle.setAttribute("cx", x); circle.setAttribute("cy", y); }
      group.querySelector(".ring")?.setAttribute("d", `M ${x} ${y - r} A ${r} ${r} 0 ${angle > Math.PI ? 1 : 0} 1 ${x + r * Math.sin(angle)} ${y - r * Math.cos(angle)}`);
      const text = group.querySelector("text"), [dx, dy] = directions[state.sides[k]];
      text.setAttribute("x", x + dx * (r + 5));
      text.setAttribute("y", y + dy * (r + 5 + 0.4 * letter) + 0.34 * letter);
      text.setAttribute("text-anchor", ["end", "middle", "start"][dx + 1]);
    });
    for (const line of lines.children) {
      const [a, b] = line.dataset.ends.split(" ").map((k) => state.places[k]);
      line.setAttribute("x1", a[0]); line.setAttribute("y1", a[1]); line.setAttribute("x2", b[0]); line.setAttribute("y2", b[1]);
    }
  };
  const describe = (k) => {
    const found = visible().filter((edge) => edge[0] === k || edge[1] === k).sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
    const told = found.slice(0, 8).map((edge) => `${data.nodes[edge[0] === k ? edge[1] : edge[0]].name} ${edge[2].toFixed(2).replace("-", "\u2212")} (${data.networks[state.network].evidence} ${Math.abs(edge[3]) >= 6 ? (edge[3] > 0 ? "above " : "below ") : ""}${power(edge[3])}, ${data.verdicts[edge[4]]})`);
    const more = found.length > 8 ? ` and ${found.length - 8} more` : "";
    const node = data.nodes[k];
    return `${node.name}${node.text ? ": " + node.text : ""}. ${found.length} ${found.length === 1 ? "edge" : "edges"} shown${told.length ? ": " + told.join(", ") : ""}${more}.`;
  };
  const draw = () => {
    const network = data.networks[state.network], edges = visible();
    const widest = Math.max(1e-9, ...network.edges.map((edge) => Math.abs(edge[2])));
    lines.replaceChildren();
    for (const edge of edges.sort((a, b) => Math.abs(a[2]) - Math.abs(b[2]))) {
      const line = make("line", { "stroke-width": (0.6 + 7.4 * (Math.abs(edge[2]) / widest) ** 1.3) * (many ? 0.7 : 1) }, lines);
      line.dataset.ends = `${edge[0]} ${edge[1]}`;
      line.style.stroke = edge[2] >= 0 ? "var(--positive)" : "var(--negative)";
      line.style.opacity = Math.min(1, Math.max(0.18, 0.35 + 0.3 * edge[3]));
      if (edge[2] < 0) line.setAttribute("stroke-dasharray", "7 4");
      line.classList.toggle("dim", state.chosen >= 0 && !joined(edge));
    }
    const near = new Set(edges.filter(joined).flatMap((edge) => edge.slice(0, 2)));
    nodes.forEach((group, k) => {
      group.classList.toggle("dim", state.chosen >= 0 && k !== state.chosen && !near.has(k));
      group.setAttribute("aria-pressed", String(k === state.chosen));
      group.setAttribute("aria-label", `${spoken(data.nodes[k].name)}, ${edges.filter((edge) => edge[0] === k || edge[1] === k).length} edges shown`);
    });
    part("shown").textContent = `${power(state.least)}: ${edges.length} of ${network.edges.length} edges`;
    part("said").textContent = state.chosen >= 0 ? describe(state.chosen) : "Point at a node, or select it, to see its edges.";
    place();
  };
  const choose = (k) => { state.chosen = state.chosen === k ? -1 : k; draw(); };
  const focusOn = (k) => { nodes[state.focus].setAttribute("tabindex", -1); state.focus = (k + nodes.length) % nodes.length; nodes[state.focus].setAttribute("tabindex", 0); nodes[state.focus].focus(); };
  const move = (k, x, y) => { state.places[k] = [Math.min(740, Math.max(20, x)), Math.min(580, Math.max(20, y))]; place(); };
  nodes.forEach((group, k) => {
    let held = null;
    group.addEventListener("pointerenter", () => { if (state.chosen < 0) part("said").textContent = describe(k); });
    group.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY, false]; group.setPointerCapture(event.pointerId); });
    group.addEventListener("pointermove", (event) => {
      if (!held) return;
      if (Math.hypot(event.clientX - held[0], event.clientY - held[1]) > 4) held[2] = true;
      if (held[2]) { const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()); move(k, at.x, at.y); }
    });
    group.addEventListener("pointerup", () => { if (held && !held[2]) choose(k); held = null; });
    group.addEventListener("focus", () => { state.focus = k; if (state.chosen < 0) part("said").textContent = describe(k); });
    group.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (event.key === "Enter" || event.key === " ") choose(k);
      else if (event.key === "Escape" && state.chosen >= 0) choose(state.chosen);
      else if (step && event.shiftKey) move(k, state.places[k][0] + 15 * step[0], state.places[k][1] + 15 * step[1]);
      else if (step) focusOn(k + step[0] + step[1]);
      else return;
      event.preventDefault();
    });
  });
  part("network").addEventListener("change", (event) => { state.network = Number(event.target.value); draw(); });
  part("layout").addEventListener("change", (event) => { state.layout = event.target.value; arrange(); draw(); });
  part("evidence").addEventListener("input", (event) => { state.least = Number(event.target.value); draw(); });
  part("reset").addEventListener("click", () => {
    Object.assign(state, { network: 0, layout: Object.keys(data.layouts)[0], least: 1, chosen: -1 });
    part("network").value = 0; part("layout").value = state.layout; part("evidence").value = 1;
    arrange(); draw();
  });
  box.hidden = false;
  box.parentElement.querySelector("#network")?.classList.add("paper-only");
  document.body.classList.add("scripted");
  arrange();
  draw();
}
// On paper nothing can be opened: what is folded is unfolded for it.
const folded = [...document.querySelectorAll("details:not([open])")];
addEventListener("beforeprint", () => { folded.forEach((part) => { part.open = true; }); for (const show of whole) show(true); });
addEventListener("afterprint", () => { folded.forEach((part) => { part.open = false; }); for (const show of whole) show(false); });
