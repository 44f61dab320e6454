import { NOT_SUPPORTED_ROUTES } from '../api/not-supported.ts';
import { API_ERRORS_BY_PATH, apiRoutes } from '../api/operations.ts';
import type { ApiParts } from '../api/operation.ts';
import { CONSOLE_ERRORS } from '../console/answers.ts';
import type { Console } from '../console/app.ts';
import { pageRoutes } from '../console/site.ts';
import { healthRoutes } from '../http/health.ts';
import { Router } from '../http/router.ts';
import type { Payments } from '../payments/payments.ts';
import { paymentRoutes } from './compose-payments.ts';

interface RouteParts {
  readonly api: ApiParts;
  readonly health: Parameters<typeof healthRoutes>[0];
  readonly payments: Payments | undefined;
  readonly console: Pick<Console, 'routes'>;
  readonly site: Parameters<typeof pageRoutes>[0];
}

/** The one list of everything that the server answers. */
export function allRoutes({ api, health, payments, console, site }: RouteParts): Router {
  return new Router(
    [
      ...apiRoutes(api),
      ...NOT_SUPPORTED_ROUTES,
      ...healthRoutes(health),
      ...paymentRoutes(payments),
      ...console.routes,
      ...pageRoutes(site),
    ],
    [...API_ERRORS_BY_PATH, ['/api/console', CONSOLE_ERRORS], ['/api/auth', CONSOLE_ERRORS]],
  );
}
