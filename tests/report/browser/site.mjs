// Every page of the built site in headless Chromium: node site.mjs build/site [SCREENSHOTS]. Prints what it complains of; exits 1 then.
import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [folder, pictures] = process.argv.slice(2).map((path) => resolve(path));
const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".html") && !name.startsWith("_static"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const anchors = new Map(); // page -> ids on it
const links = []; // [page, target]
let complaints = 0;

function complain(name, text) {
  complaints += 1;
  console.log(`${name}: ${text}`);
}

for (const name of names.sort()) {
  for (const width of [1280, 390]) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, reducedMotion: "reduce" });
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
    if (found.failed) complain(name, `shows "${found.failed}"`);
    anchors.set(`${folder}/${name}`, new Set(found.ids));
    if (width === 1280) links.push(...found.links.filter((link) => link.startsWith("file:")).map((link) => [name, link]));
    if (pictures && !/generated|measured/.test(name)) {
      const file = `${pictures}/${width}/${name.replaceAll("/", "-").replace(/html$/, "jpg")}`;
      await mkdir(`${pictures}/${width}`, { recursive: true });
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
await browser.close();
console.log(`${names.length} pages at two widths, ${links.length} links: ${complaints} complaints`);
process.exit(complaints ? 1 : 0);
