import type { docs as english } from '../en/docs.ts';

export const docs: typeof english = {
  docs: {
    title: 'Doku',
    guides: 'Anleitungen',
    clients: 'Programme',
    operators: 'Für Betreiber',
    language: 'Sprache',
    reference: 'Referenz',
    api: 'API-Referenz',
    errors: 'Fehler',
    page: 'Seite',
    english: 'Die Anleitungen sind auf Englisch geschrieben.',
    missing: 'Seite nicht gefunden',
    noGuides: 'Diesem Build liegen keine Anleitungen bei.',
    apiLead:
      'Alles unter {{base}}, danach die Pfade für OpenAI- und Anthropic-Clients unter /v1. Die Codes stehen unter Fehler.',
    parameters: 'Parameter',
    headers: 'Antwort-Header',
    body: 'Inhalt',
    answer: 'Antwort',
    answers: 'Antworten',
    required: 'nötig',
    example: 'Beispiel',
    noToken: 'Ohne Token nutzbar',
    try: 'Ausprobieren',
    tryLead:
      'Sendet eine echte Anfrage von dieser Seite; sie wird berechnet wie jede andere. Das Token bleibt im Speicher dieser Seite.',
    token: 'API-Token',
    send: 'Senden',
    badJson: 'Der Inhalt ist kein gültiges JSON.',
    picture: 'Bild {{number}}',
  },
};
