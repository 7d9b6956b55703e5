// node screenshot.mjs PAGE.html OUT.png WIDTH HEIGHT light|dark [SELECTOR]: the top of a page, or one element of it.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page_file, out, width, height, scheme, selector] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: Number(width), height: Number(height) }, colorScheme: scheme });
const page = await context.newPage();
await page.goto(pathToFileURL(resolve(page_file)).href);
await (selector ? page.locator(selector).first() : page).screenshot({ path: out });
await browser.close();
