/**
 * A map for entries that come and go all the time, such as requests. JavaScriptCore's own map grows by moving to a new
 * table, and the old tables keep their entries alive until a full garbage collection: nearly every request, with all
 * that it refers to. Here they keep an empty box.
 */
export class TransientMap<Key, Value extends object> {
  readonly #boxes = new Map<Key, { value: Value | undefined }>();

  get size(): number {
    return this.#boxes.size;
  }

  has(key: Key): boolean {
    return this.#boxes.has(key);
  }

  get(key: Key): Value | undefined {
    return this.#boxes.get(key)?.value;
  }

  set(key: Key, value: Value): void {
    const box = this.#boxes.get(key);
    if (box) box.value = value;
    else this.#boxes.set(key, { value });
  }

  delete(key: Key): void {
    const box = this.#boxes.get(key);
    if (!box) return;
    this.#boxes.delete(key);
    box.value = undefined;
  }

  clear(): void {
    for (const box of this.#boxes.values()) box.value = undefined;
    this.#boxes.clear();
  }

  /** In the order in which they came. */
  *values(): Generator<Value, void, undefined> {
    for (const { value } of this.#boxes.values()) if (value) yield value;
  }
}
