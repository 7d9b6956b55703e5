// Every page of the built site in headless Chromium, light and dark: node site.mjs build/site [SCREENSHOTS] [RESULT.md].
// Prints what it complains of; exits 1 then.
import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [folder, pictures, result] = process.argv.slice(2).map((path) => resolve(path));
const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".html") && !name.startsWith("_static"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const anchors = new Map(); // page -> ids on it
const links = []; // [page, target]
let complaints = 0;
const MODES = [
  { width: 1280, scheme: "light" },
  { width: 390, scheme: "light" },
  { width: 1280, scheme: "dark" },
  { width: 390, scheme: "dark" },
];
const CONTRAST = 4.5; // WCAG AA for text of normal size

// Texts whose colour is too near to that of their background, and pictures that are drawn on none.
function unreadable(least) {
  const parse = (colour) => (colour.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) =>
    [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if ((colour[3] ?? 1) > 0.5) return colour;
    }
    return [255, 255, 255];
  };
  const texts = [];
  for (const element of document.querySelectorAll("article p, article li, article td, article th, article h1, article h2, article h3, article a, article code, article pre, article pre span, nav a")) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    if (!own || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const [one, two] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (two + 0.05);
    if (ratio < least) texts.push(`${element.tagName.toLowerCase()} "${element.textContent.trim().slice(0, 30)}" (${ratio.toFixed(1)})`);
  }
  const pictures = [...document.querySelectorAll("article img")]
    .filter((image) => image.clientWidth > 0 && light(behind(image)) < 0.5)
    .map((image) => image.src.slice(-60));
  return { texts: [...new Set(texts)], pictures };
}

function complain(name, text) {
  complaints += 1;
  console.log(`${name}: ${text}`);
}

for (const name of names.sort()) {
  for (const { width, scheme } of MODES) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, reducedMotion: "reduce", colorScheme: scheme });
    page.on("console", (message) => message.type() === "error" && complain(name, message.text()));
    page.on("pageerror", (error) => complain(name, error.message));
    page.on("request", (request) => /^(file|data):/.test(request.url()) || complain(name, `asks for ${request.url()}`));
    await page.goto(pathToFileURL(`${folder}/${name}`).href);
    const found = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      broken: [...document.images].filter((image) => !image.complete || !image.naturalWidth).map((image) => image.src),
      nameless: [...document.images].filter((image) => !image.alt || /\.(png|svg)$/.test(image.alt)).map((image) => image.src.slice(-80)),
      ids: [...document.querySelectorAll("[id]")].map((element) => element.id),
      links: [...document.querySelectorAll("a[href]")].map((element) => element.href),
      failed: /command not found|Traceback \(most recent/.exec(document.body.innerText)?.[0],
    }));
    if (found.wide > 0) complain(name, `is ${found.wide} pixels too wide at ${width}`);
    for (const source of found.broken) complain(name, `has no picture ${source}`);
    for (const source of found.nameless) complain(name, `has no words for the picture ${source}`);
    if (width === 1280) {
      const { texts, pictures: dark } = await page.evaluate(unreadable, CONTRAST);
      if (texts.length) complain(name, `${texts.length} texts are hard to read in ${scheme} mode, for example ${texts.slice(0, 2).join(", ")}`);
      for (const source of dark) complain(name, `draws ${source} on a dark background in ${scheme} mode`);
    }
    const theme = await page.evaluate(() => document.documentElement.dataset.theme);
    if (theme !== scheme) complain(name, `is ${theme} where ${scheme} was asked for`);
    if (found.failed) complain(name, `shows "${found.failed}"`);
    anchors.set(`${folder}/${name}`, new Set(found.ids));
    if (width === 1280 && scheme === "light") links.push(...found.links.filter((link) => link.startsWith("file:")).map((link) => [name, link]));
    if (pictures && !/generated|measured/.test(name)) {
      const file = `${pictures}/${scheme}-${width}/${name.replaceAll("/", "-").replace(/html$/, "jpg")}`;
      await mkdir(`${pictures}/${scheme}-${width}`, { recursive: true });
      await page.screenshot({ path: file, fullPage: true, type: "jpeg", quality: 70 });
    }
    await page.close();
  }
}
for (const [name, link] of links) {
  const [target, anchor] = [fileURLToPath(link.split("#")[0]), decodeURIComponent(link.split("#")[1] ?? "")];
  if (!existsSync(target)) complain(name, `links to ${relative(folder, target)}, which is not there`);
  else if (anchor && anchors.has(target) && !anchors.get(target).has(anchor)) complain(name, `links to ${relative(folder, target)}#${anchor}, which is not there`);
}
const version = `Chromium ${browser.version()}`;
await browser.close();
const summary = `${names.length} pages at two widths, light and dark, ${links.length} links: ${complaints} complaints`;
console.log(summary);
if (result) await writeFile(result, `# The site in a browser\n\n\`node tests/report/browser/site.mjs build/site build/site-pictures benchmarks/results/site_browser.md\`\n\n${version}, ${new Date().toISOString().slice(0, 10)}. ${summary}.\n\nEvery page at 1280 and 390 pixels: no error, no request, no dead link, no missing picture, a description of every picture, nothing wider than the page;\ntexts have a contrast of ${CONTRAST} or more, and no picture stands on a dark background.\n`);
process.exit(complaints ? 1 : 0);
