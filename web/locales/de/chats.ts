import type { chats as english } from '../en/chats.ts';

export const chats: typeof english = {
  chats: {
    title: 'Ihre Chats',
    open: 'Chats',
    lead: 'Bis zu {{most, number}} Chats bleiben in diesem Browser gespeichert, ohne Bilder und PDF-Dateien. Beim Abmelden werden sie gelöscht.',
    empty: 'Noch keine Chats',
    untitled: 'Chat ohne Titel',
    name: 'Name des Chats',
    rename: '„{{title}}“ umbenennen',
    link: 'Link zu „{{title}}“ kopieren',
    copied: 'Link kopiert. Der Chat steckt im Link selbst; wer ihn öffnet, muss hier angemeldet sein.',
    tooLong: 'Dieser Chat ist zu lang für einen Link. Exportieren Sie ihn als Datei.',
    export: '„{{title}}“ als Datei exportieren',
    import: 'Datei importieren',
    noChat: 'Das ist kein exportierter Chat.',
    brokenLink: 'Der Chat in diesem Link ist unvollständig.',
    remove: '„{{title}}“ löschen',
    clear: 'Alle löschen',
    clearTitle: 'Alle Chats löschen?',
    clearLead: 'Sie werden endgültig aus diesem Browser gelöscht. Ihre Kosten werden nicht erstattet.',
    tryOn: 'Mit {{model}} versuchen',
    whyRefused: 'Warum wurde sie abgelehnt?',
  },
};
