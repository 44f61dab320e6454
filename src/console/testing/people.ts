import { Teams } from '../../identity/accounts/teams.ts';
import type { AccountId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import { KEY, type Browser, type TestConsole } from './harness.ts';

export const ROLES = ['owner', 'admin', 'viewer', 'member'] as const;
export type Role = (typeof ROLES)[number];

/** Somebody who is signed in. */
export interface Person {
  readonly browser: Browser;
  readonly id: AccountId;
  readonly email: string;
}

interface OwnTeam {
  readonly id: AccountId;
  readonly owner: Person;
}

/** New people of a console, and teams of them. */
export class People {
  readonly teams: Teams;
  readonly #site: TestConsole;
  #count = 0;

  constructor(site: TestConsole) {
    this.#site = site;
    this.teams = new Teams({ store: site.store, ledger: site.ledger, pepper: KEY, clock: site.clock });
  }

  async one(): Promise<Person> {
    const email = `person-${++this.#count}@example.com`;
    const browser = await this.#site.user(email);
    // An account's id, as the server says.
    return { browser, id: (await browser.accountId()) as AccountId, email };
  }

  /** A team of nobody else, with five dollars. */
  async ownTeam(): Promise<OwnTeam> {
    const owner = await this.one();
    const { id } = await this.teams.create(`team ${this.#count}`, owner, {
      balance: nanoUsd(5_000_000_000),
      actor: 'test',
    });
    // The primary key of an account is an account id.
    return { id: id as AccountId, owner };
  }

  /** Somebody of each role in one team. */
  async team(): Promise<Record<Role, Person> & OwnTeam> {
    const own = await this.ownTeam();
    const joined = async (role: Role): Promise<Person> => {
      const person = await this.one();
      await this.teams.add(own.id, person, { role });
      return person;
    };
    const [admin, viewer, member] = [await joined('admin'), await joined('viewer'), await joined('member')];
    return { ...own, admin, viewer, member };
  }
}
