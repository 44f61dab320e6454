export const tables = {
  tables: {
    sortBy: 'Sortieren nach',
    ascending: 'Aufsteigend. Auf absteigend umstellen',
    descending: 'Absteigend. Auf aufsteigend umstellen',
    searchRequests: 'Nach ID, Client oder Fehler suchen',
    searchAllRequests: 'Nach ID, Konto, Client oder Fehler suchen',
    sortedSince:
      'Sortiert sind die 10.000 neuesten Anfragen bis zurück zum {{when}}. Für ältere wählen Sie einen früheren Zeitraum.',
    removeFilter: 'Filter entfernen: {{label}} {{value}}',
  },
  forecast: {
    line_one: 'Guthaben des letzten Tages',
    line_other: 'Guthaben der letzten {{count}} Tage',
    until: 'Beim Verbrauch dieser Woche reicht Ihr Guthaben bis zum {{date}}.',
    long: 'Beim Verbrauch dieser Woche reicht Ihr Guthaben mehr als ein Jahr.',
    no_spending: 'In den letzten 7 Tagen haben Sie nichts ausgegeben.',
    too_early: 'Nach einem Tag Nutzung sehen Sie hier, wie lange Ihr Guthaben reicht.',
    empty: 'Ihr Guthaben ist aufgebraucht. Anfragen sind angehalten, bis Sie es aufladen.',
    automatic: 'Die automatische Aufladung ist an: Ihr Guthaben wird aufgefüllt, bevor es ausgeht.',
  },
};
