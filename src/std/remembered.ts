/**
 * The same function, with its recent results kept: for one whose result depends on its argument alone and costs more
 * than finding it. Beyond `most` results all are forgotten, which costs less than tracking which was used last. An
 * `undefined` is not kept, so that arguments without a result cannot push out the others.
 */
export function remembered<Result>(
  compute: (argument: string) => Result,
  most: number,
): (argument: string) => Result {
  const results = new Map<string, Result>();
  return (argument) => {
    const known = results.get(argument);
    if (known !== undefined) return known;
    const result = compute(argument);
    if (result === undefined) return result;
    if (results.size >= most) results.clear();
    results.set(argument, result);
    return result;
  };
}
