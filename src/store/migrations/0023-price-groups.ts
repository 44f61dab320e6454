/** The price group of a wallet, by its name in the catalog. Nobody is in one before every node knows them; see other-nodes.ts. */
export function priceGroups(): readonly string[] {
  return ['ALTER TABLE account ADD COLUMN price_group TEXT'];
}
