// The pages of pages.py in headless Chromium: node check.mjs FOLDER [RECORD]. Prints a line per check; exits 1 at the first
// failure. RECORD is a Markdown file that is written where all of them pass.
import assert from "node:assert/strict";
import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const folder = resolve(process.argv[2]);
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
await mkdir(`${folder}/screenshots`, { recursive: true });
const passed = [];
const good = (...words) => { passed.push(words.join(" ")); console.log("good", ...words); };

async function open(name, width, scheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => /^(file|data):/.test(request.url()) || complaints.push(`asks for ${request.url()}`));
  await page.goto(pathToFileURL(`${folder}/${name}.html`).href);
  return { context, page, complaints };
}

async function axeViolations(page) {
  // The page forbids scripts that are not its own; the test's own script goes in by the debugger, not by the page.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  const found = await session.send("Runtime.evaluate", {
    expression: "axe.run(document, { resultTypes: ['violations'] }).then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.impact, v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' :: ' + n.failureSummary)])))",
    awaitPromise: true, returnByValue: true,
  });
  assert.ok(found.result.value, JSON.stringify(found).slice(0, 500));
  return JSON.parse(found.result.value);
}

for (const name of ["network", "grid", "image", "structure", "sixty", "large"]) {
  for (const width of [390, 1024, 1920]) {
    for (const scheme of ["light", "dark"]) {
      const { context, page, complaints } = await open(name, width, scheme);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(overflow <= 0, `${name} ${width} ${scheme}: ${overflow} px too wide`);
      assert.equal(await page.evaluate(() => window.bad), undefined, `${name}: a name was run`);
      if (name !== "large") assert.deepEqual(await axeViolations(page), [], `${name} ${width} ${scheme}`);
      await page.screenshot({ path: `${folder}/screenshots/${name}-${width}-${scheme}.png`, fullPage: name !== "large" });
      assert.deepEqual(complaints, [], `${name} ${width} ${scheme}`);
      await context.close();
      good(name, width, scheme);
    }
  }
}

{ // sorting, searching, verdicts, more rows
  const { context, page } = await open("network", 1024, "light");
  const box = page.locator('[data-table="edges"]');
  const names = () => box.locator("tbody th").allTextContents();
  const column = async (k) => (await box.locator(`tbody tr td:nth-child(${k})`).allTextContents()).map((t) => Number(t.replace("\u2212", "-")));
  const all = await names();
  await box.locator("thead button").nth(2).click();
  let means = await column(3);
  assert.deepEqual(means, [...means].sort((a, b) => b - a));
  assert.equal(await box.locator("thead th").nth(2).getAttribute("aria-sort"), "descending");
  await box.locator("thead button").nth(2).click();
  means = await column(3);
  assert.deepEqual(means, [...means].sort((a, b) => a - b));
  await box.locator("input").fill("item 3");
  const found = await names();
  assert.ok(found.length > 0 && found.length < all.length && found.every((text) => text.includes("item 3")), found.join());
  await box.locator("input").fill("no such item");
  assert.equal((await names()).length, 0);
  await box.locator("input").fill("");
  await box.locator('[data-pick="present"]').click();
  assert.equal(await box.locator('[data-pick="present"]').getAttribute("aria-pressed"), "true");
  const verdicts = await box.locator("tbody .pill").allTextContents();
  assert.ok(verdicts.length > 0 && verdicts.every((text) => text.startsWith("present")));
  await context.close();
  good("sorting, searching, verdicts");
}
{ // the network of the page: evidence, which network, layout, select, drag, keyboard
  const { context, page, complaints } = await open("structure", 1024, "light");
  const live = page.locator(".live");
  const part = (name) => live.locator(`[data-live="${name}"]`);
  const lines = () => live.locator("svg line").count();
  assert.equal(await page.locator("#network").isVisible(), false);
  const slide = (value) => part("evidence").evaluate((range, to) => { range.value = to; range.dispatchEvent(new Event("input", { bubbles: true })); }, value);
  await slide(-6);
  const all = await lines();
  assert.equal(all, 6);
  await slide(6);
  assert.ok((await lines()) < all);
  await slide(-6);
  const networks = await part("network").locator("option").allTextContents();
  assert.deepEqual(networks, ["Average over graphs", "All edges in the model", "Group here", "Group there", "there less here"]);
  for (const [k] of networks.entries()) { await part("network").selectOption(String(k)); assert.equal(await lines(), 6); }
  await part("network").selectOption("0");
  const where = async (k) => Number(await live.locator(".node circle").nth(2 * k).getAttribute("cx"));
  const before = await where(0);
  await part("layout").selectOption("circle");
  assert.notEqual(await where(0), before);
  const node = live.locator(".node").first();
  await node.scrollIntoViewIfNeeded();
  const at = await node.locator(".disc").boundingBox();
  await page.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
  await page.mouse.down();
  await page.mouse.move(at.x + 60, at.y + 80, { steps: 4 });
  await page.mouse.up();
  const dragged = await live.locator(".node .disc").first().boundingBox();
  assert.ok(Math.abs(dragged.x - at.x) > 20, "not dragged");
  await node.focus();
  assert.match(await part("said").textContent(), /^sleep/);
  await page.keyboard.press("Enter");
  assert.equal(await node.getAttribute("aria-pressed"), "true");
  assert.ok((await live.locator("line.dim").count()) > 0);
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowRight");
  assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), /^worry/);
  await page.keyboard.press("Shift+ArrowDown");
  await part("reset").click();
  assert.equal(await part("layout").inputValue(), "springs");
  assert.deepEqual(complaints, []);
  await context.close();
  assert.ok((await stat(`${folder}/sixty.html`)).size < 3_000_000, "sixty items need 3 MB");
  good("network");
}
{ // on paper: all rows, and the network that was drawn
  const { context, page } = await open("sixty", 1024, "light");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator('[data-table="edges"] tbody tr').count(), 1770);
  assert.equal(await page.locator("#network").isVisible(), true);
  assert.equal(await page.locator(".live").isVisible(), false);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator('[data-table="edges"] tbody tr').count(), 25);
  await context.close();
  good("paper");
}
{ // 20,000 rows: twenty-five are shown, more on request, a search is quick and finds the last one
  const { context, page } = await open("large", 1024, "light");
  const box = page.locator('[data-table="edges"]');
  assert.equal(await box.locator("tbody tr").count(), 25);
  await box.locator("[data-more]").click();
  assert.equal(await box.locator("tbody tr").count(), 125);
  await box.locator("input").fill("99,99 \u2013 99,100");
  assert.equal(await box.locator("tbody tr").count(), 1);
  await context.close();
  good("20,000 rows");
}
{ // by keyboard alone: the first stop leads to the findings, tables can be sorted
  const { context, page } = await open("network", 1024, "light");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.locator('[data-table="edges"] thead button').first().focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator('[data-table="edges"] thead th').first().getAttribute("aria-sort"), "ascending");
  await context.close();
  good("keyboard");
}
{ // print: light, without tools
  const { context, page, complaints } = await open("network", 1024, "dark");
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".tools").first().isVisible(), false);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  await page.pdf({ path: `${folder}/screenshots/network.pdf`, format: "A4" });
  assert.deepEqual(complaints, []);
  await context.close();
  good("print");
}
if (process.argv[3]) {
  const sizes = [];
  for (const file of (await readdir(folder)).filter((name) => name.endsWith(".html")).sort()) {
    sizes.push(`| ${file} | ${((await stat(`${folder}/${file}`)).size / 1e6).toFixed(2)} |`);
  }
  await writeFile(process.argv[3], [
    "# The report in a browser", "",
    `\`make browser\` on ${new Date().toISOString().slice(0, 10)}: Chromium ${browser.version()}, axe-core ${JSON.parse(await readFile(createRequire(import.meta.url).resolve("axe-core/package.json"), "utf8")).version}.`,
    `${passed.length} checks passed, none failed. Pages are opened at three widths (px) in both colour schemes: none is wider than`,
    "the window, none has a message on the console, a request, or (but for the page of 20,000 rows) a violation found by axe.", "",
    ...passed.map((line) => `- ${line}`), "", "| page | MB |", "|---|---:|", ...sizes, "",
  ].join("\n"));
}
await browser.close();
