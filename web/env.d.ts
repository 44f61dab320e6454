declare module '*.css';
declare module '*.md' {
  const text: string;
  export default text;
}
declare module 'virtual:guides' {
  export interface Guide {
    readonly slug: string;
    readonly group: 'guides' | 'operators' | 'clients';
    readonly title: string;
    readonly load: () => Promise<{ default: string }>;
  }
  export const guides: readonly Guide[];
}
