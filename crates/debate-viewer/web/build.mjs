// Builds the page into the folder named as the argument, by default ../assets. The same sources give the same bytes.
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = resolve(process.argv[2] ?? join(here, "../assets"));
const { version, license } = JSON.parse(await readFile(join(here, "node_modules/preact/package.json"), "utf8"));

await mkdir(target, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { viewer: "src/main.tsx" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  banner: { js: `/* With Preact ${version} by Jason Miller, licence ${license}. Built from web/; do not edit. */` },
  logLevel: "warning",
});
await build({
  absWorkingDir: here,
  entryPoints: { viewer: "src/viewer.css" },
  outdir: target,
  minify: true,
  charset: "utf8",
  target: "es2022",
  logLevel: "warning",
});
for (const file of ["index.html", "icon.svg"]) await copyFile(join(here, "src", file), join(target, file));
