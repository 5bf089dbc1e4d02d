// Imports packages from a directory that is given at run time, instead of one above this file.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

// Prefers the entry for `import`, which is the only one that some packages have.
export function modules(directory) {
  const require = createRequire(path.join(directory, "none.js"));
  return async (name) => {
    try {
      return await import(pathToFileURL(require.resolve(name)).href);
    } catch (error) {
      if (error.code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw error;
      const root = path.join(directory, name);
      const { default: manifest } = await import(pathToFileURL(path.join(root, "package.json")).href, {
        with: { type: "json" },
      });
      const entry = manifest.exports?.["."] ?? manifest.exports ?? manifest.main;
      const file = typeof entry === "string" ? entry : (entry.import?.default ?? entry.import ?? entry.default);
      return import(pathToFileURL(path.join(root, file)).href);
    }
  };
}
