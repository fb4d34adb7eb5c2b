// A map that forgets its oldest entry when it is full.

/**
 * A map with at most `most` entries. If one more entry is set, the map forgets the oldest entry. If a key is set again,
 * its entry counts as new.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #most: number

  constructor(most: number) {
    super()
    this.#most = most
  }

  override set(key: K, value: V): this {
    this.delete(key)
    super.set(key, value)
    const [oldest] = this.keys()
    if (this.size > this.#most) this.delete(oldest!)
    return this
  }
}
