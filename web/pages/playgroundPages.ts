/** Apart from the other pages of an account: what draws and edits images is heavy. */
export { default as ImagesPage } from './images/ImagesPage.tsx';
export { default as PlaygroundPage } from './playground/PlaygroundPage.tsx';
