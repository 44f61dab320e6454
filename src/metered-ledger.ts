import type { Metrics } from './activity/metrics.ts';
import type { Admission, AdmissionRequest, Ending, Ledger, Settled } from './ledger/port.ts';
import type { RequestId } from './std/ids.ts';

/** Endpoints of requests that are running on this node; one that ends elsewhere is forgotten when there are too many. */
const MAX_RUNNING = 100_000;

/** The ledger, with each request that passes counted for /metrics. Whoever uses it sees no difference. */
export function meteredLedger(ledger: Ledger, metrics: Metrics): Ledger {
  const endpoints = new Map<RequestId, string>();

  const admitted = (request: AdmissionRequest, admission: Admission): Admission => {
    if (admission.kind === 'refused') metrics.refused(admission.reason);
    else {
      if (endpoints.size >= MAX_RUNNING) endpoints.clear();
      endpoints.set(request.requestId, request.endpoint);
    }
    return admission;
  };

  /** Closing twice is allowed and counts once: the second time the request is not known any more. */
  const closed = (requestId: RequestId, ending: Ending, settled: Settled): Settled => {
    const endpoint = endpoints.get(requestId);
    if (endpoint === undefined) return settled;
    endpoints.delete(requestId);
    metrics.request({
      endpoint,
      outcome: ending.outcome,
      durationMs: ending.durationMs,
      firstByteMs: ending.firstByteMs,
    });
    if (settled.overrun > 0) metrics.overrun(settled.overrun);
    return settled;
  };

  return {
    admit: async (request) => admitted(request, await ledger.admit(request)),
    settle: async (requestId, settlement) =>
      closed(requestId, settlement, await ledger.settle(requestId, settlement)),
    void: async (requestId, ending) => closed(requestId, ending, await ledger.void(requestId, ending)),
    renew: (progress) => ledger.renew(progress),
    expire: () => ledger.expire(),
    identify: (caller) => ledger.identify(caller),
    post: (entry) => ledger.post(entry),
    async verify() {
      const verification = await ledger.verify();
      metrics.verified(verification.breaches.length);
      return verification;
    },
  };
}
