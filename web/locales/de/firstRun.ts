import type { firstRun as english } from '../en/firstRun.ts';

export const firstRun: typeof english = {
  welcome: {
    title: 'Willkommensguthaben',
    hint: 'Wird jedem neuen Kunden einmal gutgeschrieben, sobald seine E-Mail-Adresse bestätigt ist.',
    amount: 'Betrag in USD',
    amountHint: '0 schaltet es aus.',
    perDay: 'Höchstzahl der Konten pro Tag (UTC)',
    perDayHint: 'Begrenzt, was jemand mit vielen Adressen bekommen kann.',
    noMail: 'Dieser Server sendet keine E-Mails. Ohne bestätigte Adressen bekommt niemand das Guthaben.',
    badAmount: 'Geben Sie einen Betrag zwischen 0 und 100 ein, zum Beispiel 1.50.',
    off: 'Das Willkommensguthaben ist ausgeschaltet.',
    on: 'Neue Kunden bekommen {{amount}}, sobald ihre Adresse bestätigt ist.',
    step: 'E-Mail-Adresse bestätigen und {{amount}} erhalten',
    stepLead:
      'Öffnen Sie den Link in unserer E-Mail oder lassen Sie ihn erneut senden. Sie können auch gleich Guthaben aufladen.',
    cause: 'Willkommensguthaben',
  },
  firstRun: {
    lead: 'Legen Sie Ihr Konto an, senden Sie eine Testanfrage und verbinden Sie einen Anbieter.',
    account: 'Administratorkonto anlegen',
    accountDone: 'Angemeldet als {{email}}',
    credit: 'Startguthaben und Token',
    creditLead: 'Ihr Konto beginnt mit {{amount}} für die erste Anfrage.',
    creditLeft: 'Ihr Konto hat {{amount}}.',
    noCredit: 'Dieses Konto hat kein Startguthaben. Unter „Konten“ können Sie ihm etwas gutschreiben.',
    tokenLead: 'Dieses Token ist für Programme. Kopieren Sie es jetzt, es wird nicht noch einmal angezeigt.',
    tokenMake: 'Token anlegen',
    tokenSkip: 'Das geht auch später: Die Anfrage unten läuft über Ihre Sitzung.',
    tokenKnown: 'Sie haben ein Token: {{hint}}',
    call: 'Die erste Anfrage',
    next: 'Echtes Backend anbinden oder Demo-Modelle ausprobieren',
    nextLead:
      'Geantwortet hat ein eingebautes Demo-Modell. Es kennt nur die Dokumentation von Tollgate. Für echte Antworten verbinden Sie einen Anbieter oder einen eigenen Server.',
    nextReal:
      'Die Antwort kam von {{model}}, einem Modell Ihres Katalogs. Sie können weitere Backends anbinden.',
    backend: 'Backend anbinden',
    backendLead: 'Anbieter oder Server auf diesem Rechner wählen, Modelle ankreuzen, Preise festlegen.',
    demo: 'Bei den Demo-Modellen bleiben',
    demoLead:
      'Demo-Modelle brauchen keinen Schlüssel. Sie antworten aus der Dokumentation, wiederholen Ihren Text oder malen Muster.',
    people: 'Leute einladen',
    peopleLead: 'Konten, Guthaben, Limits, Einladungen und ein Willkommensguthaben.',
    receiptEmpty: 'Füllt sich, während die Anfrage läuft.',
    firstToken: 'Zeit bis zum ersten Token',
    duration: 'Gesamtzeit',
    running: 'Läuft …',
  },
};
