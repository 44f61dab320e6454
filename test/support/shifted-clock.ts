/** Preloaded into a process: its machine's clock is wrong by `SHIFTED_CLOCK_MS`. */
const shiftMs = Number(process.env['SHIFTED_CLOCK_MS']);
const rightNow = Date.now.bind(Date);
const RightDate = Date;

globalThis.Date = new Proxy(RightDate, {
  construct: (target, values) =>
    values.length === 0 ? new target(rightNow() + shiftMs) : Reflect.construct(target, values),
});
RightDate.now = () => rightNow() + shiftMs;
