import './styles/index.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './App.tsx';
import { startI18n } from './lib/i18n.ts';
import { restoreTyped } from './lib/typed.ts';

const root = document.getElementById('root');
if (!root) throw new Error('the page has no root element');

await startI18n();
restoreTyped();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
