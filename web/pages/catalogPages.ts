/** Backends, models and prices: half of what administrators load, and most of their visits need none of it. */
export { default as BackendsPage } from './admin/backends/BackendsPage.tsx';
export { default as EditBackendPage } from './admin/backends/edit/EditBackendPage.tsx';
export { default as NewBackendPage } from './admin/backends/new/NewBackendPage.tsx';
export { default as CatalogPage } from './admin/catalog/CatalogPage.tsx';
export { default as PricesPage } from './admin/prices/PricesPage.tsx';
