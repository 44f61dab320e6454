export const tables = {
  tables: {
    sortBy: 'Sort by',
    ascending: 'Ascending. Switch to descending',
    descending: 'Descending. Switch to ascending',
    searchRequests: 'Search by ID, client or error',
    searchAllRequests: 'Search by ID, account, client or error',
    sortedSince:
      'Sorted are the 10,000 newest requests, back to {{when}}. Choose an earlier range for older ones.',
    removeFilter: 'Remove filter {{label}}: {{value}}',
  },
  forecast: {
    line_one: 'Balance of the last day',
    line_other: 'Balance of the last {{count}} days',
    until: 'At this week’s pace, your balance lasts until {{date}}.',
    long: 'At this week’s pace, your balance lasts more than a year.',
    no_spending: 'You spent nothing in the last 7 days.',
    too_early: 'After a day of use you will see here how long your balance lasts.',
    empty: 'Your balance is empty. Requests are paused until you top up.',
    automatic: 'Automatic top-up is on: your balance is refilled before it runs out.',
  },
};
