/**
 * The bill without what is only needed to develop. `npm sbom --omit=dev` leaves out too much: whatever a development
 * package needs as well, such as zod and pg, which are delivered.
 */
export function deliveredBill(bill: BillOfMaterials): BillOfMaterials {
  const components = bill.components.filter(
    ({ properties = [] }) => !properties.some(({ name }) => name === 'cdx:npm:package:development'),
  );
  const left = new Set(components.map((component) => component['bom-ref']));
  const root = bill.metadata.component['bom-ref'];
  const dependencies = bill.dependencies
    .filter(({ ref }) => ref === root || left.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => left.has(other)) }));
  return { ...bill, components, dependencies };
}

/** CycloneDX 1.5, as `npm sbom` writes it. */
export interface BillOfMaterials {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly 'bom-ref': string } };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
  readonly licenses?: readonly Licence[];
}

interface Licence {
  readonly license?: { readonly id?: string; readonly name?: string };
  readonly expression?: string;
}
