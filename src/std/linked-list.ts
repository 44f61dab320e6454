/** What can be in a linked list, and in one only. */
export interface ListItem<Item> {
  previous: Item | undefined;
  next: Item | undefined;
}

/**
 * Items that come and go all the time, such as requests, in the order in which they came. They refer to each other, so
 * that nothing is made for one and nothing is left behind: the tables of a set that such items pass through are garbage
 * with every few dozen of them, and keep them alive until a full collection.
 */
export class LinkedList<Item extends ListItem<Item>> {
  #first: Item | undefined;
  #last: Item | undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  has(item: Item): boolean {
    return item === this.#first || item.previous !== undefined;
  }

  /** One that is in the list stays where it is. */
  add(item: Item): void {
    if (this.has(item)) return;
    item.previous = this.#last;
    if (this.#last) this.#last.next = item;
    else this.#first = item;
    this.#last = item;
  }

  delete(item: Item): void {
    if (!this.has(item)) return;
    const { previous, next } = item;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    item.previous = undefined;
    item.next = undefined;
  }

  /** The item that was returned last may be deleted meanwhile. */
  *[Symbol.iterator](): Generator<Item, void, undefined> {
    for (let item = this.#first; item;) {
      const { next } = item;
      yield item;
      item = next;
    }
  }
}
