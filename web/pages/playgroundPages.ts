/** Separate from the other pages of an account, because the code that draws and edits images is large. */
export { default as ImagesPage } from './images/ImagesPage.tsx';
export { default as PlaygroundPage } from './playground/PlaygroundPage.tsx';
