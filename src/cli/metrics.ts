import { metricsToken } from '../identity/accounts/secret.ts';
import { JSON_FLAG, printResult, type CliCommand } from './command.ts';

export const metricsCommand: CliCommand = {
  name: 'metrics token',
  usage: '[--json]',
  about:
    'print the token that lets a monitoring system read /metrics: TOLLGATE_METRICS_TOKEN, or the one of this installation',
  flags: JSON_FLAG,
  minArguments: 0,
  run: async (input, context) =>
    await context.withServices(({ secret }) => {
      const token = metricsToken(context.env['TOLLGATE_METRICS_TOKEN']?.trim() || undefined, secret);
      printResult(input, context, { token }, [token]);
      return Promise.resolve(0);
    }),
};
