import type { figures as english } from '../en/figures.ts';

export const figures: typeof english = {
  figures: {
    title: 'Geschwindigkeit und Verfügbarkeit',
    publicPage: 'Öffentliche Seite',
    firstToken: 'Zeit bis zum ersten Token',
    imageReady: 'Bild fertig',
    tokensPerSecond: 'Tokens pro Sekunde',
    half: 'p50',
    most: 'p95',
    halfHint: 'Die Hälfte der Anfragen ist mindestens so schnell.',
    mostHint: '95 von 100 Anfragen sind mindestens so schnell.',
    seconds: '{{value}} s',
    lead: 'Aus Anfragen aller Kunden in den letzten 30 Tagen.',
    notMeasured: 'Noch nicht gemessen',
    uptime: 'Verfügbarkeit, letzte 90 Tage',
    uptimeLead: 'Der Anteil der Anfragen, die nicht an diesem Server oder einem Backend gescheitert sind.',
    noRequests: 'keine Anfragen',
    strip: '{{share}} der Anfragen der letzten 90 Tage sind nicht gescheitert.',
    daysAgo: 'Vor 90 Tagen',
    today: 'Heute',
    typical: {
      chat_completion: '1.000 typische Chats',
      embedding: '1.000 typische Texte',
      moderation: '1.000 typische Texte',
      image_generation: '100 Bilder',
    },
    typicalHint: {
      chat_completion:
        'Ein typischer Chat hat 500 Eingabe- und 300 Ausgabetokens, keine davon aus dem Cache.',
      embedding: 'Ein typischer Text hat 500 Tokens.',
      moderation: 'Ein typischer Text hat 500 Tokens.',
      image_generation: 'In der Standardgröße.',
    },
  },
};
