import { installPeer } from './install.ts';

export interface GoModule {
  readonly name: string;
  readonly path: string;
  readonly version: string;
  /** Pages that its sources embed and its module leaves out: an empty one stands in for each. */
  readonly pages: readonly string[];
  /** Further lines of the script, in the folder of the program. */
  readonly more?: readonly string[];
}

/** Builds a program from the Go module proxy, checked against Go's checksum database. */
export function buildGoModule({ name, path, version, pages, more = [] }: GoModule): string {
  const script = [
    'set -e',
    `dir=$(go mod download -json ${path}@v${version} | sed -n 's/^.*"Dir": "\\(.*\\)".*$/\\1/p')`,
    'cp -r "$dir" src',
    'chmod -R u+w src',
    'cd src',
    ...pages.map((page) => `mkdir -p "$(dirname ${page})" && echo '<!doctype html>' > ${page}`),
    `go build -buildvcs=false -ldflags "-X '${path}/common.Version=v${version}'" -o ../${name} .`,
    'cd .. && rm -rf src',
    ...more,
  ];
  return installPeer({ name, version, program: name, commands: () => [['sh', '-c', script.join('\n')]] });
}
