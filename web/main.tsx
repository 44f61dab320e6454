import './styles/index.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './App.tsx';
import { startI18n } from './lib/i18n.ts';
import { restoreTyped } from './lib/typed.ts';

const root = document.getElementById('root');
if (!root) throw new Error('the page has no root element');

// Rings around what is focused are for whoever moves by keyboard; browsers draw some for the mouse too.
addEventListener('pointerdown', () => (document.documentElement.dataset['pointer'] = 'used'), true);
addEventListener('keydown', () => delete document.documentElement.dataset['pointer'], true);

async function start(page: HTMLElement): Promise<void> {
  await startI18n();
  restoreTyped();
  createRoot(page).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

// Not awaited: into a module that waits at its top, the bundler puts nothing that pages loaded later need too, and the
// first page would be twenty files.
void start(root);
