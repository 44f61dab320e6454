/** `package-lock.json`, as far as it says what is only needed to develop. */
export interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean } | undefined>>;
}

/** Packages that a bundle has files of and that the bill of materials leaves out. */
export function undeliveredPackages(bundledFiles: readonly string[], { packages }: Lockfile): string[] {
  const folders = bundledFiles.flatMap((file) => PACKAGE_FOLDER.exec(file)?.[1] ?? []);
  return [...new Set(folders)]
    .filter((folder) => packages[folder]?.dev ?? packages[folder] === undefined)
    .sort();
}

/** Of the innermost package that a file is in, from the first `node_modules` on, as the lockfile names it. */
const PACKAGE_FOLDER = /^(?:.*?\/)??(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\//;
